//! C-01: for every profile, reading what was printed gives the same envelope, and printing it again the same text.

use karwan_envelope::Envelope;
use karwan_envelope::profile::Profile;
use karwan_envelope::wire::{self, EncodeError};
use proptest::prelude::*;

use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};
use crate::{envelopes, goldens};

/// An envelope survives its profile: every fact, its spelling and the text.
fn check(profile: &Profile, envelope: &Envelope) {
    let text = match wire::encode(profile, &shop::directory(), envelope) {
        Ok(text) => text,
        Err(EncodeError::Version { .. }) if profile.name == BOARD.name => {
            return assert_ne!(envelope.subject.version(), 1);
        }
        Err(EncodeError::MetadataTooLarge { actual, max }) => return assert!(actual > max),
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    };
    let back = goldens::read(profile, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(envelope.differences(&back), [""; 0], "{text}");
    assert_eq!(envelope.carried, back.carried, "{text}");
    assert_eq!(goldens::print(profile, &back), text);
}

proptest! {
    #[test]
    fn the_nested_form_carries_its_facts(envelope in envelopes::carried_by(&COUNTER)) {
        check(&COUNTER, &envelope);
    }

    #[test]
    fn the_flat_form_carries_its_facts(envelope in envelopes::carried_by(&LEDGER)) {
        check(&LEDGER, &envelope);
    }

    #[test]
    fn the_spec_and_data_form_carries_its_facts(envelope in envelopes::carried_by(&TILL)) {
        check(&TILL, &envelope);
    }

    #[test]
    fn the_table_row_form_carries_its_facts(envelope in envelopes::carried_by(&BOARD)) {
        check(&BOARD, &envelope);
    }

    #[test]
    fn cloudevents_carries_every_fact(envelope in envelopes::with_every_fact(&CLOUD)) {
        check(&CLOUD, &envelope);
    }

    #[test]
    fn what_any_profile_printed_of_any_envelope_it_reads_back_and_prints_again(
        which in 0..5_usize, envelope in envelopes::with_every_fact(&COUNTER),
    ) {
        let profile = shop::PROFILES[which];
        if let Ok(text) = wire::encode(profile, &shop::directory(), &envelope) {
            let back = goldens::read(profile, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            prop_assert_eq!(goldens::print(profile, &back), text);
        }
    }

    /// Its texts are written by hand, so they are compared with those that serde writes.
    #[test]
    fn the_nested_form_writes_texts_as_serde_does(envelope in envelopes::carried_by(&COUNTER), name: String) {
        let mut envelope = envelope;
        envelope.carried.extra = [(name.clone(), "free".into())].into_iter().collect();
        let Ok(text) = wire::encode(&COUNTER, &shop::directory(), &envelope) else { return Ok(()) };
        let quoted = |text: &str| serde_json::to_string(text).expect("a text serialises");
        let (actor, producer) = (&envelope.actor, &envelope.producer);
        let kind = serde_json::to_string(&actor.kind).expect("a name serialises");
        for expected in [
            format!(r#""schemaUri":{},"#, quoted(&envelope.schema.to_string())),
            format!(r#""actorId":{{"type":{kind},"id":{}}},"#, quoted(&actor.id)),
            format!(r#""occurredAt":{},"#, quoted(&envelope.occurred_at.to_string())),
            format!(r#""service":{},"instance":{},"#, quoted(&producer.service), quoted(&producer.instance)),
            format!(r#""commit":{},"region":"#, quoted(&producer.commit)),
            format!(r#""idempotencyKey":{},"payload":"#, quoted(&envelope.idempotency_key)),
        ] {
            prop_assert!(text.contains(&expected), "{expected} is not in {text}");
        }
        let taken = text.matches(r#":"free""#).count() == 0;
        prop_assert!(taken || text.ends_with(&format!(r#",{}:"free"}}}}"#, quoted(&name))), "{text}");
    }
}
