//! Publishing with the client alone, without any rule of ours: the base of measurements.

use async_nats::{HeaderMap, Subject};
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::connection::Broker;
use crate::error::Error;
use crate::message::header;

/// Messages under way.
pub const OUTSTANDING: usize = 1_024;

/// Publishes as many messages of these bytes as there are ids, each with its id, and returns when all are answered.
pub async fn publish(
    broker: &Broker,
    subject: &str,
    payload: Bytes,
    ids: impl Iterator<Item = String>,
) -> Result<(), Error> {
    let client = broker.client();
    let (subject, inbox) = (Subject::from(subject), client.new_inbox());
    let lost = || broker.no_answer("a message");
    let mut answers = client.subscribe(format!("{inbox}.*")).await.map_err(|_| lost())?;
    let mut under_way = 0;
    for (number, id) in ids.enumerate() {
        if under_way == OUTSTANDING {
            answers.next().await.ok_or_else(lost)?;
            under_way -= 1;
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::MESSAGE_ID, id.as_str());
        // As many as an event has.
        let names =
            [header::EVENT_ID, header::EVENT_TYPE, header::TENANT_ID, header::IDEMPOTENCY_KEY, header::ORDERING_KEY];
        names.into_iter().for_each(|name| headers.insert(name, id.as_str()));
        let reply = Subject::from(format!("{inbox}.{number}"));
        let sent = client.publish_with_reply_and_headers(subject.clone(), reply, headers, payload.clone()).await;
        sent.map_err(|_| lost())?;
        under_way += 1;
    }
    for _ in 0..under_way {
        answers.next().await.ok_or_else(lost)?;
    }
    Ok(())
}
