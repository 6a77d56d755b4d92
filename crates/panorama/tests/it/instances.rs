//! Every event's schema and struct agree, and every event can be enveloped, printed, read and validated.

use karwan_testkit::contract;

/// every published subject is validated when it is produced and when it is consumed.
#[test]
fn what_a_schema_admits_its_struct_reads_prints_and_the_catalogue_accepts() {
    contract::check(&panorama::platform::PLATFORM);
}
