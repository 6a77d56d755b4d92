//! Which events are meant: the flags that commands over the log share.

use karwan_store::log::SubjectPattern;
use karwan_store::operator::Chosen;

use crate::tenant::TenantName;

/// Which events; nothing in it means all.
#[derive(clap::Args, Clone)]
pub struct Choice {
    /// Only this tenant: tnt_…, a ULID, a UUID, or platform
    #[arg(long)]
    tenant: Option<TenantName>,
    /// Only this ordering key (the aggregate's id)
    #[arg(long)]
    key: Option<String>,
}

impl Choice {
    /// As the store takes it.
    pub fn chosen(&self, subject: Option<SubjectPattern>) -> Chosen {
        Chosen { subject, tenant: self.tenant.map(|tenant| tenant.0), key: self.key.clone() }
    }
}
