//! Every refusal has a code of the documents' catalogue and a page.

use std::path::Path;

use melmastoon::refusal::Refusal;
use melmastoon::values::BookingStatus;

#[test]
fn every_refusal_has_a_page_of_its_code() {
    let id = || "rsv_1".to_owned();
    let all = [
        Refusal::not_found("reservation", id()),
        Refusal::invalid("rooms", "none"),
        Refusal::HoldExpired { id: id() },
        Refusal::Overbooked { id: id() },
        Refusal::Declined { id: id() },
        Refusal::WrongState { id: id(), status: BookingStatus::Cancelled },
        Refusal::SalesStopped,
        Refusal::Store(karwan::Error::Repeated),
    ];
    let errors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let index = std::fs::read_to_string(errors.join("README.md")).expect("the list of errors");
    for refusal in all {
        let page = format!("{}.md", refusal.code());
        let text = std::fs::read_to_string(errors.join(&page)).unwrap_or_else(|_| panic!("{page} is missing"));
        assert!(text.starts_with(&format!("# {}\n", refusal.code())), "{page}");
        assert!(index.contains(&format!("({page})")), "{page} is not on the list");
    }
}
