//! Dead letters into the stream that is there for them. Their order means nothing, so nothing is expected of the stream's
//! end; an id derived from the consumer, the event and when it was given up keeps a repeated one out.

use async_nats::client::PublishErrorKind;
use async_nats::{HeaderMap, StatusCode, Subject};
use bytes::Bytes;
use futures_util::StreamExt as _;

use super::WINDOW;
use super::answers::{Answer, Sent, judge};
use super::headers::{attributes, text};
use crate::connection::Broker;
use crate::error::Error;
use crate::message::{Attributes, header};

/// An event that a consumer gave up.
#[derive(Debug, Clone)]
pub struct Letter<'a> {
    /// The caller's name for it, in errors.
    pub tag: u64,
    /// The stream that is there for it.
    pub stream: &'a str,
    /// `<topic>.dlq`.
    pub subject: &'a str,
    /// What it is deduplicated by.
    pub id: &'a str,
    /// As they were on the event.
    pub attributes: Attributes<'a>,
    /// What is known of its failure: consumer, attempts, reason.
    pub about: &'a [(&'static str, &'a str)],
    /// The stored envelope, byte for byte.
    pub payload: Bytes,
}

/// Publishes letters, at most [`WINDOW`] under way, and answers for each of them whether it is stored. One that is refused,
/// denied or not answered holds back no other.
pub async fn publish_letters(broker: &Broker, letters: &[Letter<'_>]) -> Vec<Result<(), Error>> {
    let mut outcomes = Vec::with_capacity(letters.len());
    for some in letters.chunks(WINDOW) {
        let mut told: Vec<Option<Result<(), Error>>> = some.iter().map(|_| None).collect();
        publish_some(broker, some, &mut told).await;
        outcomes.extend(told.into_iter().map(|one| one.unwrap_or_else(|| Err(broker.no_answer("a dead letter")))));
    }
    outcomes
}

/// Fills in what is told of each; what is left open was not answered.
async fn publish_some(broker: &Broker, letters: &[Letter<'_>], told: &mut [Option<Result<(), Error>>]) {
    let mut link = broker.link();
    let broken = link.borrow_and_update().broken;
    let inbox = broker.client().new_inbox();
    let Ok(mut answers) = broker.client().subscribe(format!("{inbox}.*")).await else { return };
    for (index, letter) in letters.iter().enumerate() {
        told[index] = hand_over(broker, letter, Subject::from(format!("{inbox}.{index}"))).await.err().map(Err);
    }
    while told.iter().any(Option::is_none) {
        tokio::select! {
            biased;
            answer = answers.next() => {
                let Some(message) = answer else { return };
                let index = message.subject.rsplit('.').next().and_then(|index| index.parse::<usize>().ok());
                if let Some((index, letter)) = index.and_then(|index| Some((index, letters.get(index)?))) {
                    told[index] = Some(judged(broker, letter, &message).await);
                }
            }
            changed = link.changed() => {
                let now = link.borrow_and_update().clone();
                if changed.is_err() || now.broken != broken {
                    return;
                }
                for (letter, open) in letters.iter().zip(&mut *told).filter(|(_, told)| told.is_none()) {
                    if now.denied.1.contains(&format!("\"{}\"", letter.subject)) {
                        *open = Some(Err(Error::Denied { broker: broker.address().to_owned(), what: now.denied.1.clone() }));
                    }
                }
            }
            () = tokio::time::sleep(broker.answer_time()) => return,
        }
    }
}

async fn hand_over(broker: &Broker, letter: &Letter<'_>, reply: Subject) -> Result<(), Error> {
    let refused = |description| refused(letter, description);
    let headers = headers_of(letter).map_err(refused)?;
    let (subject, payload) = (Subject::from(letter.subject), letter.payload.clone());
    let sent = broker.client().publish_with_reply_and_headers(subject, reply, headers, payload).await;
    sent.map_err(|error| match error.kind() {
        PublishErrorKind::Send => broker.no_answer("a dead letter"),
        PublishErrorKind::MaxPayloadExceeded | PublishErrorKind::InvalidSubject => refused(error.to_string()),
    })
}

/// What an answer says about a letter.
async fn judged(broker: &Broker, letter: &Letter<'_>, message: &async_nats::Message) -> Result<(), Error> {
    if message.status == Some(StatusCode::NO_RESPONDERS) {
        broker.stream_info(letter.stream).await?;
        // Not its fault: the topology was not applied since its topic came.
        let why = format!("stream {} does not take {}", letter.stream, letter.subject);
        return Err(broker.answered("a dead letter", 0, &why));
    }
    let answer: Answer<'_> = serde_json::from_slice(&message.payload).map_err(|_| broker.no_answer("a dead letter"))?;
    let Some(refusal) = &answer.error else { return Ok(()) };
    let sent = Sent { seq: 1, count: 1, first: letter.tag, last: letter.tag, subject: letter.subject.into() };
    Err(judge(letter.stream, &sent, refusal))
}

fn headers_of(letter: &Letter<'_>) -> Result<HeaderMap, String> {
    let write = || {
        let mut headers = HeaderMap::new();
        attributes(&mut headers, &letter.attributes)?;
        headers.insert(header::MESSAGE_ID, text(letter.id, "id")?);
        for (name, value) in letter.about {
            // A reason may span lines; a header may not.
            headers.insert(*name, text(&value.replace(['\r', '\n'], " "), name)?);
        }
        Ok(headers)
    };
    write().map_err(|unwritable: super::headers::Unwritable| format!("its {} holds a line break", unwritable.0))
}

fn refused(letter: &Letter<'_>, description: String) -> Error {
    Error::Refused { stream: letter.stream.to_owned(), tag: letter.tag, code: 0, description }
}
