//! Which events are meant: the flags that commands over the log share.

use anyhow::anyhow;
use karwan_store::Observer;
use karwan_store::log::SubjectPattern;
use karwan_store::operator::Chosen;

use crate::exit::Failure;
use crate::suggest;
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

/// A topic that this store does not know, and that none of its consumers handles, is refused, with the one that was meant.
pub async fn knows_topic(observer: &Observer, topic: &SubjectPattern) -> Result<(), Failure> {
    let mut topics = observer.topic_names().await?;
    // A consumer that a stream feeds handles what another store has.
    topics.extend(observer.declared().await?.into_iter().flat_map(|declared| declared.subjects));
    if topics.iter().any(|name| topic.matches(name)) {
        return Ok(());
    }
    let hint = match suggest::nearest(topics.iter().map(String::as_str), &topic.to_string()) {
        Some(near) => format!("did you mean {near}?"),
        None => "`karwan log stats` names those with events".to_owned(),
    };
    Err(anyhow!("no topic of this store is called {}; {hint}", suggest::quoted(&topic.to_string())).into())
}
