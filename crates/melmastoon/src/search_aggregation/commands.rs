//! What the meta-search asks: a listing as it was indexed last.

use karwan::{Context, Error, Store};

use super::events::ListingIndexed;
use super::state::Listing;
use crate::ids::PropertyId;

/// The listing of a property; none where it is not listed.
pub async fn listing(store: &Store, context: &Context, property: PropertyId) -> Result<Option<ListingIndexed>, Error> {
    let listing: Option<Listing> = store.tenant(context).find(&property.to_string()).await?;
    Ok(listing.and_then(|listing| listing.listed))
}
