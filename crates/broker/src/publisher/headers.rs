//! The headers of a message. A value that holds a line break cannot be one, and is the message's own fault.

use std::str::FromStr as _;

use async_nats::{HeaderMap, HeaderValue};

use crate::message::{Attributes, Message, header};

/// Which header cannot be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unwritable(pub(super) &'static str);

/// All headers but those that say where in the stream the message goes.
pub(super) fn of(message: &Message<'_>) -> Result<HeaderMap, Unwritable> {
    let mut headers = HeaderMap::new();
    attributes(&mut headers, &message.attributes)?;
    headers.insert(header::MESSAGE_ID, text(message.attributes.event_id, "eventId")?);
    headers.insert(header::POSITION, HeaderValue::from(message.position.to_string()));
    headers.insert(header::LOGGED, HeaderValue::from(message.logged_ms));
    Ok(headers)
}

/// The five attributes of R-079, and the key.
pub(super) fn attributes(headers: &mut HeaderMap, attributes: &Attributes<'_>) -> Result<(), Unwritable> {
    headers.insert(header::EVENT_ID, text(attributes.event_id, "eventId")?);
    headers.insert(header::EVENT_TYPE, text(attributes.event_type, "eventType")?);
    headers.insert(header::EVENT_VERSION, HeaderValue::from(attributes.event_version));
    headers.insert(header::TENANT_ID, text(attributes.tenant_id, "tenantId")?);
    headers.insert(header::IDEMPOTENCY_KEY, text(attributes.idempotency_key, "idempotencyKey")?);
    headers.insert(header::ORDERING_KEY, text(attributes.ordering_key, "orderingKey")?);
    Ok(())
}

pub(super) fn text(value: &str, name: &'static str) -> Result<HeaderValue, Unwritable> {
    HeaderValue::from_str(value).map_err(|_| Unwritable(name))
}

/// Room for the headers that say where in the stream a message goes.
const PLACE_BYTES: usize = 200;

/// How many bytes headers take on the wire, those that come later included.
pub(super) fn bytes(headers: &HeaderMap) -> usize {
    let line = |name: &str, value: &str| name.len() + value.len() + ": \r\n".len();
    let lines =
        headers.iter().flat_map(|(name, values)| values.iter().map(move |value| line(name.as_ref(), value.as_str())));
    lines.sum::<usize>() + PLACE_BYTES
}
