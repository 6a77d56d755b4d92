//! The outside: a vendor as vendors are. It does a thing once for every idempotency key, and may refuse before or fall
//! silent after.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use karwan_engine::{Call, Refusal};
use serde::{Deserialize, Serialize};

use crate::simulation::world::World;

/// How long a call to the vendor may take.
pub const LIMIT: Duration = Duration::from_secs(3);

/// What the vendor is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Charge {
    /// For which order.
    pub order: String,
    /// For which request.
    pub revision: i64,
}

/// The vendor's own books.
#[derive(Debug, Default)]
pub struct Vendor {
    charged: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    by_key: BTreeMap<String, (String, Charge)>,
    in_order: Vec<(String, Charge)>,
    complaints: Vec<String>,
}

impl Vendor {
    /// One call; answered, refused, or cut off at any point with the process that makes it.
    pub async fn charge(&self, world: &World, call: Call<Charge>) -> Result<String, Refusal> {
        let calm = world.is_calm();
        let chance = &world.chance;
        tokio::time::sleep(Duration::from_millis(chance.between(0, 300))).await;
        if !calm && chance.once_in(5) {
            return Err(Refusal::Later("too busy".to_owned()));
        }
        self.book(format!("{:?}", call.tenant), &call);
        if !calm && chance.once_in(8) {
            return Err(Refusal::Later("charged, and fell silent".to_owned()));
        }
        let most = if chance.once_in(10) { 6_000 } else { 200 };
        tokio::time::sleep(Duration::from_millis(chance.between(0, most))).await;
        Ok(format!("receipt for {}", call.told.revision))
    }

    fn book(&self, tenant: String, call: &Call<Charge>) {
        let mut books = self.charged.lock().expect("nothing panics while holding it");
        let told = (tenant, call.told.clone());
        match books.by_key.get(&call.idempotency_key) {
            Some(before) if *before == told => {}
            Some(before) => {
                let complaint = format!("the key of {before:?} was used for {told:?}");
                books.complaints.push(complaint);
            }
            None => {
                books.by_key.insert(call.idempotency_key.clone(), told.clone());
                books.in_order.push(told);
            }
        }
    }

    /// What was charged, first calls in order, and what the vendor found wrong.
    pub fn books(&self) -> (Vec<(String, Charge)>, Vec<String>) {
        let books = self.charged.lock().expect("nothing panics while holding it");
        (books.in_order.clone(), books.complaints.clone())
    }
}
