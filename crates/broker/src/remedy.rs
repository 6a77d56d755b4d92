//! What helps against an error of the broker.

use crate::error::Error;

impl Error {
    /// What to do about it; none where the message says it.
    pub const fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Address(_) => {
                Some("write it as nats://user:password@host:4222, or tls://… where the server wants it")
            }
            Self::Credentials { .. } => {
                Some("name a file that `nsc generate creds` or `nk -gen user` wrote, readable for this user")
            }
            Self::Unreachable { .. } => {
                Some("check host and port of the address, and that the server runs; events stay in the log meanwhile")
            }
            Self::Denied { .. } => Some(
                "check user and password; `karwan topology emit-nats` prints what each service may do, for the server",
            ),
            Self::OldServer { .. } => Some("run a newer nats-server, and start this again"),
            Self::NoAnswer { .. } => Some(
                "ask again; where that goes on, the server's log says why: it may be without a leader, or overloaded",
            ),
            Self::ConsumerGone { .. } => Some("`karwan topology apply` makes it; run one program by that name alone"),
            Self::Gap { .. } => {
                Some("send the consumer where the stream begins, or replay what it lacks: docs/errors/broker-gap.md")
            }
            Self::NoPlace { .. } => Some("name a place that it has; `karwan replay` reads older events out of the log"),
            Self::Behind { .. } => Some("send the consumer to the beginning of the stream with `karwan consumer seek`"),
            Self::Refused { .. } | Self::BatchRefused { .. } => {
                Some("mend what the broker names; `karwan dlq list --consumer relay.STREAM` has what was given up")
            }
            Self::Full { .. } => Some(
                "give it room, or let messages live shorter; the log holds the rest, and the relay goes on by itself",
            ),
            Self::Topology { .. } => Some(
                "save its messages if they are needed, delete it (`nats stream rm`, or `nats consumer rm` for a durable) and start this again: it is made as it should be, and its relay publishes what the log still has",
            ),
            Self::Overlap { .. } => Some(
                "take the subjects out of that stream (`nats stream edit`), or delete it (`nats stream rm`) where its messages are not needed, and start this again",
            ),
            Self::OtherPlatform { .. } => Some(
                "give each platform an account of that server, or a broker, of its own; streams of two platforms have the same names",
            ),
            Self::Consumer(_) => {
                Some("mend the topics that it follows; `karwan topology show` says which stream has which")
            }
            Self::Answer { .. } => {
                Some("look up the number in the documentation of nats-server; its log often says more")
            }
            // Their messages say it.
            Self::NotDurable { .. }
            | Self::NoJetStream { .. }
            | Self::StreamGone { .. }
            | Self::Interrupted { .. }
            | Self::OutOfStep { .. } => None,
        }
    }
}
