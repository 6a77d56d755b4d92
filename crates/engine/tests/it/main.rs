//! Consumers at work, on every store.

#[macro_use]
mod fixture;
mod ahead;
mod alerts;
mod broken_off;
mod consumers;
mod crashes;
mod deadlines;
mod deliveries;
mod effects;
mod failures;
mod fed;
mod forgotten;
mod hand;
mod health;
mod idle;
mod interleaved;
mod letters;
mod line;
mod lives;
mod logins;
mod lossy;
mod neighbours;
mod nobody_listens;
mod observed;
mod own_tables;
mod parking;
mod poison;
mod processes;
mod relay;
mod releases;
mod restored;
mod retained;
mod retried;
mod seek;
mod settled;
mod sharing;
#[path = "../../../store/tests/it/shop.rs"]
mod shop;
mod snapshots;
mod suspended;
mod tasks;
mod two_relays;
mod vendor;
mod waiting;
#[expect(clippy::unwrap_used, reason = "a test stops at once, also in what it calls")]
#[path = "../../../store/tests/it/postgres/writers.rs"]
mod writers;
