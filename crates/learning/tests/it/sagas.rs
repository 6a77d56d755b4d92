//! The table of saga inputs in the crate's documentation.

#[test]
fn every_field_that_a_saga_needs_is_in_its_event() {
    let mut rows = 0;
    for line in include_str!("../../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let mut quoted = line.split('`').skip(1).step_by(2);
        let Some(subject) = quoted.next() else { continue };
        let event = learning::events().into_iter().find(|event| (event.row)().subject == subject);
        let schema = (event.unwrap_or_else(|| panic!("no event {subject}")).schema)();
        for field in quoted {
            assert!(schema["properties"].get(field).is_some(), "{subject} has no `{field}`");
        }
        rows += 1;
    }
    assert_eq!(rows, 21);
}
