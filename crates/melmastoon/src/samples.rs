//! Samples that must stay valid: document 004's payloads by canonical subject, and envelopes by profile.
//!
//! Every edit that made a document's sample valid is listed in `samples/README.md`.

macro_rules! payload {
    ($subject:literal) => {
        ($subject, include_str!(concat!("../samples/payloads/", $subject, ".json")))
    };
}

/// Subject and payload of every sample, in the order of the document; the two desk-local ones last.
pub fn payloads() -> Vec<(&'static str, &'static str)> {
    vec![
        payload!("melmastoon.lock_integration.key_credential.requested.v1"),
        payload!("melmastoon.lock_integration.key_credential.issued.v1"),
        payload!("melmastoon.lock_integration.key_credential.failed.v1"),
        payload!("melmastoon.lock_integration.key_credential.updated.v1"),
        payload!("melmastoon.lock_integration.key_credential.revoked.v1"),
        payload!("melmastoon.lock_integration.key_credential.suspended.v1"),
        payload!("melmastoon.lock_integration.key_credential.unsuspended.v1"),
        payload!("melmastoon.lock_integration.device.paired.v1"),
        payload!("melmastoon.lock_integration.device.health_alert.v1"),
        payload!("melmastoon.lock_integration.device.battery_low.v1"),
        payload!("melmastoon.lock_integration.device.offline.v1"),
        payload!("melmastoon.lock_integration.device.online.v1"),
        payload!("melmastoon.lock_integration.master_key.issued.v1"),
        payload!("melmastoon.lock_integration.master_key.expired.v1"),
        payload!("melmastoon.lock_integration.encoder_session.opened.v1"),
        payload!("melmastoon.lock_integration.encoder_session.closed.v1"),
        payload!("melmastoon.lock_integration.audit.attempt.v1"),
        payload!("melmastoon.lock_integration.vendor_webhook.received.v1"),
        payload!("melmastoon.lock_integration.vendor_webhook.processed.v1"),
        payload!("melmastoon.lock_integration.vendor_adapter.health_changed.v1"),
        payload!("melmastoon.lock.credential.issued.local.v1"),
        payload!("melmastoon.lock.credential.revoked.local.v1"),
    ]
}

macro_rules! envelope {
    ($profile:literal, $name:literal) => {
        ($profile, $name, include_str!(concat!("../samples/envelopes/", $profile, "/", $name, ".json")))
    };
}

/// Profile, name and text of every envelope.
pub fn envelopes() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        envelope!("lock-ce", "sample"),
        envelope!("melmastoon", "booking_confirmed"),
        envelope!("melmastoon", "completion_completed"),
        envelope!("melmastoon", "merkle_anchored"),
        envelope!("cloudevents", "booking_confirmed"),
    ]
}
