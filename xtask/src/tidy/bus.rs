//! The bus carries events and nothing else: no request that waits for an answer, and no letter that somebody puts back.

use crate::finding::Finding;
use crate::project::SourceFile;

/// Where a message may say where its answer goes: receipts of the broker, and JetStream's own questions.
const ANSWERED: &[&str] = &[
    "crates/broker/src/api.rs",
    "crates/broker/src/publisher/letters.rs",
    "crates/broker/src/publisher/mod.rs",
    "crates/broker/src/raw.rs",
    "crates/broker/src/subscriber/mod.rs",
];

/// Calls of the client that name a place for an answer, or wait for it.
const ASKING: &[&str] = &["send_request", "request_with_headers", "publish_with_reply", "queue_subscribe"];

/// The only crate that knows the client: there is no way around its publishers and subscriptions.
const CLIENT: (&str, &str) = ("async_nats", "crates/broker/");

/// Who makes letters, and who publishes them: once, when they are given up. From there they come back through a consumer's
/// store alone, by an operator's recorded action.
const LETTERS: (&str, &[&str]) = (
    "publish_letters",
    &[
        "crates/broker/src/publisher/letters.rs",
        "crates/broker/src/publisher/mod.rs",
        "crates/engine/src/relay/letters.rs",
    ],
);

/// Judges one file; tests may do what they like.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    let path = file.path.as_str();
    if !path.starts_with("crates/") || !path.ends_with(".rs") || path.contains("/tests/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in file.text().lines().enumerate() {
        let mut find = |rule, message: String| findings.push(Finding::at(path, index + 1, rule, message));
        if let Some(call) = ASKING.iter().find(|call| line.contains(**call) && !ANSWERED.contains(&path)) {
            find(
                "request-over-the-bus",
                format!("`{call}` asks over the bus: events are told, and nobody answers them (R-437)"),
            );
        }
        if line.contains(CLIENT.0) && !path.starts_with(CLIENT.1) {
            find(
                "request-over-the-bus",
                format!("`{}` is for {} alone: whoever has it can ask and answer", CLIENT.0, CLIENT.1),
            );
        }
        if line.contains(LETTERS.0) && !LETTERS.1.contains(&path) {
            find(
                "letter-replay",
                format!(
                    "`{}` is for dead letters when they are given up: nobody else publishes one (R-147)",
                    LETTERS.0
                ),
            );
        }
    }
    findings
}
