//! Asking before something that touches much.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::anyhow;

use crate::exit::Failure;
use crate::operator::Who;
use crate::output;

/// Who does something that touches much, and whether they were asked before.
#[derive(clap::Args, Clone)]
pub struct Asked {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    who: Who,
}

impl Asked {
    /// Who and why, as it is recorded.
    pub fn recorded(&self) -> karwan_store::operator::Who {
        self.who.recorded()
    }

    /// Goes on where somebody agrees: by the flag, or asked on a terminal. Elsewhere nobody can be asked.
    pub fn agreed(&self, question: &str) -> Result<(), Failure> {
        if self.yes || asked(question)? { Ok(()) } else { Err(Failure::from(anyhow!("nothing was done"))) }
    }
}

fn asked(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        output::note(question);
        return Err(Failure::usage(anyhow!("nobody can be asked here: to do it, say --yes (see --help)")));
    }
    output::note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
