//! The page `docs/requirements.md`: what is asked, how far it is met, and what shows it. Pure.
//!
//! Under each heading `## …` stands a table `| number | sentence | state | shown by |`; rows whose number starts with
//! another letter than `R` (conflicts, open decisions) are noted but not judged.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::test_functions;

/// Where the page lies.
pub const PAGE: &str = "docs/requirements.md";

/// Each series of numbers: its letter, how many digits are printed, and the last number.
pub const SERIES: &[(char, usize, u32)] = &[('R', 3, 448), ('C', 2, 70), ('U', 2, 38)];

/// How far a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Met, and something shows it.
    Done,
    /// Met in part, and something shows that part.
    Part,
    /// Not met.
    NotYet,
    /// Its purpose is met in another way, which is named and shown.
    OtherMeans,
}

impl State {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Done, Self::Part, Self::NotYet, Self::OtherMeans];

    /// As written on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Part => "part",
            Self::NotYet => "not yet",
            Self::OtherMeans => "met by other means",
        }
    }

    fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == text)
    }
}

/// One thing named under *shown by*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// `test:<folder>::<function>`
    Test {
        /// The folder of the crate, or `xtask`.
        folder: String,
        /// The name of the test function.
        function: String,
    },
    /// `` cmd:`karwan …` ``
    Command(String),
    /// `lint:<step>`
    Lint(String),
    /// `means: …`, how the purpose is met otherwise; it shows nothing by itself.
    Means(String),
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `R-001`
    pub number: String,
    /// The heading it stands under.
    pub group: String,
    /// Its line on the page.
    pub line: usize,
    /// How far it is met.
    pub state: State,
    /// What shows it.
    pub evidence: Vec<Evidence>,
}

/// The page as read.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The requirements that could be read.
    pub rows: Vec<Row>,
    /// Every number in a first cell, with its line, also of rows that could not be read.
    pub numbers: Vec<(String, usize)>,
    /// What could not be read.
    pub unreadable: Vec<Finding>,
}

/// Reads the page.
pub fn parse(text: &str) -> Ledger {
    let mut ledger = Ledger::default();
    let mut group = String::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        if let Some(heading) = line.strip_prefix("## ") {
            heading.trim().clone_into(&mut group);
        }
        let Some(cells) = cells(line) else { continue };
        let number = cells.first().cloned().unwrap_or_default();
        if !is_number(&number) {
            continue;
        }
        ledger.numbers.push((number.clone(), line_number));
        if !number.starts_with('R') {
            continue;
        }
        match row(&cells) {
            Ok((state, evidence)) => {
                ledger.rows.push(Row { number, group: group.clone(), line: line_number, state, evidence });
            }
            Err(reason) => {
                ledger.unreadable.push(Finding::at(PAGE, line_number, "ledger", format!("{number}: {reason}")));
            }
        }
    }
    ledger
}

