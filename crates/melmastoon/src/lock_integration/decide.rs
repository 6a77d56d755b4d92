//! What follows an answer of the vendor's, or its silence. No clock, no I/O.

use karwan::envelope::time::Timestamp;
use sha2::{Digest, Sha256};

use super::port::Failed;
use super::state::{Credential, KeyState};
use super::terms::{IssuanceFailure, RevocationReason};
use super::vendor::VendorFailure;
use crate::reservation::BookingConfirmed;
use crate::tenant::KeyPolicy;

/// How often a vendor is asked to end a key before the front desk looks after the door. More often than it is asked to make one:
/// a guest without a key comes to the desk, a key without a guest does not.
pub const REVOKE_ATTEMPTS_MAX: u32 = 20;
/// How long after each failure the vendor is asked again, in milliseconds; the last one holds for all that follow.
const WAITS_MS: [i64; 4] = [10_000, 30_000, 120_000, WAIT_MS_MAX];
/// The longest of them.
pub const WAIT_MS_MAX: i64 = 600_000;
/// The longest message of a vendor's that is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// What follows a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Ask again at this instant.
    Again(Timestamp),
    /// Leave it to the front desk.
    GiveUp,
}

impl Next {
    /// When the vendor is asked again, if it is.
    pub const fn at(self) -> Option<Timestamp> {
        match self {
            Self::Again(at) => Some(at),
            Self::GiveUp => None,
        }
    }
}

/// Whether a booking gets its key by itself: paid, not in cash on arrival, every room assigned (U-15), and the tenant wants it.
pub fn is_eligible(confirmed: &BookingConfirmed, policy: &KeyPolicy) -> bool {
    policy.auto_issue && confirmed.key_eligible && confirmed.rooms.iter().all(|room| room.room_id.is_some())
}

/// What follows a failure, the credential's count of failures included.
pub fn after_failure(credential: &Credential, failed: &Failed, now: Timestamp) -> Next {
    let enough = match credential.state {
        KeyState::Requested | KeyState::Issued => credential.failures >= credential.attempts_max,
        KeyState::Ending(_) | KeyState::Stuck(_) | KeyState::Revoked => credential.failures >= REVOKE_ATTEMPTS_MAX,
        // Nobody knows whether there is a key: another one is made only when it is ended, or opens nothing by itself.
        KeyState::Failed => now >= credential.valid_until,
    };
    if failed.final_word || enough {
        return Next::GiveUp;
    }
    let place = (credential.failures.max(1) as usize - 1).min(WAITS_MS.len() - 1);
    Next::Again(Timestamp::from_unix_ms(now.unix_ms() + WAITS_MS[place]))
}

/// The reason that an issuance failed for, as its guest's desk is told.
pub fn issuance_failure(failure: VendorFailure) -> IssuanceFailure {
    match failure {
        VendorFailure::Unreachable
        | VendorFailure::TimedOut
        | VendorFailure::RateLimited
        | VendorFailure::BreakerOpen
        | VendorFailure::MalformedAnswer => IssuanceFailure::VendorUnreachable,
        VendorFailure::Unauthorised | VendorFailure::Rejected => IssuanceFailure::VendorRejected,
        VendorFailure::DeviceOffline => IssuanceFailure::DeviceOffline,
    }
}

/// The key of the n-th issuance for a stay.
pub fn issue_key(reservation: &impl ToString, asked: u32) -> String {
    operation_key(&[&reservation.to_string(), "issue", &format!("v{asked}")])
}

/// The key of a credential's revocation; whatever asks for it, it is one.
pub fn revoke_key(credential: &impl ToString) -> String {
    operation_key(&[&credential.to_string(), "revoke"])
}

fn operation_key(parts: &[&str]) -> String {
    crate::digest::sha256_text(Sha256::digest(parts.concat().as_bytes()).as_slice())
}

/// What a vendor said, without what may be personal or open a door: words with an `@`, with four digits or more, or longer than
/// any word is.
pub fn scrubbed(message: &str) -> String {
    let told = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        !word.contains('@') && digits < 4 && word.chars().count() <= 24
    };
    let words: Vec<&str> = message.split_whitespace().map(|word| if told(word) { word } else { "…" }).collect();
    words.join(" ").chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Whether a stay that ended for this reason keeps nothing of its key.
pub fn ends(state: KeyState, reason: RevocationReason) -> Option<KeyState> {
    match state {
        KeyState::Requested | KeyState::Issued => Some(KeyState::Ending(reason)),
        KeyState::Failed | KeyState::Ending(_) | KeyState::Stuck(_) | KeyState::Revoked => None,
    }
}

#[cfg(test)]
mod tests {
    use super::scrubbed;

    /// what a vendor says is scrubbed of personal data and credentials.
    #[test]
    fn what_may_be_personal_or_open_a_door_is_not_passed_on() {
        let said =
            "lock 12 refused PIN 48213 of guest@example.af token eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9 at +93700123456";
        assert_eq!(scrubbed(said), "lock 12 refused PIN … of … token … at …");
        assert!(scrubbed(&"word ".repeat(1000)).chars().count() <= 300);
    }
}
