//! A store without the rule that fences lanes, to see that something goes wrong without it. With the feature `trial` alone, which
//! no program that is shipped has.

use crate::address::Address;
use crate::bare;
use crate::error::Error;

/// From now on whoever lost a lane of this database writes on. Its owner has to ask.
pub async fn leave_out_epoch(owner: &Address) -> Result<(), Error> {
    let client = bare::connect(owner).await?;
    client
        .batch_execute(include_str!("trial.sql"))
        .await
        .map_err(|error| Error::Damaged { store: owner.to_string(), reason: error.to_string() })
}
