//! The schema evolution gate: may this schema replace that one within a version?
//!
//! Two directions are judged on every pair. *Replay*: every event that the old schema admits must be admitted by the new
//! one. *Consume*: a consumer that knows only the old schema, and ignores fields and enum values it does not know, must
//! understand every new event. Each finding names its rule; each rule has a page, `docs/rules/<id>.md`.
//!
//! Invariants:
//! * Soundness before completeness: a verdict of additive or identical means that containment was proven. What the gate
//!   does not decide (`not`, `if`, `dependentSchemas`, dynamic `unevaluated*`, an overlapping `oneOf`) is
//!   no change when both sides are equivalent, and otherwise needs an audit.
//! * Words are compared first, for their differences are what a finding names. Where they differ, `proof` is asked whether
//!   the instances do.
//! * Formats are judged as if validators asserted them; an unknown keyword constrains nothing.
//! * Work, depth and findings are bounded (`limits`); nothing recurses over the input before it was measured.
//!
//! Not here: files, bundles and rendering. Both inputs are values, and references never leave them.

mod admits;
pub mod audit;
mod canonical;
mod disjoint;
mod document;
mod error;
mod fingerprint;
mod gate;
mod guard;
mod judge;
mod kind;
pub mod limits;
mod merged;
mod normal;
mod number;
mod obligations;
mod pattern;
mod proof;
mod reader;
mod reference;
mod report;
mod rewrite;
mod rows;
mod rule;
mod spot;
mod strict;
mod unevaluated;
mod witness;

use serde_json::Value;

pub use error::{Error, Fault, Side};
pub use gate::{GateReport, SubjectChange, SubjectReport, gate};
pub use report::{Direction, Finding, Report, Severity, Verdict};
pub use rule::Rule;

/// Compares two schemas in both directions.
///
/// # Errors
/// An input that is not a schema the gate can judge: neither object nor boolean, a malformed keyword, an unknown dialect,
/// a reference that leads nowhere or out of the document, or a bound exceeded.
pub fn compare(old: &Value, new: &Value) -> Result<Report, Error> {
    // Judging recurses up to the bound on depth, which the stack of whoever calls need not have space for.
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(limits::STACK_BYTES).spawn_scoped(scope, || judged(old, new));
        let no_space = Fault::TooLarge { what: "bytes of stack than the system gives", limit: limits::STACK_BYTES };
        let thread = thread.map_err(|_| Error::new(Side::New, "", no_space))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn judged(old: &Value, new: &Value) -> Result<Report, Error> {
    let mut arena = document::Arena::new()?;
    let old_root = arena.load(Side::Old, old)?;
    let new_root = arena.load(Side::New, new)?;
    // A document equals itself, however much work the comparison of its unions would be.
    if canonical::canonical(old) == canonical::canonical(new) {
        return Ok(Report::default());
    }
    let judge = judge::Judge::new(normal::Forms::new(arena));
    Ok(Report::of(judge.compare(old_root, new_root)?))
}
