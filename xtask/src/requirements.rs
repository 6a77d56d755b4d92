//! `requirements`: counts the ledger and fails when it is not true.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::finding::settle;
use crate::ledger::{self, Ledger, PAGE, State};
use crate::lint;
use crate::project::Project;

/// Prints the counts, then judges.
pub fn run(project: &Project) -> Result<()> {
    let ledger = read(project)?;
    print!("{}", counts(&ledger));
    judge(project, &ledger)
}

/// Judges alone, as a step of lint.
pub fn verify(project: &Project) -> Result<()> {
    judge(project, &read(project)?)
}

fn read(project: &Project) -> Result<Ledger> {
    let text = std::fs::read_to_string(project.root.join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    Ok(ledger::parse(&text))
}

fn judge(project: &Project, ledger: &Ledger) -> Result<()> {
    let steps: Vec<&str> = lint::STEPS.iter().map(|step| step.name).collect();
    settle(ledger::judge(ledger, &ledger::tests_of(&project.files()?), &steps))
}

/// A line for each group in the order of the page, and the sum.
pub fn counts(ledger: &Ledger) -> String {
    let mut groups: Vec<&str> = Vec::new();
    let mut numbers: BTreeMap<(&str, State), usize> = BTreeMap::new();
    for row in &ledger.rows {
        if !groups.contains(&row.group.as_str()) {
            groups.push(&row.group);
        }
        *numbers.entry((&row.group, row.state)).or_default() += 1;
    }
    let mut table = String::new();
    let mut line = |name: &str, of_state: &dyn Fn(State) -> usize| {
        for state in State::ALL {
            let width = state.name().len().max(5);
            write!(table, "{:>width$}  ", of_state(state)).expect("writing to a string");
        }
        writeln!(table, "{name}").expect("writing to a string");
    };
    for group in &groups {
        line(group, &|state| numbers.get(&(*group, state)).copied().unwrap_or(0));
    }
    line("all", &|state| ledger.rows.iter().filter(|row| row.state == state).count());
    let head = State::ALL.map(|state| format!("{:>width$}", state.name(), width = state.name().len().max(5)));
    format!("{}  group\n{table}", head.join("  "))
}
