use melmastoon::platform::PLATFORM;
use melmastoon::workers::{LANES_MAX, TABLE, WORKERS};

#[test]
fn lanes_and_batches_follow_the_table_of_the_documents() {
    // 000 §11.3: service, min, max, at once; or workers and messages of those that pull.
    let table: Vec<(&str, u16, usize)> = TABLE.iter().map(|of| (of.service, of.lanes(), of.messages)).collect();
    assert_eq!(
        table,
        [
            ("inventory-service", 10 * 4, 32),
            ("billing-service", 20 * 8, 32),
            ("lock-integration-service", 10 * 2, 32),
            ("notification-service", 50 * 20, 32),
            ("analytics-service", 4, 16),
            ("search-aggregation-service", 2, 8),
            ("audit-service", 8, 32),
        ]
    );
    // Which is the upper bound: a consumer has no more lanes than fill batches.
    for (of, said) in WORKERS.iter().zip(TABLE) {
        assert_eq!((of.service, of.messages, of.guard), (said.service, said.messages, said.guard));
        assert_eq!(of.lanes(), said.lanes().min(LANES_MAX), "{}", of.service);
    }
    assert_eq!(PLATFORM.workers, WORKERS, "whoever runs the platform has the table");
    assert_eq!(PLATFORM.workers_of("billing-service").map(|workers| workers.lanes()), Some(8));
    assert_eq!(PLATFORM.workers_of("theme-service"), None, "the documents do not name it");
}

#[test]
fn every_service_of_the_table_is_one_of_the_platform_and_has_few_lanes() {
    let owners: Vec<String> = melmastoon::events().iter().map(|event| (event.row)().owner).collect();
    for of in WORKERS {
        assert!(owners.iter().any(|owner| owner == of.service), "{}", of.service);
        assert!((1..=LANES_MAX).contains(&of.lanes()), "{}", of.service);
    }
}
