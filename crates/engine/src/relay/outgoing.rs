//! What of a stream is on its way: sent and not acknowledged, passed by, parked. Pure.
//!
//! Invariant: the watermark never passes a row of the stream that is neither acknowledged nor parked.

use std::collections::VecDeque;
use std::sync::Arc;

use karwan_store::log::{LogRow, Seq};

use super::pages::Page;

/// A row that was sent: its page, and which of its rows.
#[derive(Debug)]
struct Sent {
    tag: u64,
    seq: Seq,
    page: Arc<Page>,
    row: usize,
}

/// See the module.
#[derive(Debug)]
pub struct Outgoing {
    scanned: Seq,
    sent: VecDeque<Sent>,
    tag: u64,
    stream_seq: u64,
}

impl Outgoing {
    /// Nothing is on its way; everything up to a number is done with, and the stream ends at a sequence.
    pub fn new(from: Seq, stream_seq: u64) -> Self {
        Self { scanned: from, sent: VecDeque::new(), tag: 0, stream_seq }
    }

    /// A row is about to be sent, under the tag that is answered. Rows come in the order of the log.
    pub fn send(&mut self, page: &Arc<Page>, row: usize) -> u64 {
        let (seq, tag) = (page.page.rows[row].seq, self.next_tag());
        self.sent.push_back(Sent { tag, seq, page: page.clone(), row });
        self.scanned = seq;
        tag
    }

    /// A tag for something else that is sent.
    pub fn next_tag(&mut self) -> u64 {
        self.tag += 1;
        self.tag
    }

    /// Everything up to a number was sent, parked, or is not this stream's.
    pub fn scan(&mut self, seq: Seq) {
        self.scanned = self.scanned.max(seq);
    }

    /// Everything up to a tag is in the stream, whose last sequence is this.
    pub fn acknowledged(&mut self, tag: u64, stream_seq: u64) {
        while self.sent.front().is_some_and(|sent| sent.tag <= tag) {
            self.sent.pop_front();
        }
        // What was there already is answered with its own, older sequence.
        self.stream_seq = self.stream_seq.max(stream_seq);
    }

    /// Everything up to here was looked at; what is sent next names it.
    pub const fn scanned(&self) -> Seq {
        self.scanned
    }

    /// Everything up to here is in the stream or parked, and the stream's last sequence by then.
    pub fn watermark(&self) -> (Seq, u64) {
        (self.sent.front().map_or(self.scanned, |sent| sent.seq - 1), self.stream_seq)
    }

    /// When the oldest that is on its way entered the log.
    pub fn oldest(&self) -> Option<i64> {
        self.sent.front().map(|Sent { page, row, .. }| page.page.rows[*row].at)
    }

    /// The row that was sent under this tag, if it is still on its way.
    pub fn row(&self, tag: u64) -> Option<&LogRow> {
        let place = self.sent.binary_search_by_key(&tag, |sent| sent.tag).ok()?;
        let Sent { page, row, .. } = &self.sent[place];
        Some(&page.page.rows[*row])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karwan_envelope::ids::EventId;
    use karwan_store::Position;
    use karwan_store::log::{LogPage, LogRow};

    use super::{Outgoing, Page};

    fn page() -> Arc<Page> {
        let row = |seq: i64| LogRow {
            seq,
            tenant: 1,
            subject: String::new(),
            key: String::new(),
            slot: 0,
            event: EventId::from_bits(1),
            at: 0,
            envelope: String::new(),
        };
        let at = |seq| Position { incarnation: 1, seq };
        let rows = [4, 6, 9].map(row).into();
        Arc::new(Page { after: at(3), page: LogPage { rows, position: at(12), more: false } })
    }

    #[test]
    fn the_watermark_waits_for_what_is_on_its_way() {
        let (mut outgoing, page) = (Outgoing::new(3, 100), page());
        assert_eq!(outgoing.watermark(), (3, 100));
        let first = outgoing.send(&page, 0);
        let second = outgoing.send(&page, 2);
        outgoing.scan(12);
        assert_eq!(outgoing.watermark(), (3, 100));
        outgoing.acknowledged(first, 101);
        assert_eq!(outgoing.watermark(), (8, 101));
        assert_eq!(outgoing.row(second).map(|row| row.seq), Some(9));
        assert_eq!(outgoing.row(first), None);
        outgoing.acknowledged(second, 102);
        assert_eq!(outgoing.watermark(), (12, 102));
    }
}
