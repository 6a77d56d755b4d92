//! Consumers that a stream feeds: their positions are its numbers, so its broker knows by how much they are behind.

use karwan_broker::{Broker, Options};
use karwan_store::Observer;
use karwan_store::report::ConsumerReport;

use crate::exit::Failure;
use crate::output;

/// By how much a consumer is behind whose broker does not say.
pub const UNKNOWN: i64 = -1;

/// Corrects the reports of consumers that a stream feeds. A broker that is away is said, and no failure: who looks at
/// consumers may do so because of it.
pub async fn correct(store: &Observer, reports: &mut [ConsumerReport], url: Option<&str>) -> Result<(), Failure> {
    let declared = store.declared().await?;
    let stream_of = |name: &str| declared.iter().find(|it| it.consumer == name)?.stream.clone();
    let mut broker = None;
    for report in reports {
        let Some(stream) = stream_of(&report.consumer) else { continue };
        if let (None, Some(url)) = (&broker, url) {
            broker =
                Some(Broker::connect(url, Options { name: "karwan consumer".to_owned(), ..Options::default() }).await);
        }
        let end = match &broker {
            Some(Ok(broker)) => broker.last_sequence(&stream).await,
            Some(Err(error)) => {
                output::note(&format!("how far {} is behind is not known: {error}", report.consumer));
                (report.behind, report.behind_ms) = (UNKNOWN, 0);
                continue;
            }
            None => {
                output::note(&format!(
                    "{} is fed by {stream}: --broker URL says how far it is behind",
                    report.consumer
                ));
                (report.behind, report.behind_ms) = (UNKNOWN, 0);
                continue;
            }
        };
        report.behind = end.map_or(UNKNOWN, |end| (end.cast_signed() - report.position()).max(0));
        report.behind_ms = 0;
    }
    Ok(())
}
