//! R-025, C-21: a traceparent's trace id is the correlation id, in and out.

use karwan_envelope::cause::{Cause, Span, Traceparent};
use karwan_envelope::ids::{CorrelationId, EventId, Form};
use proptest::prelude::*;
use serde_json::json;

use crate::goldens::{self, edited, full, print, read};
use crate::shop::{CLOUD, COUNTER, LEDGER, TILL};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

proptest! {
    #[test]
    fn a_traceparent_is_printed_as_it_was_read(text in "00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}") {
        if let Ok(parent) = text.parse::<Traceparent>() {
            prop_assert_eq!(parent.to_string(), text.clone());
            prop_assert_eq!(Cause::from(parent).traceparent(), parent);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text: String, hex in "[0-9a-f-]{50,60}") {
        prop_assert!(text.parse::<Traceparent>().is_err());
        prop_assert!(hex.parse::<Traceparent>().is_err() || hex.starts_with("00-"));
    }
}

#[test]
fn a_trace_id_goes_in_and_comes_out_the_same() {
    let correlation = Form::Ulid.print(u128::from_str_radix(TRACE, 16).unwrap()).unwrap();
    for profile in [&TILL, &CLOUD] {
        let field = if profile.name == "till" { "traceId" } else { "traceparent" };
        let text = edited(profile, |it| it[field] = json!(format!("00-{TRACE}-00f067aa0ba902b7-00")));
        let envelope = read(profile, &text).unwrap();
        assert_eq!(envelope.cause.correlation.to_string(), correlation);
        assert_eq!(envelope.cause.span, Some(Span { id: 0x00f0_67aa_0ba9_02b7, flags: 0 }));
        let printed = goldens::value(&print(profile, &envelope));
        assert_eq!(printed[field], json!(format!("00-{TRACE}-00f067aa0ba902b7-00")));
        for other in [&COUNTER, &LEDGER] {
            let printed = goldens::value(&print(other, &envelope));
            assert_eq!(printed["correlationId"], json!(correlation));
        }
    }
}

#[test]
fn a_correlation_without_a_span_gets_one_that_reads_back_as_none() {
    let envelope = read(&COUNTER, full(&COUNTER)).unwrap();
    assert_eq!(envelope.cause.span, None);
    for profile in [&TILL, &CLOUD] {
        let back = read(profile, &print(profile, &envelope)).unwrap();
        assert_eq!((back.cause.correlation, back.cause.span), (envelope.cause.correlation, None));
    }
}

///
#[test]
fn a_business_id_is_printed_as_the_correlation_where_a_form_has_no_other_place() {
    let mut envelope = read(&TILL, full(&TILL)).unwrap();
    assert_eq!(envelope.cause.business.as_deref(), Some("ord_o-77"));
    envelope.cause.business = None;
    let printed = goldens::value(&print(&TILL, &envelope));
    assert_eq!(printed["correlationId"], json!(envelope.cause.correlation.to_string()));
    assert_eq!(read(&TILL, &printed.to_string()).unwrap().cause.business, None);
    let error = read(&TILL, &edited(&TILL, |it| it["correlationId"] = json!(""))).unwrap_err();
    assert_eq!(error.to_string(), "/correlationId: must not be empty (envelope-field-invalid)");
}

#[test]
fn what_is_no_traceparent_is_refused() {
    for text in [
        "",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ] {
        assert!(text.parse::<Traceparent>().is_err(), "{text} was taken");
    }
}

///
#[test]
fn a_consequence_keeps_the_correlation_and_names_its_cause() {
    let root = Cause {
        business: Some("ord_o-77".to_owned()),
        span: Some(Span { id: 5, flags: 1 }),
        ..Cause::root(CorrelationId::from_bits(9))
    };
    assert_eq!(Cause::root(CorrelationId::from_bits(9)).causation, None);
    let first = Cause::of(EventId::from_bits(1), &root);
    let second = Cause::of(EventId::from_bits(2), &first);
    assert_eq!(second, Cause { causation: Some(EventId::from_bits(2)), ..root.clone() });
    assert_eq!(first.causation, Some(EventId::from_bits(1)));
    assert_eq!((first.correlation, first.business, first.span), (root.correlation, root.business, root.span));
}
