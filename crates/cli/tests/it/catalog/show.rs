use expect_test::expect;

use crate::karwan::karwan;

const ISSUED: &str = "melmastoon.lock_integration.key_credential.issued.v1";

#[track_caller]
fn check(name: &str, subject: &str) {
    let answer = karwan(&["catalog", "show", name]).exits(0);
    assert_eq!(answer.stdout.lines().next(), Some(subject), "{name}");
    assert_eq!(answer.stderr, "");
}

#[test]
fn an_event_is_found_by_any_of_its_names_and_addresses() {
    check(ISSUED, ISSUED);
    check("melmastoon.lock.credential.issued.v1", ISSUED);
    check("schemas://lock_integration/key_credential/issued/v1", ISSUED);
    check("https://schemas.melmastoon.ghasi.io/lock/credential.issued.v1.json", ISSUED);
    check("event-schemas/lock_integration/key_credential/issued/v1.json", ISSUED);
    check("enrollment.created.v1", "enrollment.created.v1");
    check("panorama.reservation.approved", "panorama.reservation.approved");
}

#[test]
fn an_event_is_found_by_its_schema_uri_with_the_hash() {
    let topic = karwan(&["catalog", "show", ISSUED, "--format", "json"]).exits(0).json();
    check(topic["topic"]["schemaUri"].as_str().expect("a text"), ISSUED);
}

#[test]
fn a_local_only_event_is_shown_too() {
    check("melmastoon.lock.credential.issued.local.v1", "melmastoon.lock.credential.issued.local.v1");
}

#[test]
fn an_event_is_shown_with_its_facts_fields_and_types() {
    let answer = karwan(&["catalog", "show", "panorama.damage.flagged"]).exits(0);
    let shown: Vec<&str> = answer.stdout.lines().filter(|line| !line.starts_with("schema ")).collect();
    expect![[r#"
        panorama.damage.flagged
        Damage was flagged when an asset was checked in; operations are alerted.

        owner           inspection-service
        tenancy         tenant
        retention       operational (days on broker, warehouse, cold: 90, 0, 0)
        merkle          no
        ordering key    {tenantId}:{assetId}
        idempotency     {damageReportId}:flagged
        payload         decided here: no document gives one

        FIELD            TYPE            MEANING
        assetId          uuid            What is damaged.
        damageReportId   uuid            The report.
        description      string          [personal: free_text] What it looks like.
        flaggedAt        date-time       When it was flagged, in UTC.
        flaggedByUserId  uuid            [personal: identifier] Who flagged it.
        reservationId    uuid            The reservation that the asset came back from.
        severity         DamageSeverity  How bad it is.

        DamageSeverity
        cosmetic | functional | unsafe"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn json_has_the_topic_and_the_schema() {
    let shown = karwan(&["catalog", "show", "authoring.course_draft.published.v1", "--format", "json"]).exits(0).json();
    assert_eq!(shown["topic"]["owner"], "authoring-service");
    assert_eq!(shown["schema"]["x-subject"], "authoring.course_draft.published.v1");
    assert!(shown["schema"]["properties"]["draftVersion"].is_object());
}

#[test]
fn an_unknown_name_is_bad_input_with_a_suggestion() {
    let check = |name: &str, meant: &str| {
        let answer = karwan(&["catalog", "show", name]).exits(65);
        assert_eq!(answer.stderr, format!("error: no event is named `{name}`; {meant}\n"));
        assert_eq!(answer.stdout, "");
    };
    check("melmastoon.reservation.booking.confimed.v1", "did you mean melmastoon.reservation.booking.confirmed.v1?");
    check("melmastoon.lock.credential.issue.v1", "did you mean melmastoon.lock.credential.issued.v1?");
    check("panorama.reservation.aproved", "did you mean panorama.reservation.approved?");
    check("course_draft.published", "did you mean authoring.course_draft.published.v1?");
    check("soup", "`karwan catalog list --all` names them all");
}

#[test]
fn an_unknown_name_of_any_length_and_content_is_answered_in_one_line() {
    let answer = karwan(&["catalog", "show", &"\u{1b}[31m\n".repeat(20_000)]).exits(65);
    assert_eq!(answer.stderr.lines().count(), 1);
    assert!(answer.stderr.len() < 3_000 && !answer.stderr.contains('\u{1b}'), "{:.300}", answer.stderr);
}
