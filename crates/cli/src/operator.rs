//! Who does something, and why: every command that changes what others will find asks for both.

use std::os::unix::fs::MetadataExt as _;

/// Who acts, and why. Both are recorded for good.
#[derive(clap::Args, Clone)]
pub struct Who {
    /// Who does it; otherwise the name of the user who runs this
    #[arg(long, value_name = "NAME", value_parser = said)]
    actor: Option<String>,
    /// Why; it is recorded with who did what and when
    #[arg(long, value_name = "TEXT", value_parser = said)]
    reason: String,
}

impl Who {
    /// As it is recorded.
    pub fn recorded(&self) -> karwan_store::operator::Who {
        recorded(self.actor.as_deref(), &self.reason)
    }
}

/// As it is recorded; without a name, the user who runs this did it.
pub fn recorded(actor: Option<&str>, reason: &str) -> karwan_store::operator::Who {
    karwan_store::operator::Who { actor: actor.map_or_else(user, str::to_owned), reason: reason.to_owned() }
}

/// A text that says something.
pub fn said(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("it must say something".to_owned()) } else { Ok(text.to_owned()) }
}

/// The user who runs this process, as the system knows them.
fn user() -> String {
    let uid = std::fs::metadata("/proc/self").ok().map(|process| process.uid());
    let known = uid.and_then(|uid| {
        let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
        passwd.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.get(2)?.parse() == Ok(uid)).then(|| fields[0].to_owned())
        })
    });
    let named = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    known.or_else(named).unwrap_or_else(|| uid.map_or_else(|| "unknown".to_owned(), |uid| format!("uid {uid}")))
}

/// The number of an action on the command line.
pub fn action(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "an action is a number, as `karwan dlq actions` prints it".to_owned())
}
