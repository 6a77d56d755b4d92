//! `karwan topology emit-nats`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_broker::Topology;
use karwan_broker::nats_conf::{self, OnCall, RelayUser, Roles};
use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};

use super::{Followers, Selection, has_events};
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
/// A relay of several services has a login of its own: --relay names it, and behind `=` the
/// services; none is all of them. It may publish their topics and the dead letters of
/// these, and follows nothing.
///
/// Who is on call looks at streams and dead letters and publishes nothing, until a time that
/// is at most 7 days away. A server ends no login by itself that stands in its file: run the
/// same command every few minutes and reload the server. What is printed after that time has
/// them no more, and the server ends their connections when it reads it.
///
/// Examples:
///   karwan topology emit-nats --platform melmastoon > accounts.conf
///   karwan topology emit-nats --platform melmastoon --relay main-relay > accounts.conf
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
    /// A user that publishes for several services: all, or those behind `=` with commas between; may be given several times
    #[arg(long, value_name = "USER[=SERVICE,…]")]
    relay: Vec<String>,
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
    let relays = args.relay.iter().map(|text| relay(&topology, text)).collect::<Result<Vec<_>, _>>()?;
    let roles = Roles { account, keeper, auditor, relays, on_call };
    args.relay.iter().try_for_each(|text| may_be(&topology, &roles, named(text).0, "a relay"))?;
    args.on_call.iter().try_for_each(|user| may_be(&topology, &roles, user, "on call"))?;
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

/// The login of a relay: its services must have streams here.
fn relay(topology: &Topology, text: &str) -> Result<RelayUser, Failure> {
    let (user, services) = named(text);
    services.iter().try_for_each(|service| has_events(topology, service))?;
    Ok(RelayUser { user: user.to_owned(), services: services.into_iter().map(str::to_owned).collect() })
}

/// A user, and the services behind it.
fn named(text: &str) -> (&str, Vec<&str>) {
    match text.split_once('=') {
        Some((user, services)) => (user, services.split(',').collect()),
        None => (text, Vec::new()),
    }
}

/// What it may do would be added to what another user may.
fn may_be(topology: &Topology, roles: &Roles, user: &str, what: &str) -> Result<(), Failure> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let services = topology.streams().iter().map(|stream| &stream.service);
    let services = services.chain(topology.consumers().iter().map(|consumer| &consumer.service));
    let on_call = roles.on_call.iter().flat_map(|on_call| &on_call.users);
    let others = roles.relays.iter().map(|relay| &relay.user).chain(on_call).filter(|other| *other == user).count();
    let is_taken = services.chain([&roles.keeper, &roles.auditor]).any(|other| other == user) || others > 1;
    if user.is_empty() || !user.chars().all(plain) || is_taken {
        let rule = "a user has letters, digits, - and _, and is neither a service nor another role";
        return Err(Failure::usage(anyhow!("{} cannot be {what}: {rule} (see --help)", quoted(user))));
    }
    Ok(())
}
