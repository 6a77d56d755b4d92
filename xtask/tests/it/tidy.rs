use xtask::tidy::of_files;

use crate::{printed, tree};

/// The findings about one file; a file of a crate is reached, so that nothing is dead.
fn check(path: &str, text: &str, expected: &[&str]) {
    let findings = printed(of_files(&tree(&[(path, text)])));
    let alive: Vec<&String> = findings.iter().filter(|finding| !finding.contains(": dead-file: ")).collect();
    assert_eq!(alive, expected);
}

const SOURCE: &str = "crates/store/src/log.rs";

#[test]
fn a_file_of_800_lines_needs_a_reason_and_one_of_801_is_too_long() {
    let reason = "//! Log.\n// tidy: long because the cases belong together\n";
    let lines = |count: usize| "fn f() {}\n".repeat(count);
    check(SOURCE, &lines(500), &[]);
    check(
        SOURCE,
        &lines(501),
        &["crates/store/src/log.rs: file-size: 501 lines: past 500 the head of the file says \
           `// tidy: long because …`, or it is split"],
    );
    check(SOURCE, &format!("{reason}{}", lines(798)), &[]);
    let message = "crates/store/src/log.rs: file-size: 801 lines, the most is 800: split it";
    check(SOURCE, &format!("{reason}{}", lines(799)), &[message]);
}

#[test]
fn a_reason_deep_in_the_file_is_none() {
    let text = format!("{}// tidy: long because it is\n", "fn f() {}\n".repeat(501));
    assert_eq!(
        of_files(&tree(&[("crates/store/src/lib.rs", &text), ("crates/store/Cargo.toml", "[package]")])).len(),
        1
    );
}

