//! Waiting for a broker that is not there yet: a program that is started before it, or while it is away, must not end.

use std::io;
use std::time::Duration;

use karwan_broker::Error;

use crate::output;

/// How long it is left alone, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Asks until the broker answers, and says what it waits for whenever that changes. What waiting does not mend ends it.
pub async fn until_there<T>(mut ask: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Error> {
    let (mut wait, mut said) = (PAUSES.0, None);
    loop {
        let error = match ask().await {
            Err(error) if is_worth_waiting(&error) => told(&error),
            outcome => return outcome,
        };
        if said.as_ref() != Some(&error) {
            output::note(&format!(
                "{error}; it is asked again until it answers, and the log holds everything; Ctrl-C stops"
            ));
            said = Some(error);
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(PAUSES.1);
    }
}

/// Whether the same may succeed later, without anybody doing something about it here.
pub fn is_worth_waiting(error: &Error) -> bool {
    error.is_away() && !is_of_a_file(error)
}

/// What is wrong, and what lies behind it.
pub fn told(error: &Error) -> String {
    causes(error).fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

/// Whether a file cannot be read, such as an authority's: it does not come by itself.
fn is_of_a_file(error: &Error) -> bool {
    causes(error).any(|cause| {
        let found = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(found, Some(io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied))
    })
}

/// What lies behind an error, the nearest first.
fn causes(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

#[cfg(test)]
mod tests {
    use karwan_broker::Error;
    use karwan_broker::error::ClientError;

    use super::is_worth_waiting;

    #[test]
    fn a_broker_that_is_away_is_waited_for_and_a_mistake_is_not() {
        let unreachable = |cause| Error::Unreachable { broker: "nats://b".to_owned(), cause };
        assert!(is_worth_waiting(&unreachable(ClientError::Words("refused".to_owned()))));
        let bad = Error::Credentials { file: "relay.creds".to_owned(), reason: "it is empty".to_owned() };
        assert!(!is_worth_waiting(&bad));
        assert!(!is_worth_waiting(&Error::Denied { broker: "nats://b".to_owned(), what: "connecting".to_owned() }));
    }
}
