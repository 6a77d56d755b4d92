//! The alerts of `docs/alerts`, as Prometheus judges them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use karwan_registry::{Catalogue, Platform};
use karwan_store::metrics::Metrics;

use super::Node;
use crate::folder::Folder;

const RULES: &str = include_str!("../../../../../docs/alerts/karwan.rules.yml");
const TESTS: &str = include_str!("../../../../../docs/alerts/karwan.test.yml");

/// What `promtool` says of rules and their test; an error is what it found wrong.
fn judged(promtool: &Path, rules: &str) -> Result<(), String> {
    let folder = Folder::new();
    let (rules_file, test_file) = (folder.at("karwan.rules.yml"), folder.at("karwan.test.yml"));
    std::fs::write(&rules_file, rules).expect("it can be written");
    std::fs::write(&test_file, TESTS).expect("it can be written");
    for (verb, file) in [("check", &rules_file), ("test", &test_file)] {
        let output = Command::new(promtool).args([verb, "rules"]).arg(file).output().expect("it runs");
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            return Err(String::from_utf8_lossy(&said).into_owned());
        }
    }
    Ok(())
}

fn promtool() -> Option<PathBuf> {
    karwan_testkit::promtool().or_skip()
}

/// R-081, R-137, R-138, R-062: past the threshold and the time, not before, and each platform by its own rule.
#[test]
fn alerts_are_raised_past_their_threshold_and_their_time_and_not_before() {
    let Some(promtool) = promtool() else { return };
    assert_eq!(judged(&promtool, RULES), Ok(()));
}

/// A test that nothing can fail would say nothing.
#[test]
fn another_threshold_time_profile_or_metric_of_an_alert_is_noticed() {
    let Some(promtool) = promtool() else { return };
    for (rule, other) in [
        ("melmastoon_dlq_depth)) > 10", "melmastoon_dlq_depth)) > 11"),
        ("melmastoon_dlq_depth)) > 10", "melmastoon_dlq_depth)) > 9"),
        ("for: 5m", "for: 6m"),
        ("for: 5m", "for: 4m"),
        ("(max by (service, topic, subscription) (melmastoon_dlq_depth))", "(melmastoon_dlq_depth)"),
        ("learning_dlq_depth)) > 0", "learning_dlq_depth)) > 1"),
        ("learning_dlq_depth", "melmastoon_dlq_depth"),
        (
            r#"melmastoon_dlq_depth{subscription=~"relay\\..*"})) > 0"#,
            r#"melmastoon_dlq_depth{subscription=~"relay\\..*"})) > 1"#,
        ),
        (r#"{subscription=~"relay\\..*"}"#, ""),
        (r#"panorama_dlq_depth{subscription=~"relay\\..*"}"#, "panorama_nothing"),
        ("severity: page", "severity: warning"),
        ("severity: page\n          platform: learning", "severity: warning\n          platform: learning"),
        ("increase(learning_schema_validation_failures_total[10m]) > 0\n          or ", ""),
        ("unless learning_schema_validation_failures_total offset 10m", ""),
        (r#"increase(melmastoon_saga_completed_total{outcome="partial"}[10m])"#, "melmastoon_nothing"),
        (" unless melmastoon_saga_completed_total offset 10m", ""),
        (r#"(melmastoon_saga_completed_total{outcome="partial"} unless"#, "(melmastoon_saga_completed_total unless"),
        ("sum by (service, saga_name)", "sum by (saga_name)"),
        (
            "severity: page\n          platform: melmastoon\n        annotations:\n          summary: \"a {{",
            "severity: warning\n          platform: melmastoon\n        annotations:\n          summary: \"a {{",
        ),
    ] {
        assert!(RULES.contains(rule), "{rule}");
        assert!(judged(&promtool, &RULES.replacen(rule, other, 1)).is_err(), "{rule} as {other}");
    }
}

/// The metrics that the rules ask for, without the platform's name in front.
fn asked_for(platform: &str) -> BTreeSet<&'static str> {
    let words = RULES.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.filter_map(|word| word.strip_prefix(platform)?.strip_prefix('_')).collect()
}

#[test]
fn what_alerts_ask_for_is_told_by_a_node() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let (status, metrics) = node.ask("GET", "/metrics", &[], "");
    assert_eq!(status, 200);
    let platforms: [&Platform; 3] =
        [&melmastoon::platform::PLATFORM, &learning::platform::PLATFORM, &panorama::platform::PLATFORM];
    for platform in platforms {
        let name = Catalogue::of(platform).expect("its types make a catalogue").platform().name;
        let asked_for = asked_for(name);
        // Sagas are Melmastoon's.
        let metrics_asked = if name == "melmastoon" { 3 } else { 2 };
        assert_eq!(asked_for.len(), metrics_asked, "{name}: {asked_for:?}");
        // A node is of one platform; what another's is called says the one place that names them.
        let own = Metrics::new(name).text();
        for metric in asked_for {
            let kind = if metric.ends_with("_total") { "counter" } else { "gauge" };
            assert!(own.contains(&format!("# TYPE {name}_{metric} {kind}\n")), "{name}_{metric}: {own}");
            assert!(metrics.contains(&format!("# TYPE melmastoon_{metric} {kind}\n")), "{metric}: {metrics}");
        }
    }
}
