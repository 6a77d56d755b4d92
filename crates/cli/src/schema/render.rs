//! Findings in the three formats.

use std::process::ExitCode;

use karwan_registry::evolution::{Direction, Finding, Severity, Verdict};
use serde_json::{Value, json};

use super::{Format, Ticket};
use crate::exit::Outcome;
use crate::output::{self, Paint};

/// Findings about one document or subject.
pub struct Section<'a> {
    /// The file that annotations point at.
    pub file: String,
    /// The subject, in a gate over catalogues.
    pub subject: Option<&'a str>,
    /// Its findings.
    pub findings: &'a [Finding],
}

/// Prints the sections and answers the exit code; a ticket lets anything pass, and is printed with what it let pass.
pub fn report(sections: &[Section<'_>], verdict: Verdict, format: Format, ticket: Option<&Ticket>) -> Outcome {
    let overridden = ticket.filter(|_| verdict.exit_code() != 0);
    match format {
        Format::Human => output::data(&human(sections, verdict, overridden))?,
        Format::Json => output::json(&machine(sections, verdict, overridden))?,
        Format::Github => {
            for section in sections {
                for finding in section.findings {
                    output::data(&annotation(section, finding))?;
                }
            }
            if let Some(Ticket(ticket)) = overridden {
                output::data(&format!(
                    "::notice title=override::the verdict {} was overridden by {ticket}",
                    name(verdict)
                ))?;
            }
        }
    }
    Ok(ExitCode::from(if overridden.is_some() { 0 } else { verdict.exit_code() }))
}

/// The verdict's stable name.
pub fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Identical => "identical",
        Verdict::Additive => "additive",
        Verdict::NeedsAudit => "needs audit",
        Verdict::Breaking => "breaking",
    }
}

/// The same, in the colour of how bad it is.
pub fn coloured(verdict: Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Identical | Verdict::Additive => paint.green(name(verdict)),
        Verdict::NeedsAudit => paint.yellow(name(verdict)),
        Verdict::Breaking => paint.red(name(verdict)),
    }
}

fn human(sections: &[Section<'_>], verdict: Verdict, ticket: Option<&Ticket>) -> String {
    let paint = Paint::stdout();
    let mut text = String::new();
    for section in sections {
        if let Some(subject) = section.subject {
            text.push_str(&paint.bold(subject));
            text.push('\n');
        }
        for finding in section.findings {
            text.push_str(&human_finding(finding, paint));
        }
    }
    text.push_str(&format!("verdict: {}", coloured(verdict, paint)));
    if let Some(Ticket(ticket)) = ticket {
        text.push_str(&format!(", overridden by {ticket}"));
    }
    text
}

/// A finding in two lines.
pub fn human_finding(finding: &Finding, paint: Paint) -> String {
    let severity = match finding.severity {
        Severity::Note => paint.green("note"),
        Severity::Audit => paint.yellow("needs audit"),
        Severity::Breaking => paint.red("breaking"),
    };
    let direction = match finding.direction {
        Direction::Replay => "old events under the new schema",
        Direction::Consume => "new events at an old consumer",
        Direction::Both => "both directions",
    };
    let (pointer, rule) = (place(finding), finding.rule.id());
    let page = paint.dim(&format!("({direction}; docs/rules/{rule}.md)"));
    format!("{severity} {rule} at {pointer}: {}\n    {} {page}\n", finding.change, finding.remedy)
}

/// A finding's pointer; the document itself is `/`.
fn place(finding: &Finding) -> &str {
    if finding.pointer.is_empty() { "/" } else { &finding.pointer }
}

fn machine(sections: &[Section<'_>], verdict: Verdict, ticket: Option<&Ticket>) -> Value {
    let sections: Vec<Value> = sections
        .iter()
        .map(|section| json!({ "subject": section.subject, "file": section.file, "findings": section.findings }))
        .collect();
    let ticket = ticket.map(|Ticket(ticket)| ticket);
    json!({ "verdict": verdict, "overrideTicket": ticket, "sections": sections })
}

fn annotation(section: &Section<'_>, finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Note => "notice",
        Severity::Audit => "warning",
        Severity::Breaking => "error",
    };
    let subject = section.subject.map(|subject| format!("{subject} ")).unwrap_or_default();
    let message = format!("{subject}{}: {} — {}", place(finding), finding.change, finding.remedy);
    format!("::{level} file={},title={}::{}", property(&section.file), finding.rule.id(), escape(&message))
}

/// Line breaks end an annotation, so they are escaped as the format asks.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}
