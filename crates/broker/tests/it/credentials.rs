//! Logins of a server in operator mode: an operator signs accounts, an account signs users, and whoever connects has a token and a
//! seed in a file. All of it is made here, as `nsc` makes it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use karwan_broker::nats_conf::inbox;
use karwan_broker::{Broker, Error, Mode, Options};
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_testkit::nats::{self, Server};
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::fixture::{STREAM, counted, publish, topology};

/// Seconds after 1970, as tokens count them; a real server judges them by its own clock.
fn now() -> i64 {
    SystemClock.now().unix_ms() / 1_000
}

/// What is said of somebody, signed by whoever stands above.
fn token(signer: &KeyPair, subject: &KeyPair, name: &str, more: Value) -> String {
    let mut claims = json!({
        "jti": format!("{name}-{}", subject.public_key()),
        "iat": now() - 60,
        "iss": signer.public_key(),
        "sub": subject.public_key(),
        "name": name,
    });
    for (key, value) in more.as_object().expect("an object") {
        claims[key] = value.clone();
    }
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let told = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(&claims));
    let signature = signer.sign(told.as_bytes()).expect("it has its seed");
    format!("{told}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn account(operator: &KeyPair, account: &KeyPair, name: &str, stores: bool) -> String {
    let mut limits = json!({ "wildcards": true });
    for name in ["subs", "data", "payload", "imports", "exports", "conn", "leaf"] {
        limits[name] = json!(-1);
    }
    for name in ["mem_storage", "disk_storage", "streams", "consumer"].into_iter().filter(|_| stores) {
        limits[name] = json!(-1);
    }
    token(operator, account, name, json!({ "nats": { "type": "account", "version": 2, "limits": limits } }))
}

/// A server whose operator lets one account in, and that account.
struct Domain {
    server: Server,
    account: KeyPair,
}

impl Domain {
    fn new() -> Option<Self> {
        let (operator, own, system) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let above = token(&operator, &operator, "op", json!({ "nats": { "type": "operator", "version": 2 } }));
        let configuration = format!(
            "operator: \"{above}\"\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n  {}: \"{}\"\n  {}: \"{}\"\n}}\n",
            system.public_key(),
            system.public_key(),
            account(&operator, &system, "SYS", false),
            own.public_key(),
            account(&operator, &own, "KARWAN", true),
        );
        let options = nats::Options { configuration, ..nats::Options::default() };
        Some(Self { server: Server::start(options).or_skip()?, account: own })
    }

    /// The file of a user that may do what is said, and its secrets.
    fn file(&self, name: &str, more: Value) -> (PathBuf, [String; 2]) {
        let user = KeyPair::new_user();
        let (token, seed) = (token(&self.account, &user, name, more), user.seed().expect("it was just made"));
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             ************************* IMPORTANT *************************\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        let file = self.server.directory().join(format!("{name}.creds"));
        std::fs::write(&file, text).expect("a test needs it");
        (file, [token, seed])
    }

    async fn connect(&self, file: &std::path::Path) -> Result<Broker, Error> {
        let options = Options { answer_ms_max: 2_000, ..Options::default() };
        Broker::connect(&format!("{}?creds={}", self.server.url(), file.display()), options).await
    }
}

/// A user that hears its own inbox alone, as `nats_conf` writes them.
fn confined(name: &str) -> Value {
    json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
            "sub": { "allow": [format!("{}.>", inbox(name))] } })
}

#[tokio::test]
async fn a_credentials_file_is_a_login_with_an_inbox_of_its_own() {
    let Some(domain) = Domain::new() else { return };
    let (file, secrets) = domain.file("reservation-service", json!({ "nats": confined("reservation-service") }));
    let broker = domain.connect(&file).await.unwrap();
    topology().apply(&broker).await.unwrap();
    publish(&broker, Mode::Pipelined, 1..=3).await;
    assert_eq!(broker.last_sequence(STREAM).await.unwrap(), counted(3).len() as u64);
    assert_eq!(broker.reader(0), "ops-reservation-service");
    let without = Broker::connect(&domain.server.url(), Options::default()).await.unwrap_err();
    assert!(matches!(without, Error::Denied { .. }), "{without:?}");
    let said = format!("{broker:?} {} {without} {without:?} {}", broker.address(), domain.server.log());
    assert!(secrets.iter().all(|secret| !said.contains(secret)), "{said}");
}

#[tokio::test]
async fn a_user_of_another_account_or_one_whose_time_is_over_is_not_let_in() {
    let Some(domain) = Domain::new() else { return };
    let (late, mut secrets) = (domain.file("late", json!({ "nats": confined("late"), "exp": now() - 30 })), Vec::new());
    let stranger = Domain { account: KeyPair::new_account(), ..domain };
    let strange = stranger.file("strange", json!({ "nats": confined("strange") }));
    let mut said = String::new();
    for (file, held) in [late, strange] {
        let error = stranger.connect(&file).await.unwrap_err();
        assert!(matches!(error, Error::Denied { .. }), "{error:?}");
        said.push_str(&format!("{error} {error:?}"));
        secrets.extend(held);
    }
    assert!(secrets.iter().all(|secret| !said.contains(secret)), "{said}");
}

/// where users have tokens, the server itself ends a login whose time is over.
#[tokio::test]
async fn a_connection_ends_when_the_time_of_its_user_is_over() {
    let Some(domain) = Domain::new() else { return };
    let (file, _) = domain.file("ann", json!({ "nats": confined("ann"), "exp": now() + 3 }));
    let ann = domain.connect(&file).await.unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    while ann.is_connected() {
        assert!(Instant::now() < patience, "{}", domain.server.log());
        tokio::task::yield_now().await;
    }
    // Within the second of the end itself a server may still let it in, and end it at once.
    while !matches!(domain.connect(&file).await, Err(Error::Denied { .. })) {
        assert!(Instant::now() < patience, "{}", domain.server.log());
    }
}

#[tokio::test]
async fn a_file_that_is_no_login_is_named_and_nothing_of_it_is_told() {
    let Some(domain) = Domain::new() else { return };
    let (whole, _) = domain.file("whole", json!({ "nats": confined("whole") }));
    let text = std::fs::read_to_string(&whole).unwrap();
    let half = &text[..text.find("-----BEGIN USER NKEY").unwrap()];
    let mangled = text.replace("\nSU", "\nSX");
    let folder = domain.server.directory();
    for (name, text) in [("empty", ""), ("words", "hush-hush\n"), ("half", half), ("mangled", &mangled)] {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        for parameter in ["creds", "nkey"] {
            let url = format!("{}?{parameter}={}", domain.server.url(), file.display());
            let error = Broker::connect(&url, Options::default()).await.unwrap_err();
            let said = format!("{error} {error:?}");
            assert_eq!(error.code(), "broker-credentials", "{said}");
            assert!(said.contains(name) && !error.is_away(), "{said}");
            let told =
                text.lines().filter(|line| line.len() > 8 && !line.contains('-')).any(|line| said.contains(line));
            assert!(!told && !said.contains("hush"), "{said}");
        }
    }
    let error = domain.connect(&folder.join("nowhere")).await.unwrap_err();
    assert_eq!(error.code(), "broker-credentials", "{error:?}");
}
