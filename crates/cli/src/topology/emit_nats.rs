//! `karwan topology emit-nats`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_broker::Topology;
use karwan_broker::nats_conf::{self, OnCall, Roles};
use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};

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
/// Who is on call looks at streams and dead letters and publishes nothing, until a time that
/// is at most 7 days away. A server ends no login by itself that stands in its file: run the
/// same command every few minutes and reload the server. What is printed after that time has
/// them no more, and the server ends their connections when it reads it.
///
/// Examples:
///   karwan topology emit-nats --platform melmastoon > accounts.conf
///   karwan topology emit-nats --platform melmastoon --on-call ann,bob \
///     --on-call-until 2026-11-18T06:00:00Z > accounts.conf
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
    #[arg(long, value_delimiter = ',', value_name = "USER", requires = "on_call_until")]
    on_call: Vec<String>,
    /// Until when: an instant such as 2026-11-18T06:00:00Z, at most 7 days away
    // No `8h` from now: the command that is run again must not move it.
    #[arg(long, value_name = "TIME", requires = "on_call", value_parser = instant)]
    on_call_until: Option<Timestamp>,
}

/// How long somebody is on call at most: whoever is for longer says so again.
const ON_CALL_MS_MAX: i64 = 7 * 24 * 60 * 60 * 1_000;

fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "an instant is written 2026-11-18T06:00:00Z".to_owned())
}

pub fn run(args: &Args) -> Outcome {
    let (account, keeper, auditor) = (args.account.clone(), args.keeper.clone(), args.auditor.clone());
    let topology = args.followers.added(&args.selection.chosen(), true)?;
    let now = SystemClock.now();
    let on_call = args.on_call_until.map(|until| OnCall { users: args.on_call.clone(), until });
    let roles = Roles { account, keeper, auditor, on_call };
    let wrong = args.on_call.iter().find(|user| !named_plainly(user) || is_taken(&topology, &roles, user));
    if let Some(user) = wrong {
        let rule = "a user has letters, digits, - and _, and is neither a service nor another role";
        return Err(Failure::usage(anyhow!("{} cannot be on call: {rule} (see --help)", quoted(user))));
    }
    if let Some(on_call) = &roles.on_call {
        if on_call.until.unix_ms() - now.unix_ms() > ON_CALL_MS_MAX {
            let rule = "nobody is on call for more than 7 days; name a nearer time, and print it again then";
            return Err(Failure::usage(anyhow!("--on-call-until {}: {rule} (see --help)", on_call.until)));
        }
        if on_call.is_over(now) {
            let users = on_call.users.join(", ");
            output::note(&format!("nobody is on call: the time of {users} was over at {}", on_call.until));
        }
    }
    output::data(&nats_conf::emit(&topology, &roles, now))?;
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
