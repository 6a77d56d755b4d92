//! Documents of a tenant, however many there are.

use karwan::{Document, Error, Query, TenantTx};
use karwan_store::query::PAGE_MAX;

/// Everything that a query finds, page by page.
pub async fn all<D: Document>(unit: &TenantTx, query: impl Fn() -> Query<D>) -> Result<Vec<D>, Error> {
    let mut page = unit.query(query().limit(PAGE_MAX)).await?;
    let mut items = Vec::new();
    loop {
        items.append(&mut page.items);
        let Some(next) = page.next else { return Ok(items) };
        page = unit.query(query().limit(PAGE_MAX).after(next)).await?;
    }
}
