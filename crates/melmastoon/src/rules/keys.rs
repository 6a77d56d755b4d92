//! Keys of stays.

use std::collections::{BTreeMap, BTreeSet};

use super::Fact;
use crate::ids::{KeyCredentialId, ReservationId, RoomId};
use crate::lock_integration::credentials::{
    KeyCredentialFailed, KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked,
};
use crate::lock_integration::state::{ManualKey, ManualTask};
use crate::reservation::BookingCancelled;

/// At most one live key a room and stay, and none of a stay that is over but what the front desk looks after. Whatever the vendor
/// did not do waits with the front desk, and nothing else does: that is where a booking or a cancellation is partial.
#[derive(Debug, Default)]
pub struct Keys {
    keys: BTreeMap<KeyCredentialId, Key>,
    /// The last key that was asked for.
    last: BTreeMap<ReservationId, KeyCredentialId>,
    cancelled: BTreeSet<ReservationId>,
}

#[derive(Debug)]
struct Key {
    of: ReservationId,
    rooms: Vec<RoomId>,
    issued: u32,
    failed: bool,
    revoked: bool,
}

impl Keys {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<KeyCredentialRequested>() {
            let Some(of) = it.reservation_id else { return };
            let key = Key { of, rooms: it.rooms, issued: 0, failed: false, revoked: false };
            self.keys.insert(it.key_credential_id, key);
            self.last.insert(of, it.key_credential_id);
        } else if let Some(it) = fact.of::<KeyCredentialIssued>() {
            self.told(it.key_credential_id, |key| key.issued += 1);
        } else if let Some(it) = fact.of::<KeyCredentialFailed>() {
            self.told(it.key_credential_id, |key| key.failed = true);
        } else if let Some(it) = fact.of::<KeyCredentialRevoked>() {
            self.told(it.key_credential_id, |key| key.revoked = true);
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.cancelled.insert(it.reservation_id);
        }
    }

    fn told(&mut self, id: KeyCredentialId, tell: impl FnMut(&mut Key)) {
        self.keys.get_mut(&id).into_iter().for_each(tell);
    }

    /// What is left for a person of a key, by the log.
    fn left(&self, id: KeyCredentialId, key: &Key) -> Option<ManualTask> {
        let is_over = self.cancelled.contains(&key.of);
        let is_last = self.last.get(&key.of) == Some(&id);
        match (is_over, key.failed, key.revoked) {
            (false, true, _) if is_last => Some(ManualTask::Issue),
            (true, false, false) => Some(ManualTask::Revoke),
            (true | false, _, _) => None,
        }
    }

    /// What does not hold, where the front desk has and had these.
    pub(super) fn broken(&self, manual: &[ManualKey]) -> Vec<String> {
        let mut broken = Vec::new();
        let mut opens: BTreeMap<(ReservationId, RoomId), u32> = BTreeMap::new();
        for (id, key) in &self.keys {
            if key.issued > 1 {
                broken.push(format!("a key is issued twice: {id} of {}", key.of));
            }
            if key.issued > 0 && !key.revoked {
                key.rooms.iter().for_each(|room| *opens.entry((key.of, *room)).or_default() += 1);
            }
            let told = manual.iter().find(|manual| manual.key_credential_id == *id);
            let is_seen = |task: ManualTask| told.is_some_and(|told| told.task == task);
            match self.left(*id, key) {
                // Seen to by hand it is no longer open.
                Some(ManualTask::Issue) if is_seen(ManualTask::Issue) => {}
                Some(ManualTask::Issue) => broken.push(format!("a key failed, and nobody is told: {id} of {}", key.of)),
                Some(ManualTask::Revoke) if told.is_some_and(|it| it.done_at.is_none()) => {}
                Some(ManualTask::Revoke) => {
                    broken.push(format!("a key outlives its booking, and nobody is told: {id} of {}", key.of));
                }
                None => {}
            }
        }
        for ((of, room), count) in opens.iter().filter(|(_, count)| **count > 1) {
            broken.push(format!("{count} live keys of one stay open a room: {of}, {room}"));
        }
        for waits in manual.iter().filter(|manual| manual.done_at.is_none()) {
            let id = waits.key_credential_id;
            let left = self.keys.get(&id).and_then(|key| self.left(id, key));
            if left != Some(waits.task) {
                broken.push(format!("the front desk waits for nothing: {id} of {}", waits.reservation_id));
            }
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use crate::lock_integration::KeyCredentialIssued;
    use crate::lock_integration::state::ManualTask;
    use crate::rules::Kept;
    use crate::rules::made::{Made, key_failed, key_requested, key_revoked, manual_key};
    use crate::told;

    fn desk(task: ManualTask, done: bool) -> Kept {
        Kept { manual: vec![manual_key(&told::confirmed(10), told::id(10), task, done)], ..Kept::default() }
    }

    #[test]
    fn a_key_that_failed_without_anybody_being_told_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.tell(&key_requested(&booking, 10));
        made.is_named("the front desk waits for nothing", &desk(ManualTask::Issue, false));
        made.tell(&key_failed(&booking, told::id(10)));
        made.is_named("a key failed, and nobody is told", &Kept::default());
        made.is_named("a key failed, and nobody is told", &desk(ManualTask::Revoke, false));
        made.holds("key", &desk(ManualTask::Issue, false));
        made.holds("key", &desk(ManualTask::Issue, true));
        // Asked for again it is no longer anybody's.
        made.tell(&key_requested(&booking, 11));
        made.is_named("the front desk waits for nothing", &desk(ManualTask::Issue, false));
        made.holds("key", &desk(ManualTask::Issue, true));
    }

    #[test]
    fn a_key_that_outlives_its_booking_without_anybody_being_told_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.tell(&key_requested(&booking, 10));
        made.tell(&told::key_issued(&booking));
        made.holds("key", &Kept::default());
        made.tell(&told::cancelled(&booking));
        made.is_named("a key outlives its booking", &Kept::default());
        made.is_named("a key outlives its booking", &desk(ManualTask::Revoke, true));
        made.holds("key", &desk(ManualTask::Revoke, false));
        made.tell(&key_revoked(&booking, told::id(10)));
        made.holds("key", &Kept::default());
        made.is_named("the front desk waits for nothing", &desk(ManualTask::Revoke, false));
    }

    #[test]
    fn a_second_key_of_a_stay_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.tell(&key_requested(&booking, 10));
        made.tell(&told::key_issued(&booking));
        made.tell(&told::key_issued(&booking));
        made.is_named("a key is issued twice", &Kept::default());
        made.tell(&key_requested(&booking, 11));
        made.tell(&KeyCredentialIssued { key_credential_id: told::id(11), ..told::key_issued(&booking) });
        made.is_named("2 live keys of one stay open a room", &Kept::default());
    }
}
