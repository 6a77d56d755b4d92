//! The client of a maker of locks, over sockets.

use std::time::Duration;

use karwan::TenantId;
use karwan::envelope::time::Timestamp;
use karwan_sandbox::locks::{CLIENT, Fault, Locks, SECRET};
use melmastoon::ids::{KeyCredentialId, PropertyId, RoomId};
use melmastoon::lock_integration::latch::{Account, Latch};
use melmastoon::lock_integration::port::{Issue, Revoke, Vendor as _};
use melmastoon::lock_integration::terms::KeyKind;

fn asked() -> Issue {
    Issue {
        operation_key: format!("sha256:{}", "7".repeat(64)),
        tenant: TenantId::from_bits(1),
        credential: KeyCredentialId::from_bits(2),
        property: PropertyId::from_bits(3),
        rooms: vec![RoomId::from_bits(4)],
        kinds: vec![KeyKind::MobileApp],
        valid_from: Timestamp::from_unix_ms(0),
        valid_until: Timestamp::from_unix_ms(86_400_000),
    }
}

/// the key under which it is asked keeps a repetition from making a second one.
#[tokio::test]
async fn a_key_whose_answer_is_lost_is_the_same_when_it_is_asked_for_again_and_opens_nothing_once_it_is_ended() {
    let locks = Locks::open(None, (Duration::ZERO, Duration::ZERO)).await.expect("it opens");
    let account = Account { url: locks.url(), client: CLIENT.to_owned(), secret: SECRET.to_owned() };
    let (latch, ask) = (Latch::new(account), asked());
    locks.fault(&ask.operation_key, Fault::TimeoutAfterIssue).expect("it is kept");
    let made = async {
        while locks.keys().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = latch.issue(ask.clone()) => panic!("nobody answers: {answer:?}"),
        () = made => {}
    }
    let again = latch.issue(ask.clone()).await.expect("a repetition is answered");
    let keys = locks.keys();
    assert_eq!((keys.len(), keys[0].live, keys[0].reference.as_str()), (1, true, again.vendor_ref.as_str()));
    let end = Revoke {
        operation_key: format!("sha256:{}", "8".repeat(64)),
        issue_key: ask.operation_key.clone(),
        credential: ask.credential,
        vendor_ref: None,
    };
    assert!(latch.revoke(end).await.expect("it is ended").existed);
    assert!(!locks.keys()[0].live);
}
