//! JetStream without us: streams that somebody makes by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use karwan_testkit::nats::Server;
use serde_json::{Value, json};

/// How long an answer may take: two busy cores run all tests at once.
const LONG: Duration = Duration::from_secs(120);

/// Makes a stream of these subjects with these settings; everything else is as the server has it by itself.
pub fn make(server: &Server, stream: &str, subjects: &[&str], settings: &Value) {
    let mut config = settings.clone();
    config["name"] = json!(stream);
    config["subjects"] = json!(subjects);
    ask(server, &format!("STREAM.CREATE.{stream}"), &config);
}

/// Deletes a stream with everything in it.
pub fn delete(server: &Server, stream: &str) {
    ask(server, &format!("STREAM.DELETE.{stream}"), &json!({}));
}

/// Takes everything out of a stream, which goes on.
pub fn purge(server: &Server, stream: &str) {
    ask(server, &format!("STREAM.PURGE.{stream}"), &json!({}));
}

/// Changes these settings of a stream.
pub fn change(server: &Server, stream: &str, settings: &Value) {
    let mut config = ask(server, &format!("STREAM.INFO.{stream}"), &json!({}))["config"].take();
    for (name, value) in settings.as_object().expect("settings") {
        config[name] = value.clone();
    }
    ask(server, &format!("STREAM.UPDATE.{stream}"), &config);
}

/// How many messages a stream was ever given; it must be there.
pub fn last(server: &Server, stream: &str) -> u64 {
    let info = ask(server, &format!("STREAM.INFO.{stream}"), &json!({}));
    info["state"]["last_seq"].as_u64().expect("a stream counts")
}

/// One question over a connection of its own; a refusal is no answer.
fn ask(server: &Server, verb: &str, body: &Value) -> Value {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it runs");
    stream.set_read_timeout(Some(LONG)).expect("a time");
    let body = body.to_string();
    let length = body.len();
    let asked =
        format!("CONNECT {{\"verbose\":false}}\r\nSUB by.hand 1\r\nPUB $JS.API.{verb} by.hand {length}\r\n{body}\r\n");
    (&stream).write_all(asked.as_bytes()).expect("it listens");
    let mut answers = BufReader::new(&stream);
    loop {
        let mut line = String::new();
        assert!(answers.read_line(&mut line).expect("it answers") > 0, "it hung up");
        // What comes before is the server's greeting, or a question whether anybody is there.
        let Some(length) = line.strip_prefix("MSG ").and_then(|rest| rest.split_whitespace().last()) else { continue };
        let mut answer = vec![0; length.parse().expect("a length")];
        answers.read_exact(&mut answer).expect("it is whole");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert!(answer.get("error").is_none(), "{verb}: {answer}");
        return answer;
    }
}
