//! Clients at the desk: they send commands until each is taken, and repeat some that were.

use std::sync::Arc;
use std::sync::Weak;

use karwan_store::{Done, Error, Store, TenantTx, UnitId};

use crate::simulation::calls::Calls;
use crate::simulation::platform::{Course, Order, Requested, context};
use crate::simulation::world::World;

/// Clients that send at once.
pub const CLIENTS: u64 = 2;

const COURSES: &[Course] = &[
    Course::Plain,
    Course::Plain,
    Course::Plain,
    Course::Plain,
    Course::Fails,
    Course::Fails,
    Course::Waits,
    Course::Hangs,
    Course::Slow,
    Course::Poisoned,
    Course::Charged,
    Course::Charged,
    Course::Reminded,
];

/// One client: every command of its share is taken when this returns.
pub async fn send(world: Arc<World>, client: u64) {
    let name = format!("desk{client}");
    let calls = Calls { world: world.clone(), life: Weak::new(), name: name.clone(), crashes: false };
    let store = world.open(Arc::new(calls)).await;
    for command in (client..world.weather.commands).step_by(CLIENTS as usize) {
        let command = command.cast_signed();
        let tenant = world.chance.between(1, world.weather.tenants);
        let order = format!("o-{}", world.chance.between(1, world.weather.orders));
        let course = world.chance.pick(COURSES);
        world.note(&name, &format!("sends {command}: {course:?} for {order} of {tenant}"));
        let sent = Requested { order_id: order, revision: 0, command, course };
        let mut again = true;
        while again {
            match request(&store, tenant, &sent).await {
                Ok(_) => again = world.chance.once_in(10),
                Err(error) => world.note(&name, &format!("is told {error}")),
            }
            world.wait(0, world.weather.gap_ms).await;
        }
    }
}

async fn request(store: &Store, tenant: u64, sent: &Requested) -> Result<Done<()>, Error> {
    let id = UnitId::named("desk", &sent.command.to_string());
    let decide = async |tx: TenantTx| {
        let order: Option<Order> = tx.find(&sent.order_id).await?;
        let order = order.unwrap_or(Order { id: sent.order_id.clone(), revision: 0 });
        let revision = order.revision + 1;
        tx.put(Order { revision, ..order });
        tx.emit(Requested { revision, ..sent.clone() });
        Ok::<_, Error>(())
    };
    store.once(id, &context(tenant), decide).await
}
