#![expect(clippy::print_stdout, reason = "an example shows what it did")]
//! Emits the shop's catalogue, judges it, and sends one event through both of its wire forms.

mod events;
mod platform;

use std::error::Error;
use std::fs;
use std::path::Path;

use events::OrderPlaced;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{Id, TenantId};
use karwan_envelope::mint::{Mint, OsRandom};
use karwan_envelope::money::Money;
use karwan_envelope::time::{Clock, SystemClock};
use karwan_envelope::wire;
use karwan_registry::{Catalogue, check, files};
use platform::PLATFORM;

fn main() -> Result<(), Box<dyn Error>> {
    let catalogue = Catalogue::of(&PLATFORM)?;

    // The catalogue as files, for reviewers, gates and other languages.
    let tree = files::emit(&catalogue);
    for (path, bytes) in &tree {
        let path = Path::new("catalog").join(path);
        fs::create_dir_all(path.parent().expect("a file of a tree has a folder"))?;
        fs::write(path, bytes)?;
    }
    for finding in check::check(&tree, PLATFORM.profiles) {
        println!("{finding}");
    }

    // One event, made where nothing can be forgotten, and refused if the catalogue does not allow it.
    let mint = Mint::new(SystemClock, OsRandom);
    let context = Context {
        tenant: Tenant::One(TenantId::from_bits(mint.event().bits())),
        cause: Cause::root(mint.correlation()),
        actor: Actor { kind: ActorKind::User, id: "customer-17".to_owned() },
        producer: Producer {
            service: "sales-service".to_owned(),
            instance: "sales-1".to_owned(),
            commit: "4f2a9c1".to_owned(),
            region: None,
        },
        residency: Residency::Eu,
    };
    let placed = OrderPlaced {
        order_id: Id::from_bits(mint.event().bits()),
        items: 2,
        total: Money { amount_micro: "25000000".parse()?, currency: "EUR".parse()? },
        note: None,
        placed_at: mint.clock().now(),
    };
    let envelope = catalogue.envelope(&placed, &context, None, &mint)?;

    // Printed in both forms, read back, judged by the same rules.
    for profile in PLATFORM.profiles {
        let text = wire::encode(profile, catalogue.directory(), &envelope)?;
        println!("{}: {text}", profile.name);
        let read = wire::decode(profile, catalogue.directory(), text.as_bytes())?.envelope;
        catalogue.validate(&read)?;
    }

    // What the schema does not allow is refused before anybody sees it.
    let refused = catalogue.envelope(&OrderPlaced { items: 0, ..placed }, &context, None, &mint);
    println!("refused: {}", refused.expect_err("no order is empty"));
    Ok(())
}
