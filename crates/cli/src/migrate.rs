//! `karwan migrate`.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::anyhow;
use karwan_registry::Catalogue;
use karwan_store::migrate::{Migrated, Purpose, grant};

use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{output, platforms, runtime};

/// Bring a store to this program's schema, with the events of every platform
///
/// Harmless when there is nothing to do. A SQLite file is made; a Postgres database
/// exists, and the login may create roles (or finds them made) and a schema.
///
/// Examples:
///   karwan migrate --store sqlite:karwan.db
///   karwan migrate --store postgres://admin@localhost/app --grant node
///   karwan migrate --store postgres://admin@localhost/app --grant node --node
///   karwan migrate --store postgres://admin@localhost/app --grant billing=billing-service
///   karwan migrate --store postgres://admin@localhost/app --grant-operator oncall
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Also for the documents of the services that `karwan up` runs
    #[arg(long)]
    node: bool,
    /// Prepare an existing Postgres login; with a service, it may append that service's events
    #[arg(long, value_name = "LOGIN[=SERVICE]")]
    grant: Vec<Grant>,
    /// Prepare an existing Postgres login for operators' commands: it sees every tenant, and is no node's
    #[arg(long, value_name = "LOGIN")]
    grant_operator: Vec<String>,
}

/// A login, and what it is for.
#[derive(Clone)]
struct Grant {
    login: String,
    purpose: Purpose,
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (login, service) = text.split_once('=').map_or((text, None), |(login, service)| (login, Some(service)));
        if login.is_empty() || service.is_some_and(str::is_empty) {
            return Err("a login such as node, or with its service: billing=billing-service".to_owned());
        }
        let purpose = service.map_or(Purpose::Node, |service| Purpose::Appending(service.to_owned()));
        Ok(Self { login: login.to_owned(), purpose })
    }
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    let catalogues = platforms::catalogues(None)?;
    for grant in &args.grant {
        if let Purpose::Appending(service) = &grant.purpose {
            must_publish(&catalogues, service)?;
        }
    }
    runtime::block_on(async {
        let progress = Progress::new();
        let tell = |what: &str, done, total| progress.tell(what, done, total);
        let catalogues: Vec<&Catalogue> = catalogues.iter().collect();
        // Facts that a document orders cannot be appended from SQL: whoever runs no node keeps them as they were.
        let kinds = if args.node { platforms::kinds() } else { Vec::new() };
        let migrated = karwan_store::migrate(&address, &catalogues, &kinds, &tell).await?;
        drop(progress);
        output::data(&told(&migrated))?;
        let operators =
            args.grant_operator.iter().map(|login| Grant { login: login.clone(), purpose: Purpose::Operating });
        for Grant { login, purpose } in args.grant.iter().cloned().chain(operators) {
            grant(&address, &login, &purpose).await?;
            let purpose = match purpose {
                Purpose::Node => String::new(),
                Purpose::Appending(service) => format!(" for {service}"),
                Purpose::Operating => " for operators".to_owned(),
            };
            output::data(&format!("granted: {login}{purpose}"))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// A service that publishes nothing is a typing error.
fn must_publish(catalogues: &[Catalogue], service: &str) -> Result<(), Failure> {
    let mut entries = catalogues.iter().flat_map(|catalogue| catalogue.directory().entries());
    if entries.any(|entry| entry.row.producers.iter().any(|producer| producer == service)) {
        return Ok(());
    }
    let remedy = "`karwan catalog list` has the owners";
    Err(Failure::usage(anyhow!("--grant: no event is published by `{service}`; {remedy}")))
}

fn told(migrated: &Migrated) -> String {
    let mut text = match migrated.from {
        None => format!("migrated: a new store, schema {}", migrated.to),
        Some(from) if from < migrated.to => format!("migrated: from schema {from} to {}", migrated.to),
        Some(_) if migrated.steps.is_empty() && migrated.backfilled == 0 => {
            format!("nothing to do: schema {}", migrated.to)
        }
        Some(_) => format!("migrated: schema {}", migrated.to),
    };
    for step in &migrated.steps {
        text.push_str(&format!("\n  {step}"));
    }
    if migrated.backfilled > 0 {
        text.push_str(&format!("\n  {} documents filled in", migrated.backfilled));
    }
    text
}
