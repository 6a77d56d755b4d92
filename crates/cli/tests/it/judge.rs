//! The official CloudEvents SDK judges the CloudEvents form: it reads what we print, we read what it prints, and it
//! refuses what is broken.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use karwan_envelope::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::karwan::call;
use crate::samples;

/// Reads one event from standard input; prints the attributes that it understood, then its own form of the event.
const READER: &str = r#"
import json, sys
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

event = JSONFormat().read(CloudEvent, sys.stdin.buffer.read())
attributes = {name: str(value) for name, value in event.get_attributes().items()}
written = JSONFormat().write(event)
print(json.dumps({"attributes": attributes, "data": event.get_data(), "written": written.decode()}))
"#;

/// What the SDK understood, or why it refused.
fn judge(python: &Path, event: &str) -> Result<Value, String> {
    let mut child = Command::new(python)
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("it was piped");
    stdin.write_all(event.as_bytes()).expect("python reads");
    drop(stdin);
    let output = child.wait_with_output().expect("python ends");
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).expect("the reader prints JSON"));
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Every sample as CloudEvents, printed by the binary.
fn events() -> Vec<String> {
    let convert = |sample: samples::Sample| {
        let convert = ["envelope", "convert", "--from", sample.profile, "--to", "cloudevents"];
        call(&convert).stdin(sample.text).run().exits(0).stdout
    };
    samples::all().into_iter().map(convert).collect()
}

#[test]
fn the_sdk_reads_every_profile_s_events_as_we_printed_them() {
    let Some(python) = karwan_testkit::python().or_skip() else { return };
    for event in events() {
        let read = judge(&python, &event).unwrap_or_else(|refusal| panic!("{refusal}: {event}"));
        let printed: Value = serde_json::from_str(&event).expect("JSON");
        for (name, value) in printed.as_object().expect("an object").iter().filter(|(name, _)| *name != "data") {
            let understood = read["attributes"][name].as_str().unwrap_or_else(|| panic!("{name} is gone"));
            match name.as_str() {
                // The SDK makes a date of it; the day and the second are enough to know it was read.
                "time" => assert_eq!(understood.replace(' ', "T")[..19], value.as_str().expect("a text")[..19]),
                "offlinereplay" => assert_eq!(understood.to_lowercase(), value.to_string()),
                _ => assert_eq!(Some(understood), value.as_str(), "{name}"),
            }
        }
        for name in ["id", "type", "source", "tenantid"] {
            assert!(printed[name].is_string(), "{name}: {event}");
        }
        assert_eq!(read["data"], printed["data"]);
    }
}

#[test]
fn what_the_sdk_prints_is_valid_here_and_means_the_same() {
    let Some(python) = karwan_testkit::python().or_skip() else { return };
    for event in events() {
        let read = judge(&python, &event).unwrap_or_else(|refusal| panic!("{refusal}: {event}"));
        let written = read["written"].as_str().expect("a text");
        let validate = ["envelope", "validate", "-", "--profile", "cloudevents"];
        let valid = call(&validate).stdin(written).run();
        assert_eq!(valid.code, Some(0), "{}{written}", valid.stdout);
        let convert = ["envelope", "convert", "--from", "cloudevents", "--to", "cloudevents"];
        let ours = |text: &str| {
            let mut event = call(&convert).stdin(text).run().exits(0).json();
            let time: Timestamp = event["time"].take().as_str().expect("a text").parse().expect("a time");
            (event, time)
        };
        // The SDK writes microseconds; the instant is the same.
        assert_eq!(ours(written), ours(&event));
    }
}

/// A judge that accepts everything judges nothing. (An absent id it makes up itself, so an empty one stands for it.)
#[test]
fn the_sdk_refuses_broken_events_and_so_do_we() {
    let Some(python) = karwan_testkit::python().or_skip() else { return };
    type Breakage = fn(&mut Map<String, Value>);
    let broken: [(&str, Breakage); 6] = [
        ("id", |event| event["id"] = json!("")),
        ("source", |event| drop(event.remove("source"))),
        ("type", |event| drop(event.remove("type"))),
        ("specversion", |event| event["specversion"] = json!("0.3")),
        ("time", |event| event["time"] = json!("noon")),
        ("Extra_1", |event| drop(event.insert("Extra_1".to_owned(), json!("x")))),
    ];
    for (field, breakage) in broken {
        let mut event: Value = serde_json::from_str(samples::of("cloudevents").text).expect("JSON");
        breakage(event.as_object_mut().expect("an object"));
        let refusal = judge(&python, &event.to_string()).expect_err("the SDK must refuse this");
        assert!(refusal.contains(field) || refusal.contains("noon"), "{refusal}");
        let ours =
            call(&["envelope", "validate", "-", "--profile", "cloudevents"]).stdin(event.to_string()).run().exits(1);
        ours.prints(&format!("/{field}: "));
    }
}
