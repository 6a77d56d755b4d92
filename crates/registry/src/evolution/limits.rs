//! The bounds of one comparison. Past them the answer is an error or "undecided", never a stack overflow or an endless run.

/// Schemas nested in schemas within one document.
pub const SCHEMA_DEPTH_MAX: usize = 128;
/// Pairs of schemas judged inside each other; references can lead deeper than the document is nested.
pub const PAIR_DEPTH_MAX: usize = 1_000;
/// Levels of JSON in one document, counting the objects and arrays inside `const`, `enum` and `default`.
pub const JSON_DEPTH_MAX: usize = 512;
/// JSON values in one document.
pub const JSON_NODES_MAX: usize = 4_000_000;
/// Subschemas loaded from both documents together.
pub const SUBSCHEMAS_MAX: usize = 1_000_000;
/// Steps of one comparison: pairs judged, fields looked at, alternatives built. Past it the answer is "undecided".
pub const STEPS_MAX: usize = 5_000_000;
/// Cases that one proof looks at before it is given up.
pub const PROOF_STEPS_MAX: usize = 50_000;
/// Cases that all proofs of one comparison look at; past them a rewrite that only a proof sees is a difference.
pub const PROOFS_STEPS_MAX: usize = 300_000;
/// Steps past the bound, for telling whether what was found before it stands.
pub const RESERVE_STEPS_MAX: usize = 100_000;
/// Alternatives that one subschema's unions may multiply to before the gate answers "undecided".
pub const ALTERNATIVES_MAX: usize = 512;
/// Pairs of alternatives, or of fields, that are tried against each other to find the best match.
pub const PAIRINGS_MAX: usize = 4_096;
/// Findings kept in one report, the severest first.
pub const FINDINGS_MAX: usize = 1_000;
/// Characters of one quoted value in a finding.
pub const QUOTED_CHARS_MAX: usize = 120;
/// Stack of the thread that judges: several times what the bound on depth takes in an unoptimised build.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;
