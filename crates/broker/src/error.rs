//! What a broker refuses, and what it cannot do. Every variant has a code with a page under `docs/errors/`.

use crate::address::BadAddress;
use crate::topology::{BadConsumer, Difference, few, overlap};
use crate::version::Version;

/// Why a broker did not do what was asked. `Display` omits the source; print the chain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an address.
    #[error("a broker's address is wrong")]
    Address(#[from] BadAddress),
    /// A login in a file that cannot be used. Waiting does not mend it.
    #[error("the login in {file} cannot be used: {reason}")]
    Credentials {
        /// The file.
        file: String,
        /// Why; nothing of what is in it.
        reason: String,
    },
    /// No connection.
    #[error("{broker} cannot be reached")]
    Unreachable {
        /// The broker.
        broker: String,
        /// What the client says.
        #[source]
        cause: ClientError,
    },
    /// The login is wrong, or may not do this.
    #[error("{broker}: this login may not do that: {what}")]
    Denied {
        /// The broker.
        broker: String,
        /// What was refused.
        what: String,
    },
    /// A server that is too old.
    #[error(
        "{broker} runs NATS {found}, and {} or newer is needed: older ones ignore `filter_subjects` and would hand a consumer the whole stream",
        Version::OLDEST
    )]
    OldServer {
        /// The broker.
        broker: String,
        /// Its version.
        found: String,
    },
    /// Durable mode on a server that cannot.
    #[error(
        "{broker} runs NATS {found}, and durable mode needs {} or newer: publish pipelined, or use a newer server",
        Version::DURABLE
    )]
    NotDurable {
        /// The broker.
        broker: String,
        /// Its version.
        found: Version,
    },
    /// A server without JetStream.
    #[error("{broker} has no JetStream for this account: switch it on in the server's configuration")]
    NoJetStream {
        /// The broker.
        broker: String,
    },
    /// Nobody answered. What was asked for may have happened or not.
    #[error("{broker} gave no answer to {what}")]
    NoAnswer {
        /// The broker.
        broker: String,
        /// What was asked.
        what: String,
    },
    /// No such stream.
    #[error("there is no stream {stream}: run `karwan topology apply`")]
    StreamGone {
        /// The stream.
        stream: String,
    },
    /// No such durable, or it was replaced under us.
    #[error("the durable {durable} of stream {stream} is not there any more, or is somebody else's now")]
    ConsumerGone {
        /// The stream.
        stream: String,
        /// The durable.
        durable: String,
    },
    /// Messages were dropped that a consumer never saw.
    #[error(
        "{durable} has seen {stream} up to {after}, and the stream begins at {first}: what lay between was dropped unseen"
    )]
    Gap {
        /// The stream.
        stream: String,
        /// The durable.
        durable: String,
        /// The last message that was seen.
        after: u64,
        /// The first that is there.
        first: u64,
    },
    /// A stream has no such place: its messages are gone, or have not come yet.
    #[error("stream {stream} has no place {asked}: it holds messages {first} to {last}")]
    NoPlace {
        /// The stream.
        stream: String,
        /// The place.
        asked: String,
        /// The first message that it has.
        first: u64,
        /// The last one that was ever stored.
        last: u64,
    },
    /// The stream is shorter than it was.
    #[error(
        "{durable} has seen {stream} up to {after}, and the stream ends at {last}: it was deleted, purged or replaced"
    )]
    Behind {
        /// The stream.
        stream: String,
        /// The durable.
        durable: String,
        /// The last message that was seen.
        after: u64,
        /// Where the stream ends.
        last: u64,
    },
    /// Deliveries are missing: they were lost with a connection, or somebody else pulled them.
    #[error("{durable} of {stream} got delivery {got} where {wanted} was next: open it again")]
    Interrupted {
        /// The stream.
        stream: String,
        /// The durable.
        durable: String,
        /// Which delivery came.
        got: u64,
        /// Which should have come.
        wanted: u64,
    },
    /// The stream is not where the publisher thought: somebody else wrote, or an answer was lost. Open again and go on.
    #[error("stream {stream} is not at sequence {expected} any more: read its end and go on from there")]
    OutOfStep {
        /// The stream.
        stream: String,
        /// The sequence that was expected to be the last.
        expected: u64,
    },
    /// The broker refuses this very message, and would again.
    #[error("{stream} refused message {tag}: {description} ({code})")]
    Refused {
        /// The stream.
        stream: String,
        /// The caller's name for the message.
        tag: u64,
        /// JetStream's number of the reason; 0 where the client refused.
        code: u64,
        /// The reason.
        description: String,
    },
    /// The broker refuses a message of this batch: send its messages one by one to learn which.
    #[error("{stream} refused a batch, messages {first} to {last}: {description} ({code})")]
    BatchRefused {
        /// The stream.
        stream: String,
        /// The caller's name for the first message.
        first: u64,
        /// And for the last.
        last: u64,
        /// JetStream's number of the reason.
        code: u64,
        /// The reason.
        description: String,
    },
    /// No room for any message.
    #[error("{stream} takes nothing more: {description} ({code})")]
    Full {
        /// The stream.
        stream: String,
        /// JetStream's number of the reason.
        code: u64,
        /// The reason.
        description: String,
    },
    /// The topology of the broker cannot become what the catalogue asks for.
    #[error("{}, which cannot be changed in place", .difference)]
    Topology {
        /// What differs.
        difference: Box<Difference>,
    },
    /// Somebody else's stream has subjects of this one: JetStream gives a subject to one stream alone.
    #[error("{stream} cannot get its subjects: {}", overlap::told(.subjects, .holders))]
    Overlap {
        /// The stream that is to have them.
        stream: String,
        /// Those that others have; all of them, where nobody may say which.
        subjects: Vec<String>,
        /// Who has them, as far as this login may know.
        holders: Vec<String>,
    },
    /// A stream of the right name is another platform's.
    #[error("{stream} is not of {platform}: it takes {} of another platform", few(.subjects))]
    OtherPlatform {
        /// The stream.
        stream: String,
        /// The platform that wants it.
        platform: &'static str,
        /// What it takes of another.
        subjects: Vec<String>,
    },
    /// A consumer that does not fit the streams.
    #[error("a consumer of a stream is wrong")]
    Consumer(#[from] BadConsumer),
    /// Whatever else JetStream says.
    #[error("{broker} refused {what}: {description} ({code})")]
    Answer {
        /// The broker.
        broker: String,
        /// What was asked.
        what: String,
        /// JetStream's number of the reason.
        code: u64,
        /// The reason.
        description: String,
    },
}

