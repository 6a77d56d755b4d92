//! What operators do with letters: the real binary on real stores, beside an engine with a handler that fails.

/// Runs these functions on every store, as `sqlite::<claim>` and `postgres::<claim>`.
macro_rules! on_both {
    ($($claim:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $claim() { super::$claim(&mut crate::store::letters::scene::sqlite()) })*
        }
        mod postgres {
            $(#[test] fn $claim() {
                if let Some(mut scene) = crate::store::letters::scene::postgres() { super::$claim(&mut scene) }
            })*
        }
    };
}

mod calls;
mod guide;
mod keys;
mod many;
mod one;
mod outbox;
mod prompts;
mod repair;
mod scene;
mod shown;
