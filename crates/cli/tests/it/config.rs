//! Where a value comes from, and what is never printed.

use crate::folder::Folder;
use crate::karwan::call;
use serde_json::{Value, json};

fn stores(values: &Value) -> &Value {
    values.as_array().and_then(|all| all.iter().find(|value| value["name"] == "store")).expect("there is a store")
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let folder = Folder::new();
    let show = |args: &[&str]| call(&[&["config", "show", "--format", "json"], args].concat()).within(folder.path());
    let expected = |value: Value, origin: &str| json!({ "name": "store", "value": value, "origin": origin });
    assert_eq!(*stores(&show(&[]).run().exits(0).json()), expected(Value::Null, "default"));
    folder.write("karwan.toml", "store = \"sqlite:from-file.db\"\ntail_poll_ms_max = 900\n");
    let values = show(&[]).run().exits(0).json();
    assert_eq!(*stores(&values), expected("sqlite:from-file.db".into(), "karwan.toml"));
    assert_eq!(values[1], json!({ "name": "tail_poll_ms_min", "value": "50", "origin": "default" }));
    assert_eq!(values[2], json!({ "name": "tail_poll_ms_max", "value": "900", "origin": "karwan.toml" }));
    let from_environment = show(&[]).variable("KARWAN_STORE", "sqlite:from-environment.db").run().exits(0);
    assert_eq!(*stores(&from_environment.json()), expected("sqlite:from-environment.db".into(), "KARWAN_STORE"));
    let flagged = show(&["--store", "sqlite:flagged.db"]).variable("KARWAN_STORE", "sqlite:other.db").run().exits(0);
    assert_eq!(*stores(&flagged.json()), expected("sqlite:flagged.db".into(), "--store"));
    let empty = show(&[]).variable("KARWAN_STORE", "").run().exits(0);
    assert_eq!(*stores(&empty.json()), expected("sqlite:from-file.db".into(), "karwan.toml"));
}

#[test]
fn another_file_is_read_where_it_is_named() {
    let folder = Folder::new();
    folder.write("karwan.toml", "store = \"sqlite:wrong.db\"\n");
    let other = folder.write("other.toml", "store = \"sqlite:right.db\"\n");
    let answer = call(&["config", "show", "--config", &other]).within(folder.path()).run().exits(0);
    answer.prints("sqlite:right.db").prints("other.toml");
    call(&["config", "show", "--config", "missing.toml"]).within(folder.path()).run().exits(65).says("missing.toml");
}

#[test]
fn a_password_is_never_printed() {
    let spellings = [
        "postgres://app:s3cret@localhost/app",
        "postgres://app:s3cret?x@localhost/app",
        "postgres://app@localhost/app?password=s3cret&sslmode=disable",
        "host=localhost password=s3cret dbname=app",
        "postgress://app:s3cret@localhost/app",
    ];
    for text in spellings {
        for verb in [&["config", "show"][..], &["config", "show", "--format", "json"], &["log", "stats"], &["doctor"]] {
            let answers =
                [call(verb).variable("KARWAN_STORE", text).run(), call(&[verb, &["--store", text]].concat()).run()];
            for answer in answers {
                assert!(!format!("{answer:?}").contains("s3cret"), "{verb:?}, {text}: {answer:?}");
            }
        }
    }
    let folder = Folder::new();
    folder.write("karwan.toml", "store = \"postgres://app:s3cret@localhost/app\n");
    let answer = call(&["config", "show"]).within(folder.path()).run().exits(65).says("karwan.toml, line 1");
    assert!(!answer.stderr.contains("s3cret"), "{}", answer.stderr);
}

#[test]
fn an_unknown_key_is_named_with_those_that_there_are() {
    let folder = Folder::new();
    folder.write("karwan.toml", "stoer = \"sqlite:x\"\nconnections = 4\n");
    let answer = call(&["config", "show"]).within(folder.path()).run().exits(65);
    answer.says("`stoer`").says("`connections`").says("there are store, tail_poll_ms_min, tail_poll_ms_max");
}

#[test]
fn a_value_that_cannot_be_is_refused_with_its_origin() {
    let folder = Folder::new();
    let check = |text: &str, message: &str| {
        folder.write("karwan.toml", text);
        call(&["config", "show"]).within(folder.path()).run().exits(65).says(message);
    };
    check("store = \"localhost\"", "`store` (karwan.toml) is wrong (docs/errors/store-address.md)");
    check("store = [1]", "`store` is neither text nor a number");
    check("tail_poll_ms_min = 0", "no number of milliseconds");
    check("tail_poll_ms_min = 600", "tail_poll_ms_max only 500");
    call(&["doctor", "--store", "localhost"]).run().exits(64).says("sqlite:PATH or postgres://").says("(--store)");
    call(&["doctor"]).within(folder.path()).variable("KARWAN_TAIL_POLL_MS_MIN", "often").run().exits(65);
}

#[test]
fn the_example_is_a_file_that_is_read() {
    let folder = Folder::new();
    let example = call(&["config", "example"]).run().exits(0).stdout;
    folder.write("karwan.toml", &example);
    call(&["config", "show"]).within(folder.path()).run().exits(0).prints("default");
    let spoken: String = example
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("# ").filter(|it| it.contains(" = ")).unwrap_or("")))
        .collect();
    folder.write("karwan.toml", spoken);
    let values = call(&["config", "show", "--format", "json"]).within(folder.path()).run().exits(0).json();
    let origins: Vec<&str> =
        values.as_array().expect("a list").iter().filter_map(|value| value["origin"].as_str()).collect();
    assert_eq!(origins, ["karwan.toml"; 4]);
}

/// Start-up must not pay for what a command does not use.
#[test]
fn commands_without_a_store_read_no_configuration() {
    let folder = Folder::new();
    folder.write("karwan.toml", "not toml at all");
    call(&["completions", "bash"]).within(folder.path()).run().exits(0);
}