/// What the client library says.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// While connecting.
    #[error("connecting")]
    Connect(#[from] async_nats::ConnectError),
    /// Anything said in words.
    #[error("{0}")]
    Words(String),
}

impl Error {
    /// Whether the broker cannot be reached or takes nothing for now: the same may succeed another time, and no message is
    /// to blame.
    pub const fn is_away(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::NoJetStream { .. }
            | Self::StreamGone { .. }
            | Self::Full { .. } => true,
            Self::Address(_)
            | Self::Credentials { .. }
            | Self::Denied { .. }
            | Self::OldServer { .. }
            | Self::NotDurable { .. }
            | Self::ConsumerGone { .. }
            | Self::Gap { .. }
            | Self::Behind { .. }
            | Self::NoPlace { .. }
            | Self::Interrupted { .. }
            | Self::OutOfStep { .. }
            | Self::Refused { .. }
            | Self::BatchRefused { .. }
            | Self::Topology { .. }
            | Self::Overlap { .. }
            | Self::OtherPlatform { .. }
            | Self::Consumer(_)
            | Self::Answer { .. } => false,
        }
    }

    /// The stable code; each has a page.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "broker-address",
            Self::Credentials { .. } => "broker-credentials",
            Self::Unreachable { .. } => "broker-unreachable",
            Self::Denied { .. } => "broker-denied",
            Self::OldServer { .. } => "broker-old-server",
            Self::NotDurable { .. } => "broker-not-durable",
            Self::NoJetStream { .. } => "broker-no-jetstream",
            Self::NoAnswer { .. } => "broker-no-answer",
            Self::StreamGone { .. } => "broker-stream-gone",
            Self::ConsumerGone { .. } => "broker-consumer-gone",
            Self::Gap { .. } => "broker-gap",
            Self::Behind { .. } => "broker-behind",
            Self::NoPlace { .. } => "broker-no-place",
            Self::Interrupted { .. } => "broker-interrupted",
            Self::OutOfStep { .. } => "broker-out-of-step",
            Self::Refused { .. } => "broker-refused",
            Self::BatchRefused { .. } => "broker-batch-refused",
            Self::Full { .. } => "broker-full",
            Self::Topology { .. } => "broker-topology",
            Self::Overlap { .. } => "broker-overlap",
            Self::OtherPlatform { .. } => "broker-other-platform",
            Self::Consumer(_) => "broker-consumer",
            Self::Answer { .. } => "broker-answer",
        }
    }
}
