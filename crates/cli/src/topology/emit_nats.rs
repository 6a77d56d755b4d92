//! `karwan topology emit-nats`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_broker::Topology;
use karwan_broker::nats_conf::{self, Roles};

use super::{Followers, Selection};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::suggest::quoted;

/// Print accounts and permissions for nats-server: each service its own, and no more
///
/// Passwords are variables of the server's environment, such as
/// RESERVATION_SERVICE_PASSWORD; none is printed. The server's configuration includes it.
///
/// A service may pull the durables of its own consumers: those of the platform, and those
/// that have run over a store which is named.
///
/// Who is on call looks at streams and dead letters and publishes nothing: named while they
/// are, and left out when the file is printed again and the server reloaded.
///
/// Examples:
///   karwan topology emit-nats --platform melmastoon > accounts.conf
///   karwan topology emit-nats --platform melmastoon --on-call ann,bob > accounts.conf
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    followers: Followers,
    /// The account that the services share
    #[arg(long, default_value = "KARWAN")]
    account: String,
    /// The user that makes streams
    #[arg(long, default_value = "karwan-topology")]
    keeper: String,
    /// The service that may read every stream
    #[arg(long, default_value = "audit-service")]
    auditor: String,
    /// Users who may look at every stream and its dead letters, with commas between
    #[arg(long, value_delimiter = ',', value_name = "USER")]
    on_call: Vec<String>,
}

pub fn run(args: &Args) -> Outcome {
    let (account, keeper, auditor) = (args.account.clone(), args.keeper.clone(), args.auditor.clone());
    let topology = args.followers.added(&args.selection, true)?;
    let roles = Roles { account, keeper, auditor, on_call: args.on_call.clone() };
    let wrong = roles.on_call.iter().find(|user| !named_plainly(user) || is_taken(&topology, &roles, user));
    if let Some(user) = wrong {
        let rule = "a user has letters, digits, - and _, and is neither a service nor another role";
        return Err(Failure::usage(anyhow!("{} cannot be on call: {rule} (see --help)", quoted(user))));
    }
    output::data(&nats_conf::emit(&topology, &roles))?;
    Ok(ExitCode::SUCCESS)
}

fn named_plainly(user: &str) -> bool {
    !user.is_empty() && user.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

/// What it may do would be added to what another user may.
fn is_taken(topology: &Topology, roles: &Roles, user: &str) -> bool {
    topology.streams().iter().any(|stream| stream.service == user)
        || topology.consumers().iter().any(|consumer| consumer.service == user)
        || user == roles.keeper
        || user == roles.auditor
}
