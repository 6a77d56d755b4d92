//! How much more a stream takes, as far as JetStream tells those who look: limits of the stream and of the account. What bounds
//! the server itself, its disk and the store of all accounts, is told to whoever publishes alone.

use std::fmt;

use serde_json::{Value, json};

use crate::api::{About, StreamInfo};
use crate::connection::Broker;
use crate::error::Error;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Messages.
    Messages,
    /// Bytes.
    Bytes,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Messages => "messages",
            Self::Bytes => "bytes",
        })
    }
}

/// A limit, and how far it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whose it is, and its name there.
    pub of: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How much there is.
    pub used: u64,
    /// How much there may be.
    pub max: u64,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, unit, used, max } = self;
        write!(f, "{used} of {max} {unit} are used ({of})")
    }
}

/// What bounds a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The limits that there are.
    pub limits: Vec<Limit>,
    /// Whether this login may know the account's.
    pub knows_account: bool,
    /// What a message takes, on average; 0 where there is none.
    pub message_bytes: u64,
}

impl Room {
    /// A limit that leaves no room for another message.
    pub fn full(&self) -> Option<&Limit> {
        self.limits.iter().find(|limit| {
            let next = match limit.unit {
                Unit::Messages => 1,
                Unit::Bytes => self.message_bytes.max(1),
            };
            limit.used.saturating_add(next) > limit.max
        })
    }
}

impl Broker {
    /// What bounds a stream.
    pub async fn room(&self, stream: &str) -> Result<Room, Error> {
        let info = self.stream_info(stream).await?;
        let account = match self.ask::<Value>("INFO", About::default(), &json!({})).await {
            Ok(account) => Some(account),
            Err(Error::Denied { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(room(&info, account.as_ref()))
    }
}

fn room(info: &StreamInfo, account: Option<&Value>) -> Room {
    let (config, state) = (&info.config, &info.state);
    let bound = |limit: &Value| limit.as_u64().filter(|max| *max > 0);
    let mut limits = Vec::new();
    // Where old messages make room for new ones, no limit of the stream keeps anything out.
    if config["discard"] == "new" {
        let own = [("max_msgs", Unit::Messages, state.messages), ("max_bytes", Unit::Bytes, state.bytes)];
        let found = own.map(|(of, unit, used)| bound(&config[of]).map(|max| Limit { of, unit, used, max }));
        limits.extend(found.into_iter().flatten());
    }
    if let Some(account) = account {
        // Accounts in tiers have one a number of copies.
        let tier = &account["tiers"][format!("R{}", config["num_replicas"].as_u64().unwrap_or(1))];
        let tier = if tier.is_object() { tier } else { account };
        let (of, used, max) = match config["storage"] == "memory" {
            true => ("max_memory of the account", &tier["memory"], &tier["limits"]["max_memory"]),
            false => ("max_storage of the account", &tier["storage"], &tier["limits"]["max_storage"]),
        };
        let used = used.as_u64().unwrap_or_default();
        limits.extend(bound(max).map(|max| Limit { of, unit: Unit::Bytes, used, max }));
    }
    let message_bytes = state.bytes.checked_div(state.messages).unwrap_or_default();
    Room { limits, knows_account: account.is_some(), message_bytes }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::room;
    use crate::api::{StreamInfo, StreamState};

    #[track_caller]
    fn check(config: Value, account: &Value, full: Option<&str>) {
        let state = StreamState {
            messages: 10,
            bytes: 1_000,
            first_seq: 1,
            last_seq: 10,
            first_ts: String::new(),
            last_ts: String::new(),
        };
        let room = room(&StreamInfo { config, created: String::new(), state }, Some(account));
        assert_eq!(room.full().map(ToString::to_string).as_deref(), full);
    }

    #[test]
    fn a_stream_is_full_where_another_message_would_pass_a_limit_of_its_own_or_of_the_account() {
        let free = json!({ "storage": 1_000, "limits": { "max_storage": -1 } });
        check(json!({ "discard": "new", "max_msgs": 11 }), &free, None);
        check(json!({ "discard": "new", "max_msgs": 10 }), &free, Some("10 of 10 messages are used (max_msgs)"));
        check(json!({ "discard": "old", "max_msgs": 10 }), &free, None);
        check(json!({ "discard": "new", "max_bytes": 1_100 }), &free, None);
        check(json!({ "discard": "new", "max_bytes": 1_099 }), &free, Some("1000 of 1099 bytes are used (max_bytes)"));
        let told = Some("5000 of 5050 bytes are used (max_storage of the account)");
        check(json!({}), &json!({ "storage": 5_000, "limits": { "max_storage": 5_050 } }), told);
        let tiers =
            json!({ "storage": 9, "tiers": { "R3": { "storage": 5_000, "limits": { "max_storage": 5_050 } } } });
        check(json!({ "num_replicas": 3 }), &tiers, told);
    }
}
