//! R-033, R-039, C-07, C-08: names are parsed strictly, and exceptions are pinned.

use expect_test::{Expect, expect};
use karwan_envelope::subject::{Grammar, SUBJECT_BYTES_MAX, Subject, SubjectRule};
use proptest::prelude::*;

use crate::shop::{BARE_GRAMMAR, GRAMMAR};

const MALL: Grammar<'static> = Grammar { prefix: Some("mall"), ..GRAMMAR };
const PARTITIONED: Grammar<'static> = Grammar { partitioned: true, ..GRAMMAR };

fn check(grammar: &Grammar<'_>, text: &str, expected: Expect) {
    let shown = match grammar.parse(text) {
        Ok(parts) => format!(
            "{} | {} | {} | v{} | {:?} | {}",
            parts.service,
            parts.aggregate,
            parts.verb,
            parts.subject.version(),
            parts.partition,
            parts.schema_path()
        ),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

fn rule(grammar: &Grammar<'_>, text: &str) -> Option<SubjectRule> {
    grammar.parse(text).err().map(|error| error.cause)
}

proptest! {
    #[test]
    fn a_name_is_printed_as_it_was_read(text in "[a-z][a-z0-9_]{0,12}(\\.[a-z][a-z0-9_]{0,12}){1,6}(\\.v[1-9][0-9]{0,8})?") {
        if let Ok(subject) = text.parse::<Subject>() {
            prop_assert_eq!(subject.to_string(), text.clone());
            let versioned = subject.event_type() != text;
            prop_assert_eq!(Subject::of(subject.event_type(), subject.version(), versioned), Ok(subject));
        }
    }

    #[test]
    fn parts_put_together_are_the_name(
        service in prop::sample::select(vec!["shop", "depot", "till"]),
        aggregate in "[a-z][a-z0-9_]{0,20}", verb in "([a-z]{1,8}_)?[a-z]{2,10}ed", version in 1_u32..,
        bucket in prop::option::of("[0-9]{1,4}|[A-Z][a-z0-9_-]{0,8}"),
    ) {
        let name = format!("mall.{service}.{aggregate}.{verb}.v{version}");
        let text = bucket.as_ref().map_or(name.clone(), |bucket| format!("{name}.{bucket}"));
        let parts = Grammar { partitioned: true, ..MALL }.parse(&text).unwrap();
        prop_assert_eq!(
            format!("mall.{}.{}.{}.v{}", parts.service, parts.aggregate, parts.verb, parts.subject.version()),
            name.clone()
        );
        prop_assert_eq!(parts.subject.as_str(), name);
        prop_assert_eq!(parts.partition, bucket);
    }

    #[test]
    fn no_text_makes_a_grammar_panic(text in "[a-zA-Z0-9_.é -]{0,300}", other: String) {
        for text in [text, other] {
            for grammar in [GRAMMAR, MALL, PARTITIONED, BARE_GRAMMAR] {
                if let Ok(parts) = grammar.parse(&text) {
                    let partition = parts.partition.map(|bucket| format!(".{bucket}")).unwrap_or_default();
                    prop_assert_eq!(format!("{}{partition}", parts.subject), text.clone());
                }
            }
        }
    }
}

#[test]
fn a_name_is_taken_apart() {
    check(&GRAMMAR, "shop.order.placed.v1", expect!["shop | order | placed | v1 | None | shop/order/placed/v1"]);
    check(
        &MALL,
        "mall.depot.parcel.sent.v4294967295",
        expect!["depot | parcel | sent | v4294967295 | None | depot/parcel/sent/v4294967295"],
    );
    check(&BARE_GRAMMAR, "shop.visit.counted", expect!["shop | visit | counted | v1 | None | shop/visit/counted/v1"]);
    check(
        &PARTITIONED,
        "shop.order.placed.v1.07",
        expect![[r#"shop | order | placed | v1 | Some("07") | shop/order/placed/v1"#]],
    );
    check(
        &Grammar { aggregated: false, ..GRAMMAR },
        "depot.emptied.v1",
        expect!["depot | depot | emptied | v1 | None | depot/depot/emptied/v1"],
    );
    assert_eq!(rule(&Grammar { aggregated: false, ..GRAMMAR }, "depot.box.emptied.v1"), Some(SubjectRule::Segments));
    assert_eq!(GRAMMAR.service("depot").unwrap().name, "depot-service");
}

#[test]
fn a_pinned_exception_is_taken_apart_as_it_is_pinned_and_no_other_is() {
    check(&GRAMMAR, "shop.opened.v1", expect!["shop | shop | opened | v1 | None | shop/shop/opened/v1"]);
    check(
        &GRAMMAR,
        "shop.opened.v2",
        expect![[
            "subject `shop.opened.v2`: must be service, aggregate and verb as the grammar says; a name that cannot follow is pinned in its exceptions"
        ]],
    );
    assert_eq!(rule(&BARE_GRAMMAR, "shop.opened.v1"), Some(SubjectRule::Segments));
    check(
        &PARTITIONED,
        "shop.opened.v1.3",
        expect![[r#"shop | shop | opened | v1 | Some("3") | shop/shop/opened/v1"#]],
    );
}

#[test]
fn every_rule_of_the_grammar_refuses() {
    for text in [
        "",
        "shop",
        "Shop.order.placed.v1",
        "shop..placed.v1",
        "shop.order.placed.v1.",
        ".shop.order.placed.v1",
        "shop.1order.placed.v1",
        "shop.order-x.placed.v1",
        "shop.order.placed .v1",
        "shop.ördér.placed.v1",
        "shop._order.placed.v1",
        "shop.order.placed.v1\n",
        "shop.order.placed.*",
    ] {
        assert_eq!(rule(&GRAMMAR, text), Some(SubjectRule::Shape), "{text:?}");
    }
    for text in [
        "shop.order.placed",
        "shop.order.placed.v0",
        "shop.order.placed.v01",
        "shop.order.placed.v4294967296",
        "shop.order.placed.v99999999999999999999",
        "shop.order.placed.v",
    ] {
        assert_eq!(rule(&GRAMMAR, text), Some(SubjectRule::Version), "{text:?}");
    }
    for text in ["shop.order.placed.v1", "mallet.shop.order.placed.v1", "mall_shop.order.placed.v1"] {
        assert_eq!(rule(&MALL, text), Some(SubjectRule::Prefix("mall".to_owned())), "{text:?}");
    }
    assert_eq!(rule(&GRAMMAR, "bakery.order.placed.v1"), Some(SubjectRule::Service("bakery".to_owned())));
    for text in ["shop.placed.v1", "shop.order.line.placed.v1", "shop.order.placed.local.v1"] {
        assert_eq!(rule(&GRAMMAR, text), Some(SubjectRule::Segments), "{text:?}");
    }
    assert_eq!(rule(&BARE_GRAMMAR, "shop.order.placed.v1"), Some(SubjectRule::Segments));
    assert_eq!(rule(&GRAMMAR, "shop.order.place.v1"), Some(SubjectRule::Tense("place".to_owned())));
}

#[test]
fn a_refusal_names_the_name_and_the_rule() {
    check(
        &GRAMMAR,
        "shop.order.place.v1",
        expect![
            "subject `shop.order.place.v1`: `place` is not in the past tense: an event is a fact that already happened"
        ],
    );
    check(
        &GRAMMAR,
        "bakery.order.placed.v1",
        expect!["subject `bakery.order.placed.v1`: `bakery` is not a service of this platform"],
    );
    check(
        &GRAMMAR,
        "shop.order.placed.v0",
        expect![
            "subject `shop.order.placed.v0`: must end in a version such as v1, counted from 1 without leading zeros"
        ],
    );
}

#[test]
fn a_partition_bucket_is_one_segment_behind_the_version() {
    let refused = |text: &str| assert!(PARTITIONED.parse(text).is_err(), "{text} was taken");
    refused("shop.order.placed.v1.");
    refused("shop.order.placed.v1.a.b");
    refused("shop.order.placed.v1.a b");
    refused("shop.order.placed.v1.v2");
    refused("shop.order.placed.v1.v2.7");
    refused("shop.order.placed.07");
    assert_eq!(rule(&GRAMMAR, "shop.order.placed.v1.07"), Some(SubjectRule::Shape));
}

#[test]
fn a_name_of_200_bytes_is_taken_and_a_longer_one_refused() {
    let name = |aggregate: usize| format!("shop.{}.placed.v1", "a".repeat(aggregate));
    let longest = name(SUBJECT_BYTES_MAX - "shop..placed.v1".len());
    assert_eq!(longest.len(), SUBJECT_BYTES_MAX);
    assert!(GRAMMAR.parse(&longest).is_ok());
    assert_eq!(rule(&GRAMMAR, &name(longest.len())), Some(SubjectRule::TooLong));
    assert_eq!(rule(&PARTITIONED, &format!("{longest}.7")), Some(SubjectRule::TooLong));
    // A grammar that looked for one bucket behind the other would need a stack as deep as this is long.
    assert_eq!(
        rule(&PARTITIONED, &format!("shop.order.placed{}", ".v1".repeat(1_000_000))),
        Some(SubjectRule::TooLong)
    );
}

#[test]
fn verbs_in_the_past_tense_pass_the_lint() {
    for verb in ["placed", "checked_in", "dates_changed", "sent", "paid", "written", "put_aside"] {
        assert!(GRAMMAR.parse(&format!("shop.order.{verb}.v1")).is_ok(), "{verb}");
    }
    for verb in ["place", "placing", "bed", "ready", "no_show", "error", "sends"] {
        assert_eq!(rule(&GRAMMAR, &format!("shop.order.{verb}.v1")), Some(SubjectRule::Tense(verb.to_owned())));
    }
}

#[test]
fn a_name_has_one_version_behind_at_least_two_words() {
    let rule = |text: &str| text.parse::<Subject>().err().map(|error| error.cause);
    assert_eq!(rule("shop.order.v1.v2"), Some(SubjectRule::Version));
    assert_eq!(rule("shop.order.v0.v2"), Some(SubjectRule::Version));
    assert_eq!(rule("shop.v1"), Some(SubjectRule::Shape));
    assert_eq!(rule("shop.v1.placed.v2"), None);
    assert_eq!(rule("shop.order.v"), None);
}

#[test]
fn an_event_type_and_a_version_make_a_subject_once() {
    let subject = Subject::of("shop.order.placed", 2, true).unwrap();
    assert_eq!(
        (subject.as_str(), subject.event_type(), subject.version()),
        ("shop.order.placed.v2", "shop.order.placed", 2)
    );
    let bare = Subject::of("shop.visit.counted", 1, false).unwrap();
    assert_eq!((bare.as_str(), bare.event_type(), bare.version()), ("shop.visit.counted", "shop.visit.counted", 1));
    for (name, version, versioned) in [
        ("shop.order.placed.v1", 1, true),
        ("shop.order.placed.v1", 1, false),
        ("shop.order.placed", 0, true),
        ("shop.visit.counted", 2, false),
    ] {
        assert_eq!(Subject::of(name, version, versioned).unwrap_err().cause, SubjectRule::Version, "{name} {version}");
    }
}
