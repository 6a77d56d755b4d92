use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use super::{Node, ask, begin, facts, until};
use crate::folder::Folder;
use crate::karwan::karwan;

#[test]
fn a_node_on_another_address_of_loopback_is_there_and_nowhere_else() {
    let folder = Folder::new();
    // Held here, so that the node could not have it, and nobody else has it either.
    let here = TcpListener::bind("127.0.0.1:0").expect("a free port");
    here.set_nonblocking(true).expect("it can be looked at");
    let port = here.local_addr().expect("it is bound").port();
    let node = Node::up(&folder.at("data"), &["--bind", "127.0.0.2", "--port", &port.to_string()]);
    assert_eq!(node.public(), format!("http://127.0.0.2:{port}"));
    let (status, body) = node.ask("GET", "/ready", &[], "");
    assert_eq!((status, body.contains("\"ready\"")), (200, true), "{body}");
    // Its vendors find it there, too.
    let booking = begin(&node, None);
    let position = booking["position"].as_str().expect("a position");
    until("a notice of a vendor", || {
        facts(&node, position).iter().any(|fact| fact["subject"].to_string().contains("vendor_webhook.processed"))
    });
    assert_eq!(node.violations(), json!([]));
    assert_eq!(here.accept().map(drop).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock), "nobody asked here");
    drop(here);
    let refused = TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::ConnectionRefused));
    // Operators' commands are answered on loopback's own address, whatever --bind says.
    assert!(node.card()["control"].as_str().is_some_and(|control| control.starts_with("http://127.0.0.1:")));
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_node_on_every_address_keeps_its_control_api_on_loopback() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--bind", "0.0.0.0", "--empty"]);
    let port = node.public().rsplit(':').next().expect("a port").to_owned();
    for address in ["127.0.0.1", "127.0.0.2"] {
        assert_eq!(ask(&format!("http://{address}:{port}/health"), "GET", &[], "").0, 200, "{address}");
    }
    let control = node.card()["control"].as_str().expect("an address").to_owned();
    let port: u16 = control.strip_prefix("http://127.0.0.1:").and_then(|port| port.parse().ok()).expect("on loopback");
    let refused = TcpStream::connect(("127.0.0.2", port)).map(drop).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::ConnectionRefused));
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn an_address_that_is_none_of_this_machines_is_told_with_the_remedy() {
    let folder = Folder::new();
    let data = folder.at("data").to_str().expect("a path").to_owned();
    // Of the addresses that are for documents alone.
    karwan(&["up", "--data", &data, "--port", "0", "--bind", "203.0.113.7"])
        .exits(1)
        .says("203.0.113.7:0 cannot be listened on (docs/errors/node-bind.md)")
        .says("help: name an address of this machine with --bind");
    karwan(&["up", "--data", &data, "--port", "0", "--bind", "everywhere"]).exits(64).says("--bind <ADDR>");
}
