//! `karwan envelope validate`.

use std::path::PathBuf;
use std::process::ExitCode;

use karwan_envelope::violation::Violations;
use karwan_envelope::wire;
use karwan_registry::Catalogue;

use crate::exit::Outcome;
use crate::platforms::{self, ProfileName};
use crate::{input, output};

/// Validate an envelope: exit 0, or 1 with every violation
///
/// The profile's form, the catalogue's rules and the payload's schema are all checked.
///
/// Examples:
///   karwan envelope validate event.json
///   cat event.json | karwan envelope validate - --profile lock-ce
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The envelope, or - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Its profile; guessed from its fields if absent
    #[arg(long)]
    profile: Option<ProfileName>,
}

pub fn run(args: &Args) -> Outcome {
    let bytes = input::read(&args.file)?;
    let catalogues = platforms::catalogues(None)?;
    let profile = args.profile.unwrap_or_else(|| guess(&bytes));
    match validate(&catalogues, profile, &bytes) {
        Ok(subject) => {
            output::note(&format!("valid: {subject}, profile {}", profile.profile().name));
            Ok(ExitCode::SUCCESS)
        }
        Err(Violations(violations)) => {
            for violation in &violations {
                output::data(&violation.to_string())?;
            }
            let plural = if violations.len() == 1 { "" } else { "s" };
            output::note(&format!("{} violation{plural}, profile {}", violations.len(), profile.profile().name));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn validate(catalogues: &[Catalogue], profile: ProfileName, bytes: &[u8]) -> Result<String, Violations> {
    let directory = platforms::directory(catalogues);
    let envelope = wire::decode(&profile.profile(), &directory, bytes)?.envelope;
    let subject = envelope.subject.as_str();
    let owner = catalogues.iter().find(|catalogue| catalogue.directory().resolve(subject).is_some());
    owner.expect("decoding resolved the subject in one of them").validate(&envelope)?;
    Ok(subject.to_owned())
}

/// The profile whose tell-tale field a document has; only a convenience, so text is enough.
fn guess(bytes: &[u8]) -> ProfileName {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]);
    let has = |field: &str| head.contains(&format!("\"{field}\""));
    if has("specversion") {
        ProfileName::Cloudevents
    } else if has("specVersion") {
        ProfileName::LockCe
    } else if has("partitionKey") {
        ProfileName::Learning
    } else if has("createdAt") && !has("eventVersion") {
        ProfileName::Panorama
    } else {
        ProfileName::Melmastoon
    }
}
