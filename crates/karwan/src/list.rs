/// Lists the consumers of a platform, and makes a replay contract for each.
///
/// Every consumer is a function that makes it, with a function that makes its events happen in an empty store. From the list
/// come `consumers()`, which a node starts, and one test a consumer: each of its events is handled, and delivered again it
/// is a no-op ([`testing::replay`](crate::testing::replay)). `cargo xtask lint` refuses a consumer that is on no list.
///
/// ```
/// # use karwan::registry::{Event, events};
/// # use karwan::{Consumer, Document, Error, Kind, KindType, Platform, Received, Service, Store, TenantTx, Verdict};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// # /// Somebody was greeted.
/// # #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
/// # #[event(crate = "karwan::registry", subject = "hello.greeter.person.greeted.v1", owner = "greeter-service",
/// #     retention = "year", key = "{name}", idempotency = "{name}")]
/// # struct Greeted { name: String }
/// # static HELLO: Platform =
/// #     Platform::plain("hello", &[Service { name: "greeter-service", token: "greeter" }], || events![Greeted].into());
/// # fn kinds() -> Vec<KindType> { Vec::new() }
/// fn count() -> Consumer {
///     Consumer::new("greeter-service", "count").on(|_: TenantTx, _: Received<Greeted>| async { Ok::<_, Error>(Verdict::Done) })
/// }
///
/// async fn somebody_is_greeted(store: Store) -> Result<(), Error> {
///     let greet = async |tx: TenantTx| {
///         tx.emit(Greeted { name: "world".to_owned() });
///         Ok::<_, Error>(())
///     };
///     store.unit(&karwan::context("greeter-service", 1), greet).await.map(drop)
/// }
///
/// karwan::consumers! {
///     platform: &HELLO,
///     kinds: kinds(),
///     count => somebody_is_greeted,
/// }
/// # fn main() { assert_eq!(consumers().len(), 1); }
/// ```
#[macro_export]
macro_rules! consumers {
    (platform: $platform:expr, kinds: $kinds:expr, $($consumer:ident => $given:path),* $(,)?) => {
        /// Every consumer of the platform.
        pub fn consumers() -> ::std::vec::Vec<$crate::Consumer> {
            ::std::vec![$($consumer()),*]
        }

        #[cfg(test)]
        mod replay_contract {
            use super::*;

            $(
                #[test]
                fn $consumer() {
                    $crate::testing::replay($platform, $kinds, super::$consumer(), $given);
                }
            )*
        }
    };
}
