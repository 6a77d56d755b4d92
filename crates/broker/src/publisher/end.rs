//! Where a stream ends, and what its last message says about the producer's log.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde::Deserialize;

use crate::api::{About, reason};
use crate::connection::Broker;
use crate::error::Error;
use crate::message::Watermark;

/// The end of a stream when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// When the stream was made, as the server prints it: another time is another stream under the same name.
    pub created: String,
    /// The first message that is there; one more than the last when there is none.
    pub first_seq: u64,
    /// The last message that was ever stored; 0 when there was none.
    pub last_seq: u64,
    /// When that was, as the server prints it; none when there was none.
    pub last_at: Option<String>,
    /// How far the producer's log lay behind the last message; none where it is gone or was not ours.
    pub position: Option<Watermark>,
    /// The last message is there, and says nothing of a log: no relay has published it.
    pub unmarked: bool,
}

impl Broker {
    /// Where a stream ends now.
    pub async fn stream_end(&self, stream: &str) -> Result<StreamEnd, Error> {
        read(self, stream).await
    }

    /// What the headers of one message say, for those who look at it; none where there is no such message.
    pub async fn headers_of(&self, stream: &str, seq: u64) -> Result<Option<BTreeMap<String, String>>, Error> {
        let text = headers(self, stream, seq).await?;
        Ok(text.map(|text| lines(&text).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

#[derive(Deserialize)]
struct Got {
    message: Stored,
}

#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    hdrs: String,
}

/// Asks the stream's leader, never a copy that may lag behind.
pub(super) async fn read(broker: &Broker, stream: &str) -> Result<StreamEnd, Error> {
    let info = broker.stream_info(stream).await?;
    let last = match info.state.messages {
        0 => None,
        _ => headers(broker, stream, info.state.last_seq).await?,
    };
    let position = last.as_deref().and_then(position_in);
    let unmarked = last.is_some() && position.is_none();
    let (first_seq, last_seq) = (info.state.first_seq.max(1), info.state.last_seq);
    let first_seq = if info.state.messages == 0 { last_seq + 1 } else { first_seq };
    let last_at = (last_seq > 0).then_some(info.state.last_ts);
    Ok(StreamEnd { created: info.created, first_seq, last_seq, last_at, position, unmarked })
}

/// The text of a message's headers; none where there is no such message.
async fn headers(broker: &Broker, stream: &str, seq: u64) -> Result<Option<String>, Error> {
    let about = About { stream, ..About::default() };
    let asked = broker.ask::<Got>(&format!("STREAM.MSG.GET.{stream}"), about, &serde_json::json!({ "seq": seq })).await;
    match asked {
        Ok(got) => {
            let headers = base64::engine::general_purpose::STANDARD.decode(&got.message.hdrs).unwrap_or_default();
            Ok(Some(String::from_utf8_lossy(&headers).into_owned()))
        }
        Err(Error::Answer { code: reason::MESSAGE_NOT_FOUND, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn lines(headers: &str) -> impl Iterator<Item = (&str, &str)> {
    headers.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()))
}

/// From the text of a message's headers.
fn position_in(headers: &str) -> Option<Watermark> {
    lines(headers).find(|(name, _)| *name == "Karwan-Position")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::position_in;
    use crate::message::Watermark;

    #[test]
    fn the_position_is_found_among_other_headers() {
        let headers = "NATS/1.0\r\neventId: e\r\nKarwan-Position: 2-77\r\nNats-Msg-Id: e\r\n\r\n";
        assert_eq!(position_in(headers), Some(Watermark { incarnation: 2, seq: 77 }));
        assert_eq!(position_in("NATS/1.0\r\neventId: e\r\n\r\n"), None);
    }
}
