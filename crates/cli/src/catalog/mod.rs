//! `karwan catalog …`.

mod check;
mod emit;
mod list;
mod show;

use clap::Subcommand;
use karwan_envelope::row::Tenancy;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
    Emit(emit::Args),
    Check(check::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::List(args) => list::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Emit(args) => emit::run(&args),
        Verb::Check(args) => check::run(&args),
    }
}

/// Whose event it is, for people.
fn label(tenancy: Tenancy) -> &'static str {
    match tenancy {
        Tenancy::Tenant => "tenant",
        Tenancy::CrossTenant => "cross-tenant",
        Tenancy::Platform => "platform",
    }
}
