//! The tables under `src/inputs/` against the emitted schemas: what a step reads, an event carries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::Value;

const HEADER: [&str; 5] = ["consumer", "step", "needs", "subject", "field"];

/// More hops than any chain of references between our types has; a recursive type ends here instead of never.
const REF_HOPS_MAX: usize = 32;

/// One input of one step.
#[derive(Debug)]
struct Input {
    place: String,
    consumer: String,
    step: String,
    subject: String,
    field: String,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} — {}", self.place, self.consumer, self.step)
    }
}

/// The rows of every table in a page, or the lines that are no row of one.
fn parse(page: &str, text: &str) -> Result<Vec<Input>, Vec<String>> {
    let (mut inputs, mut bad) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with('|')) {
        let place = format!("{page}:{}", index + 1);
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let rule = cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|char| matches!(char, '-' | ':')));
        if cells == HEADER || rule {
            continue;
        }
        let &[consumer, step, needs, subject, field] = cells.as_slice() else {
            bad.push(format!("{place}: {} cells where a row has {}", cells.len(), HEADER.len()));
            continue;
        };
        if [consumer, step, needs, subject, field].iter().any(|cell| cell.is_empty()) {
            bad.push(format!("{place}: an empty cell"));
        } else if !seen.insert((consumer, step, needs, subject, field)) {
            bad.push(format!("{place}: the same row twice"));
        } else {
            let own = |cell: &str| cell.trim_matches('`').to_owned();
            let (consumer, step) = (consumer.to_owned(), step.to_owned());
            inputs.push(Input { place, consumer, step, subject: own(subject), field: own(field) });
        }
    }
    if bad.is_empty() { Ok(inputs) } else { Err(bad) }
}

/// Whether the payload that this schema describes can have a value at this pointer.
fn resolve(root: &Value, pointer: &str) -> Result<(), String> {
    let Some(path) = pointer.strip_prefix('/') else {
        return Err(format!("`{pointer}` is not a JSON pointer: it begins with `/`"));
    };
    let mut schemas = alternatives(root, root, REF_HOPS_MAX);
    let mut walked = String::new();
    for segment in path.split('/') {
        let name = segment.replace("~1", "/").replace("~0", "~");
        schemas = schemas
            .iter()
            .filter_map(|schema| child(schema, &name))
            .flat_map(|schema| alternatives(root, schema, REF_HOPS_MAX))
            .collect();
        if schemas.is_empty() {
            let parent = if walked.is_empty() { "the payload" } else { &walked };
            return Err(format!("{parent} has no `{name}`"));
        }
        walked = format!("{walked}/{segment}");
    }
    Ok(())
}

/// The member or element schema of this name, if there is one.
fn child<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    if let Some(member) = schema.get("properties").and_then(|properties| properties.get(name)) {
        return Some(member);
    }
    let index = name.parse::<usize>().ok();
    if let Some(items) = schema.get("items").filter(|items| items.is_object())
        && (name == "*" || index.is_some())
    {
        return Some(items);
    }
    let places = schema.get("prefixItems").and_then(Value::as_array);
    if let (Some(places), Some(index)) = (places, index) {
        return places.get(index);
    }
    schema.get("additionalProperties").filter(|values| values.is_object())
}

/// The schema itself and all that it refers to or chooses between.
fn alternatives<'s>(root: &'s Value, schema: &'s Value, hops_left: usize) -> Vec<&'s Value> {
    let mut found = vec![schema];
    let Some(hops_left) = hops_left.checked_sub(1) else { return found };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        found.extend(target.into_iter().flat_map(|target| alternatives(root, target, hops_left)));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let branches = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        found.extend(branches.flat_map(|branch| alternatives(root, branch, hops_left)));
    }
    found
}

/// Subject → emitted schema, of every event of the platform.
fn schemas() -> BTreeMap<String, Value> {
    melmastoon::events().iter().map(|event| ((event.row)().subject, (event.schema)())).collect()
}

/// Everything that is wrong in the rows, a line each.
fn findings(inputs: &[Input], schemas: &BTreeMap<String, Value>) -> Vec<String> {
    let judge = |input: &Input| match schemas.get(&input.subject) {
        None => Some(format!("{input}: no event `{}`", input.subject)),
        Some(schema) => resolve(schema, &input.field)
            .err()
            .map(|why| format!("{input}: `{}` of {}: {why}", input.field, input.subject)),
    };
    inputs.iter().filter_map(judge).collect()
}

/// Every page of tables, by name.
fn pages() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/inputs");
    fs::read_dir(&folder)
        .expect("the tables have a folder")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| {
            let name = path.file_name().expect("a listed file has a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a table is text"))
        })
        .collect()
}

fn all_inputs() -> Vec<Input> {
    let (mut inputs, mut bad) = (Vec::new(), Vec::new());
    for (page, text) in pages() {
        match parse(&page, &text) {
            Ok(rows) => inputs.extend(rows),
            Err(lines) => bad.extend(lines),
        }
    }
    assert!(bad.is_empty(), "not rows of a table:\n{}", bad.join("\n"));
    inputs
}

/// Judges one page as the real ones are judged.
fn check(text: &str, expected: Expect) {
    let found = parse("page.md", text).map_or_else(|bad| bad, |inputs| findings(&inputs, &schemas()));
    expected.assert_eq(&found.join("\n"));
}

