//! A server's configuration in which each service may do its own and no more.
//!
//! One account, one user a service, named like it. A service publishes its own topics and nobody else's, pulls its own
//! durables and nobody else's, and hears only its own answers: each user has an inbox of its own, or any service could
//! listen to what others are delivered. Two users more: one that makes streams, one that may read everything and change
//! nothing (audit); one for each relay that publishes for several services, which follows nothing; and whoever is on call, until their time is over: they look at streams and dead letters through a durable of
//! their own, and publish nothing. Nobody needs to: events are handled again out of a consumer's store. A server ends no login by
//! itself that stands in its file: written after that time, the file has them no more, and a server that reads it again lets go
//! of them. Passwords are taken from the environment of the server; none is ever written here.
//!
//! Not here: which topics of a stream a durable names. JetStream checks the stream and the durable, not the filter. Nor where an
//! answer goes, or what a durable pushes: no permission is asked about a reply subject, so that a login can have the server write
//! into streams of others, or delete them (docs/adr/0013-the-broker.md).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use karwan_envelope::time::Timestamp;

use crate::topology::{Stream, Topology, names};

/// Who does what beyond its own service.
#[derive(Debug, Clone)]
pub struct Roles {
    /// The account that all of them share.
    pub account: String,
    /// Makes and changes streams: `karwan topology apply`.
    pub keeper: String,
    /// May pull every stream, by durables of its own name.
    pub auditor: String,
    /// Publish for several services.
    pub relays: Vec<RelayUser>,
    /// May look at every stream and its dead letters, for a time.
    pub on_call: Option<OnCall>,
}

/// The login of a relay of several services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayUser {
    /// Its name.
    pub user: String,
    /// For whom it publishes; for all that have streams where none is named.
    pub services: Vec<String>,
}

impl RelayUser {
    fn feeds(&self, stream: &Stream) -> bool {
        self.services.is_empty() || self.services.contains(&stream.service)
    }
}

/// Whoever is on call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnCall {
    /// They.
    pub users: Vec<String>,
    /// From then on they are not any more.
    pub until: Timestamp,
}

impl OnCall {
    /// Whether their time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now
    }
}

impl Default for Roles {
    fn default() -> Self {
        let (account, keeper, auditor) =
            ("KARWAN".to_owned(), "karwan-topology".to_owned(), "audit-service".to_owned());
        Self { account, keeper, auditor, relays: Vec::new(), on_call: None }
    }
}

/// What one user may do.
#[derive(Debug, Default)]
struct Grants {
    publish: BTreeSet<String>,
    subscribe: BTreeSet<String>,
}

impl Grants {
    fn publishes(&mut self, subject: String) {
        self.publish.insert(subject);
    }
}

/// The text of the configuration as it must be now; the same for the same topology until somebody's time is over.
pub fn emit(topology: &Topology, roles: &Roles, now: Timestamp) -> String {
    let mut text = format!(
        "# Accounts and permissions for the streams of {}, written by `karwan topology emit-nats`.\n\
         # Include it in the server's configuration. Each password is taken from the environment of the server:\n\
         # a text, or a bcrypt hash between single quotes. None is written here.\n",
        topology.platform()
    );
    if let Some(on_call) = &roles.on_call {
        let (until, users) = (on_call.until, on_call.users.join(", "));
        let told = match on_call.is_over(now) {
            false => format!(
                "# On call until {until}: {users}. Print it again and reload the server then: they are left out.\n"
            ),
            true => format!("# Nobody is on call: the time of {users} was over at {until}.\n"),
        };
        text.push_str(&told);
    }
    let account = &roles.account;
    write!(text, "accounts {{\n  {account} {{\n    jetstream: enabled\n    users: [\n")
        .expect("a string takes any text");
    for (user, grants) in users(topology, roles, now) {
        let variable = variable(&user);
        let permissions = [("publish", &grants.publish), ("subscribe", &grants.subscribe)];
        write!(text, "      {{\n        user: \"{user}\", password: ${variable}\n        permissions {{\n")
            .expect("a string takes any text");
        for (what, subjects) in permissions {
            writeln!(text, "          {what} {{ allow: [").expect("a string takes any text");
            for subject in subjects {
                writeln!(text, "            \"{subject}\"").expect("a string takes any text");
            }
            text.push_str("          ] }\n");
        }
        text.push_str("        }\n      }\n");
    }
    text.push_str("    ]\n  }\n}\n");
    text
}

/// The variable that holds a user's password: `BILLING_SERVICE_PASSWORD`.
pub fn variable(user: &str) -> String {
    let upper = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("{}_PASSWORD", user.chars().map(upper).collect::<String>())
}

/// Where a user hears answers; a connection with that login asks for them there.
pub fn inbox(user: &str) -> String {
    let token = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    format!("_INBOX.{}", user.chars().map(token).collect::<String>())
}

fn users(topology: &Topology, roles: &Roles, now: Timestamp) -> BTreeMap<String, Grants> {
    let mut users: BTreeMap<String, Grants> = BTreeMap::new();
    for stream in topology.streams() {
        feeds(users.entry(stream.service.clone()).or_default(), stream);
    }
    for consumer in topology.consumers() {
        let grants = users.entry(consumer.service.clone()).or_default();
        pulls(grants, &consumer.stream, &consumer.durable);
        // What it gives up goes to the dead letters of the topic.
        grants.publishes(format!("$JS.API.STREAM.INFO.{}", names::letters_stream(&consumer.stream)));
        grants.publish.extend(consumer.subjects.iter().map(|topic| names::letters_topic(topic)));
    }
    let auditor = users.entry(roles.auditor.clone()).or_default();
    for stream in topology.streams() {
        pulls(auditor, &stream.name, &names::durable(&roles.auditor));
    }
    for relay in &roles.relays {
        let grants = users.entry(relay.user.clone()).or_default();
        topology.streams().iter().filter(|stream| relay.feeds(stream)).for_each(|stream| feeds(grants, stream));
    }
    let on_call = roles.on_call.iter().filter(|on_call| !on_call.is_over(now));
    for user in on_call.flat_map(|on_call| &on_call.users) {
        let grants = users.entry(user.clone()).or_default();
        for stream in topology.streams() {
            pulls(grants, &stream.name, &names::reader(user));
            pulls(grants, &stream.letters(), &names::reader(user));
        }
    }
    users.entry(roles.keeper.clone()).or_default().publishes("$JS.API.>".to_owned());
    for (user, grants) in &mut users {
        grants.subscribe.insert(format!("{}.>", inbox(user)));
    }
    users
}

/// What a publisher of a stream says, and asks.
fn feeds(grants: &mut Grants, stream: &Stream) {
    for topic in &stream.subjects {
        grants.publishes(topic.clone());
        grants.publishes(names::letters_topic(topic));
    }
    for stream in [stream.name.clone(), stream.letters()] {
        grants.publishes(format!("$JS.API.STREAM.INFO.{stream}"));
        grants.publishes(format!("$JS.API.STREAM.MSG.GET.{stream}"));
    }
}

/// What a reader of a durable says, and asks.
fn pulls(grants: &mut Grants, stream: &str, durable: &str) {
    grants.publishes(format!("$JS.API.STREAM.INFO.{stream}"));
    for verb in ["INFO", "DELETE", "DURABLE.CREATE", "MSG.NEXT"] {
        grants.publishes(format!("$JS.API.CONSUMER.{verb}.{stream}.{durable}"));
    }
    grants.publishes(format!("$JS.ACK.{stream}.{durable}.>"));
}