#[test]
fn tests_do_not_count_towards_the_size() {
    let long = "fn f() {}\n".repeat(900);
    check("crates/store/tests/it/log.rs", &long, &[]);
    check(SOURCE, &format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n"), &[]);
}

#[test]
fn an_empty_file_is_found() {
    check("docs.txt", " \n", &["docs.txt: empty-file: holds nothing: delete it"]);
}

#[test]
fn modules_without_a_noun_are_found() {
    check(
        "crates/store/src/utils.rs",
        "fn f() {}",
        &["crates/store/src/utils.rs: module-name: `utils` names nothing: use a noun"],
    );
    check(
        SOURCE,
        "fn f() {}\nmod helpers {}",
        &["crates/store/src/log.rs:2: module-name: module `helpers` names nothing: use a noun"],
    );
}

#[test]
fn unfinished_code_is_found() {
    for (text, message) in [
        ("fn f() { todo!() }", "`todo!` is unfinished work"),
        ("fn f() { unimplemented!(\"x\") }", "`unimplemented!` is unfinished work"),
        ("fn f() { std::dbg!(1); }", "`dbg!` is unfinished work"),
        ("#[ignore]\nfn f() {}", "a test that never runs shows nothing"),
        ("#[ignore = \"slow\"]\nfn f() {}", "a test that never runs shows nothing"),
    ] {
        check(SOURCE, text, &[&format!("crates/store/src/log.rs:1: unfinished: {message}")]);
    }
}

#[test]
fn words_of_unfinished_code_within_texts_are_no_code() {
    check(SOURCE, "// never todo!()\nconst A: &str = \"#[ignore] dbg!(x)\";\nlet todo = 1;", &[]);
}

#[test]
fn a_task_needs_a_number() {
    let mark = concat!("TO", "DO");
    let message = format!("crates/store/src/log.rs:1: task-mark: `{mark}` needs the number of an issue: `{mark}(#n)`");
    check(SOURCE, &format!("// {mark}: later"), &[&message]);
    check(SOURCE, &format!("// {mark}(#soon): later"), &[&message]);
    check(SOURCE, &format!("// {mark}(#12): later\nconst MY_{mark}S: u8 = 1;"), &[]);
}

#[test]
fn paths_of_a_machine_are_found_in_any_file() {
    let path = concat!("/ho", "me/");
    check(
        "docs.txt",
        &format!("see {path}ali/x"),
        &[&format!("docs.txt:1: machine-path: `{path}` is a place of one machine")],
    );
    check("docs.txt", &format!("see app{path}x"), &[]);
}

#[test]
fn hosts_of_package_registries_are_found_except_in_the_lock_file() {
    let host = concat!("crates", ".io");
    check(
        "docs.txt",
        &format!("from {host}"),
        &[&format!("docs.txt:1: registry-host: `{host}` is a package registry's host")],
    );
    check("Cargo.lock", &format!("source = \"{host}\""), &[]);
}

#[test]
fn the_library_knows_no_platform() {
    let found = |line, word: &str| {
        format!(
            "crates/envelope/src/a.rs:{line}: platform-word: `{word}` belongs to a platform, and this crate knows none"
        )
    };
    let text = "struct RoomId;\n// like HOTELS\nlet guest_name = 1;\n\"melmastoon.x.v1\"";
    let expected = [found(1, "Room"), found(2, "HOTELS"), found(3, "guest"), found(4, "melmastoon")];
    check("crates/envelope/src/a.rs", text, &expected.each_ref().map(String::as_str));
}

#[test]
fn words_that_only_hold_a_platform_word_are_none() {
    check("crates/registry/src/a.rs", "fn headroom(discourse: Recourse) {}", &[]);
}

#[test]
fn platforms_and_tests_may_name_what_they_are_about() {
    check("crates/melmastoon/src/a.rs", "struct Room;", &[]);
    check("crates/envelope/tests/it/a.rs", "struct Room;", &[]);
}

#[test]
fn a_file_that_must_name_a_platform_says_why() {
    let reason = "// tidy: names a platform because the wire form is called after it\nconst NAME: &str = \"panorama\";";
    check("crates/envelope/src/a.rs", reason, &[]);
    let without = "// tidy: names a platform because \nconst NAME: &str = \"panorama\";";
    check(
        "crates/envelope/src/a.rs",
        without,
        &["crates/envelope/src/a.rs:2: platform-word: `panorama` belongs to a platform, and this crate knows none"],
    );
}

#[test]
fn a_consumer_that_is_on_no_list_is_found() {
    let maker = "fn clerk() -> Consumer {\n    Consumer::new(\"a\", \"b\")\n}\n";
    let listed = "karwan::consumers! {\n    platform: &SHOP,\n    kinds: kinds(),\n    clerk => somebody_orders,\n}\n";
    let path = "crates/shop/src/sales.rs";
    check(path, &format!("{maker}{listed}"), &[]);
    check(
        path,
        maker,
        &["crates/shop/src/sales.rs: unlisted-consumer: `clerk` makes a consumer that no `karwan::consumers!` lists: \
           it has no replay contract"],
    );
    check(
        path,
        "fn main() {\n    let it = Consumer::new(\"a\", \"b\");\n}\n",
        &["crates/shop/src/sales.rs: unlisted-consumer: a consumer is made outside of a function that answers it: \
           list it in `karwan::consumers!`"],
    );
    check("crates/engine/src/consumer.rs", maker, &[]);
    check("crates/shop/tests/it/sales.rs", maker, &[]);
}

#[test]
fn a_service_that_names_more_of_another_than_its_events_is_found() {
    let check = |text: &str, expected: &[&str]| {
        let path = "crates/melmastoon/src/billing/work.rs";
        let files = tree(&[(path, text), ("crates/melmastoon/src/payment/mod.rs", "")]);
        let findings = printed(of_files(&files));
        let own: Vec<&String> = findings.iter().filter(|finding| finding.contains(": foreign-service: ")).collect();
        assert_eq!(own, expected);
    };
    check("use crate::payment::{CashReconciled, IntentRefunded};\n", &[]);
    check("use crate::payment::events::IntentRefunded;\nuse crate::billing::folio::Folio;\n", &[]);
    let said = |module: &str| {
        format!(
            "crates/melmastoon/src/billing/work.rs: foreign-service: `billing` uses `payment::{module}`: of another \
             service it may know the events alone"
        )
    };
    check("use crate::payment::state::Intent;\n", &[&said("state")]);
    check("fn f() { crate::payment::commands::notice(); }\n", &[&said("commands")]);
    check("use crate::{ids, payment};\n", &[&said("*")]);
    check("use crate::payment;\n", &[&said("*")]);
    check("use crate::payment as till;\n", &[&said("*")]);
    check("use crate::payment::*;\n", &[&said("*")]);
    // In braces, wherever they stand and however deep they are.
    check("use crate::{ids::QuoteId, payment::{IntentRefunded, events::IntentFailed}};\n", &[]);
    check("use crate::payment::{IntentRefunded, state::Intent};\n", &[&said("state")]);
    check("use crate::{\n    ids,\n    payment::{self, work},\n};\n", &[&said("*"), &said("work")]);
    check("use crate::{payment::{port::{Told, Notice}, IntentRefunded}};\n", &[&said("port"), &said("port")]);
    // By the way up, from the file and from a module in it.
    check("use super::folio::Folio;\nuse super::super::payment::IntentRefunded;\n", &[]);
    check("use super::super::payment::state::Intent;\n", &[&said("state")]);
    check("use super::super::{ids, payment::{decide, IntentRefunded}};\n", &[&said("decide")]);
    check("mod tests {\n    use super::super::payment::state::Own;\n}\n", &[]);
    check("mod tests {\n    use super::super::super::payment::state::Intent;\n}\n", &[&said("state")]);
    check("mod tests {}\nuse super::super::payment::state::Intent;\n", &[&said("state")]);
    let all = "crates/melmastoon/src/billing/work.rs: foreign-service: `billing` uses `crate::*`: of another service it may \
               know the events alone";
    check("use crate::*;\n", &[all]);
}

#[test]
fn the_rules_over_all_services_know_what_they_keep_and_no_service_knows_the_rules() {
    let rules = ("crates/melmastoon/src/rules/money.rs", "use crate::payment::state::Intent;\n");
    let billing =
        ("crates/melmastoon/src/billing/work.rs", "use crate::rules::Rules;\nuse crate::rules::money::Owed;\n");
    let findings = printed(of_files(&tree(&[rules, billing, ("crates/melmastoon/src/payment/mod.rs", "")])));
    let own: Vec<&String> = findings.iter().filter(|finding| finding.contains(": foreign-service: ")).collect();
    assert_eq!(
        own,
        [
            "crates/melmastoon/src/billing/work.rs: foreign-service: `billing` uses `rules::money`: of another service it may \
          know the events alone"
        ]
    );
}

#[test]
fn every_receive_of_the_engine_is_a_crash_point() {
    let path = "crates/engine/src/leases.rs";
    let told = format!(
        "{path}:1: crash-point: `.notified()` is followed by no `store.heard(…)`: no simulation ends a node there (or say \
         `// no crash point: ` and why)"
    );
    let receive = "work.notified().await;\n";
    check(path, receive, &[&told]);
    check(path, &format!("{receive}shared.store.heard(\"work\").await;\n"), &[]);
    check(path, &format!("{receive}{}shared.store.heard(\"work\").await;\n", "again();\n".repeat(10)), &[&told]);
    check(path, &format!("// no crash point: the process ends here\n{receive}"), &[]);
    check(path, &format!("#[cfg(test)]\nmod tests {{\n{receive}}}\n"), &[]);
    check("crates/store/src/bell.rs", receive, &[]);
}

/// no reply-to, and no request over the bus.
#[test]
fn nobody_asks_over_the_bus() {
    let text = "client.send_request(subject, request).await\n";
    let told = |path: &str, call: &str| {
        format!(
            "{path}:1: request-over-the-bus: `{call}` asks over the bus: events are told, and nobody answers them (R-437)"
        )
    };
    check("crates/broker/src/streams.rs", text, &[&told("crates/broker/src/streams.rs", "send_request")]);
    check("crates/broker/src/api.rs", text, &[]);
    let reply = "client.publish_with_reply_and_headers(subject, reply, headers, payload)\n";
    check("crates/engine/src/feed.rs", reply, &[&told("crates/engine/src/feed.rs", "publish_with_reply")]);
    let client = "use async_nats::Client;\n";
    let message = "crates/melmastoon/src/told.rs:1: request-over-the-bus: `async_nats` is for crates/broker/ alone: \
                   whoever has it can ask and answer";
    check("crates/melmastoon/src/told.rs", client, &[message]);
    check("crates/broker/tests/it/permissions.rs", client, &[]);
}

/// what is dead comes back by an operator's action alone.
#[test]
fn nobody_publishes_a_dead_letter_but_who_feeds_its_topic() {
    let text = "publish_letters(&broker, &letters).await\n";
    let message = "crates/cli/src/operator.rs:1: letter-replay: `publish_letters` is for dead letters when they are given up: \
                   nobody else publishes one (R-147)";
    check("crates/cli/src/operator.rs", text, &[message]);
    check("crates/engine/src/relay/letters.rs", text, &[]);
}

/// whatever is published was committed first.
#[test]
fn nobody_publishes_past_the_log() {
    let said = |path: &str, why: &str| format!("{path}:1: dual-write: {why} (R-076)");
    let service = "crates/melmastoon/src/billing/work.rs";
    let knows = said(service, "a service commits its events and knows no broker");
    check(service, "use karwan_broker::Broker;\n", &[&knows]);
    check(service, "use karwan::{Consumer, broker};\n", &[&knows]);
    check(service, "let broker = karwan::broker::Broker::connect(url).await?;\n", &[&knows]);
    check(service, "use karwan::{Consumer, Work};\n", &[]);
    let past = |what: &str| format!("`{what}` publishes past the log, which is the relay's alone to read from");
    let node = "crates/cli/src/up/mod.rs";
    check(node, "use karwan_broker::{Broker, Publisher};\n", &[&said(node, &past("Publisher"))]);
    check(node, "    Acked, Mode, Publisher,\n", &[&said(node, &past("Publisher"))]);
    check(node, "use karwan_broker::raw;\n", &[&said(node, &past("raw"))]);
    check(node, "use karwan_broker::Broker; // a Publisher is the relay's\n", &[]);
    check("crates/engine/src/relay/stream.rs", "use karwan_broker::Publisher;\n", &[]);
    check("crates/cli/src/bench/relay.rs", "use karwan_broker::raw;\n", &[]);
    check("crates/engine/tests/it/relay.rs", "use karwan_broker::Publisher;\n", &[]);
}
