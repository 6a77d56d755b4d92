//! The bus carries events out of the log and nothing else: no request that waits for an answer, no letter that somebody puts back, and
//! nothing that a service publishes past its log.

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

/// Who feeds streams: the relay, out of the log.
const PUBLISHER: (&str, &[&str]) = ("Publisher", &["crates/broker/", "crates/engine/src/relay/"]);
/// Publishing without a log, for measurements to compare with.
const BARE: (&str, &[&str]) = ("raw", &["crates/broker/", "crates/cli/src/bench/"]);
/// Who knows that there is a broker: the machinery, and whoever starts it. A service is none of them.
const KNOW_A_BROKER: &[&str] =
    &["crates/broker/", "crates/engine/", "crates/karwan/", "crates/cli/", "crates/testkit/"];

/// Why a line may be a way to the broker past the log; none where it is not.
fn dual_write(path: &str, line: &str) -> Option<String> {
    let within = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let mut words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
    let names_broker =
        line.contains("karwan_broker") || line.contains("karwan::") && words.clone().any(|word| word == "broker");
    if names_broker && !within(KNOW_A_BROKER) {
        return Some("a service commits its events and knows no broker".to_owned());
    }
    let bare = names_broker && words.clone().any(|word| word == BARE.0) && !within(BARE.1);
    let publisher = words.any(|word| word == PUBLISHER.0) && !within(PUBLISHER.1);
    let what = if publisher { Some(PUBLISHER.0) } else { bare.then_some(BARE.0) };
    what.map(|what| format!("`{what}` publishes past the log, which is the relay's alone to read from"))
}

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
        let code = line.split("//").next().unwrap_or_default();
        if let Some(why) = dual_write(path, code) {
            find("dual-write", format!("{why} (R-076)"));
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