/// The cells of a table row; `\|` is a bar within a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        let last = cells.last_mut().expect("there is always a cell being filled");
        match character {
            '\\' if characters.next_if_eq(&'|').is_some() => last.push('|'),
            '|' => cells.push(String::new()),
            other => last.push(other),
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn is_number(text: &str) -> bool {
    let series = SERIES.iter().map(|(letter, _, _)| *letter);
    let Some((letter, digits)) = text.split_once('-') else { return false };
    series.into_iter().any(|known| letter == known.to_string()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn row(cells: &[String]) -> Result<(State, Vec<Evidence>), String> {
    let [_, sentence, state, shown_by] = cells else {
        return Err(format!("has {} cells, not number, sentence, state and shown by", cells.len()));
    };
    if sentence.is_empty() {
        return Err("has no sentence".to_owned());
    }
    let state = State::read(state).ok_or_else(|| {
        let known = State::ALL.map(State::name).join(", ");
        format!("`{state}` is not a state; the states are {known}")
    })?;
    Ok((state, evidence(shown_by)?))
}

fn evidence(shown_by: &str) -> Result<Vec<Evidence>, String> {
    let parts = split_outside_code(shown_by);
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty() && *part != "—");
    parts.map(one_evidence).collect()
}

/// Parts between semicolons; one within back-quotes separates nothing.
fn split_outside_code(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut in_code = false;
    for character in text.chars() {
        in_code ^= character == '`';
        let last = parts.last_mut().expect("there is always a part being filled");
        match character {
            ';' if !in_code => parts.push(String::new()),
            other => last.push(other),
        }
    }
    parts
}

fn one_evidence(part: &str) -> Result<Evidence, String> {
    let wrong = || format!("`{part}` shows nothing: write test:<folder>::<function>, cmd:`…`, lint:<step> or means: …");
    let (kind, value) = part.split_once(':').ok_or_else(wrong)?;
    let value = value.trim();
    match kind {
        _ if value.is_empty() => Err(wrong()),
        "test" => {
            let (folder, function) = value.split_once("::").ok_or_else(wrong)?;
            Ok(Evidence::Test { folder: folder.to_owned(), function: function.to_owned() })
        }
        "cmd" => {
            let command = value.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            command.filter(|command| !command.is_empty()).map(|c| Evidence::Command(c.to_owned())).ok_or_else(wrong)
        }
        "lint" => Ok(Evidence::Lint(value.to_owned())),
        "means" => Ok(Evidence::Means(value.to_owned())),
        _ => Err(wrong()),
    }
}

/// Folder → names of its test functions.
pub type Tests = BTreeMap<String, BTreeSet<String>>;

/// The tests of every crate and of `xtask`.
pub fn tests_of(files: &[SourceFile]) -> Tests {
    let mut tests = Tests::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let mut parts = file.path.split('/');
        let folder = match (parts.next(), parts.next()) {
            (Some("crates"), Some(folder)) => folder,
            (Some("xtask"), Some(_)) => "xtask",
            _ => continue,
        };
        tests.entry(folder.to_owned()).or_default().extend(test_functions(file.text()));
    }
    tests
}

/// Everything on the page that is not true: numbers missing or doubled, states without what they need, tests and lint
/// steps that do not exist.
pub fn judge(ledger: &Ledger, tests: &Tests, lint_steps: &[&str]) -> Vec<Finding> {
    let mut findings = ledger.unreadable.clone();
    findings.extend(judge_numbers(&ledger.numbers));
    for row in &ledger.rows {
        let mut found = |message| findings.push(Finding::at(PAGE, row.line, "ledger", message));
        if let Some(lack) = lack(row) {
            found(format!("{}: {lack}", row.number));
        }
        for evidence in &row.evidence {
            match evidence {
                Evidence::Test { folder, function } => {
                    if !tests.get(folder).is_some_and(|names| names.contains(function)) {
                        found(format!("{}: there is no test `{function}` in `{folder}`", row.number));
                    }
                }
                Evidence::Lint(step) => {
                    if !lint_steps.contains(&step.as_str()) {
                        found(format!("{}: lint has no step `{step}`", row.number));
                    }
                }
                Evidence::Command(_) | Evidence::Means(_) => {}
            }
        }
    }
    findings
}

fn lack(row: &Row) -> Option<&'static str> {
    let shown = row.evidence.iter().any(|evidence| !matches!(evidence, Evidence::Means(_)));
    let means = row.evidence.iter().any(|evidence| matches!(evidence, Evidence::Means(_)));
    match row.state {
        State::Done | State::Part | State::OtherMeans if !shown => Some("nothing is named that shows it"),
        State::OtherMeans if !means => Some("the other means are not named (`means: …`)"),
        State::Done | State::Part | State::OtherMeans | State::NotYet => None,
    }
}

fn judge_numbers(numbers: &[(String, usize)]) -> Vec<Finding> {
    let expected: Vec<String> = SERIES
        .iter()
        .flat_map(|(letter, digits, last)| (1..=*last).map(move |n| format!("{letter}-{n:0digits$}")))
        .collect();
    let mut findings = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let known: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    for (number, line) in numbers {
        if !known.contains(number.as_str()) {
            findings.push(Finding::at(PAGE, *line, "ledger", format!("there is no {number}")));
        } else if !seen.insert(number) {
            findings.push(Finding::at(PAGE, *line, "ledger", format!("{number} stands here a second time")));
        }
    }
    let missing = expected.iter().filter(|number| !seen.contains(number.as_str()));
    findings.extend(missing.map(|number| Finding::on(PAGE, "ledger", format!("{number} is missing"))));
    findings
}