#[test]
fn every_input_of_a_step_is_a_field_of_its_event() {
    let inputs = all_inputs();
    assert!(inputs.len() > 500, "only {} rows were read", inputs.len());
    let found = findings(&inputs, &schemas());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_event_of_the_booking_side_feeds_a_step() {
    const SERVICES: [&str; 9] =
        ["iam", "tenant", "property", "theme", "reservation", "inventory", "pricing", "billing", "payment"];
    let read: BTreeSet<String> = all_inputs().into_iter().map(|input| input.subject).collect();
    let unread: Vec<String> = schemas()
        .into_keys()
        .filter(|subject| subject.split('.').nth(1).is_some_and(|service| SERVICES.contains(&service)))
        .filter(|subject| !read.contains(subject))
        .collect();
    assert!(unread.is_empty(), "events that no step reads: {unread:?}");
}

/// R-172…R-194, R-365…R-371: consumer and beginning of the step.
#[test]
fn every_saga_step_of_the_documents_has_its_inputs_written_down() {
    const STEPS: [(&str, &str); 30] = [
        ("inventory-service", "booking: commit"),
        ("pricing-service", "booking: record"),
        ("payment-gateway-service", "booking: create and capture the intent (hold)"),
        ("payment-gateway-service", "booking: create and capture the intent (allocation)"),
        ("reservation-service", "booking: confirm"),
        ("reservation-service", "booking: cancel on a failed payment"),
        ("reservation-service", "booking: cancel when the guard refuses"),
        ("billing-service", "booking:"),
        ("lock-integration-service", "booking: issue"),
        ("notification-service", "booking:"),
        ("analytics-service", "booking:"),
        ("search-aggregation-service", "booking:"),
        ("inventory-service", "cancellation:"),
        ("payment-gateway-service", "cancellation:"),
        ("lock-integration-service", "cancellation:"),
        ("billing-service", "cancellation:"),
        ("notification-service", "cancellation:"),
        ("billing-service", "check-in:"),
        ("lock-integration-service", "check-in:"),
        ("notification-service", "check-in:"),
        ("payment-gateway-service", "check-out:"),
        ("lock-integration-service", "check-out:"),
        ("housekeeping-service", "check-out:"),
        ("inventory-service", "date change:"),
        ("pricing-service", "date change:"),
        ("lock-integration-service", "date change:"),
        ("lock-integration-service", "no-show:"),
        ("lock-integration-service", "fraud:"),
        ("lock-integration-service", "user deactivated:"),
        ("lock-integration-service", "property deactivated:"),
    ];
    let inputs = all_inputs();
    let missing: Vec<_> = STEPS
        .iter()
        .filter(|(consumer, step)| {
            !inputs.iter().any(|input| input.consumer == *consumer && input.step.starts_with(step))
        })
        .collect();
    assert!(missing.is_empty(), "steps without inputs: {missing:?}");
}

#[test]
fn a_row_that_names_no_field_or_no_event_is_found() {
    check(
        "\
| consumer | step | needs | subject | field |
|---|---|---|---|---|
| a | right | nested | melmastoon.reservation.booking.confirmed.v1 | /stay/checkInAt |
| a | right | in a list | melmastoon.reservation.booking.confirmed.v1 | /rooms/*/roomId |
| a | right | optional and nested | melmastoon.billing.folio.charge_posted.v1 | `/collect/amount/amountMicro` |
| a | wrong | misspelt | melmastoon.reservation.booking.confirmed.v1 | /stay/checkinAt |
| a | wrong | not in the payload | melmastoon.reservation.booking.confirmed.v1 | /vendorRef |
| a | wrong | past a leaf | melmastoon.reservation.booking.confirmed.v1 | /reservationId/bits |
| a | wrong | a list without an element | melmastoon.reservation.booking.confirmed.v1 | /rooms/roomId |
| a | wrong | an element of no list | melmastoon.reservation.booking.confirmed.v1 | /stay/0 |
| a | wrong | no pointer | melmastoon.reservation.booking.confirmed.v1 | stay |
| a | wrong | an alias | melmastoon.tenant.config_updated.v1 | /settings |
",
        expect![[r#"
            page.md:6: a — wrong: `/stay/checkinAt` of melmastoon.reservation.booking.confirmed.v1: /stay has no `checkinAt`
            page.md:7: a — wrong: `/vendorRef` of melmastoon.reservation.booking.confirmed.v1: the payload has no `vendorRef`
            page.md:8: a — wrong: `/reservationId/bits` of melmastoon.reservation.booking.confirmed.v1: /reservationId has no `bits`
            page.md:9: a — wrong: `/rooms/roomId` of melmastoon.reservation.booking.confirmed.v1: /rooms has no `roomId`
            page.md:10: a — wrong: `/stay/0` of melmastoon.reservation.booking.confirmed.v1: /stay has no `0`
            page.md:11: a — wrong: `stay` of melmastoon.reservation.booking.confirmed.v1: `stay` is not a JSON pointer: it begins with `/`
            page.md:12: a — wrong: no event `melmastoon.tenant.config_updated.v1`"#]],
    );
}

#[test]
fn a_line_that_is_no_row_is_found() {
    check(
        "\
| consumer | step | needs | subject | field |
|---|---|---|---|---|
| a | four cells | melmastoon.reservation.booking.confirmed.v1 | /stay |
| a | b |  | melmastoon.reservation.booking.confirmed.v1 | /stay |
| a | b | c | melmastoon.reservation.booking.confirmed.v1 | /stay |
| a | b | c | melmastoon.reservation.booking.confirmed.v1 | /stay |
",
        expect![[r#"
            page.md:3: 4 cells where a row has 5
            page.md:4: an empty cell
            page.md:6: the same row twice"#]],
    );
}
