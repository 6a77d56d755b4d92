use crate::backend::Refusal;
use crate::backup::Copied;
use crate::consumer::{Dead, Lane, LaneTaken, Parked};
use crate::doctor::Check;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::{Kind, Kinds};
use crate::log::{Filter, Holder, LogRow, Seq};
use crate::migrate::{Migrated, Progress};
use crate::query::Parts;
use crate::report::{Stats, TableSize};
use crate::store::Options;
use crate::write_set::{Flushed, LaneHold, TenantBits, UnitClaim, WriteSet};
use karwan_registry::Catalogue;
use std::path::Path;
pub(crate) struct Sqlite;
impl Sqlite {
    pub async fn open(_: &Path, _: &Options, _: &Kinds) -> Result<Self, Error> {
        Err(Error::Closed)
    }
    pub async fn look(_: &Path) -> Result<Self, Error> {
        Err(Error::Closed)
    }
    pub fn incarnation(&self) -> i64 {
        0
    }
    pub async fn document(&self, _: TenantBits, _: &Kind, _: &str) -> Result<Option<DocumentRow>, Error> {
        Err(Error::Closed)
    }
    pub async fn query(&self, _: TenantBits, _: &Kind, _: &Parts) -> Result<Vec<DocumentRow>, Error> {
        Err(Error::Closed)
    }
    pub async fn flush(&self, _: WriteSet) -> Result<Flushed, Refusal> {
        Err(Error::Closed.into())
    }
    pub async fn unit_committed(&self, _: UnitClaim) -> Result<bool, Error> {
        Err(Error::Closed)
    }
    pub async fn highest(&self) -> Result<Seq, Error> {
        Err(Error::Closed)
    }
    pub async fn safe(&self) -> Result<Seq, Error> {
        Err(Error::Closed)
    }
    pub async fn rows(&self, _: Seq, _: Seq, _: &Filter, _: usize) -> Result<Vec<LogRow>, Error> {
        Err(Error::Closed)
    }
    pub async fn floor(&self) -> Result<Seq, Error> {
        Err(Error::Closed)
    }
    pub async fn holders(&self) -> Result<Vec<Holder>, Error> {
        Err(Error::Closed)
    }
    pub async fn stats(&self) -> Result<Stats, Error> {
        Err(Error::Closed)
    }
    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        Err(Error::Closed)
    }
    pub async fn prune(&self, _: i64) -> Result<u64, Error> {
        Err(Error::Closed)
    }
    pub async fn drop_log(&self, _: Seq) -> Result<Seq, Error> {
        Err(Error::Closed)
    }
    pub async fn take_lane(&self, _: &Lane, _: &str, _: i64) -> Result<Option<LaneTaken>, Error> {
        Err(Error::Closed)
    }
    pub async fn beat(&self, _: &str, _: i64) -> Result<Vec<String>, Error> {
        Err(Error::Closed)
    }
    pub async fn save_position(&self, _: &LaneHold, _: Seq, _: bool) -> Result<(), Error> {
        Err(Error::Closed)
    }
    pub async fn handled(&self, _: &str, _: &[u128]) -> Result<Vec<u128>, Error> {
        Err(Error::Closed)
    }
    pub async fn park(&self, _: &LaneHold, _: &[Parked]) -> Result<(), Error> {
        Err(Error::Closed)
    }
    pub async fn parked(&self, _: &Lane, _: usize) -> Result<Vec<Parked>, Error> {
        Err(Error::Closed)
    }
    pub async fn bury(&self, _: &LaneHold, _: &Dead) -> Result<(), Error> {
        Err(Error::Closed)
    }
    pub async fn dead(&self, _: &str, _: Seq, _: usize) -> Result<Vec<Dead>, Error> {
        Err(Error::Closed)
    }
}
pub async fn migrate(_: &Path, _: &[&Catalogue], _: &Kinds, _: Progress<'_>) -> Result<Migrated, Error> {
    Err(Error::Closed)
}
pub async fn doctor(_: &Path, _: i64) -> Result<Vec<Check>, Error> {
    Err(Error::Closed)
}
pub async fn resume(_: &Path) -> Result<(), Error> {
    Err(Error::Closed)
}
pub async fn backup(_: &Path, _: &Path, _: Progress<'_>) -> Result<Copied, Error> {
    Err(Error::Closed)
}
pub async fn restore(_: &Path, _: &Path, _: Progress<'_>) -> Result<Copied, Error> {
    Err(Error::Closed)
}
