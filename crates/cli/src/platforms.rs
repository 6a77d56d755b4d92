//! The platforms compiled into this binary.

use anyhow::Context;
use clap::ValueEnum;
use karwan_envelope::directory::{Directory, Entry};
use karwan_envelope::profile::{CLOUDEVENTS, Profile};
use karwan_registry::files::{self, Tree};
use karwan_registry::{Catalogue, Platform};
use karwan_store::KindType;

use crate::exit::Failure;

/// A platform's name on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Hotels
    Melmastoon,
    /// E-learning
    Learning,
    /// Asset reservations
    Panorama,
}

impl Name {
    /// All of them.
    pub const ALL: [Name; 3] = [Name::Melmastoon, Name::Learning, Name::Panorama];

    fn platform(self) -> &'static Platform {
        match self {
            Name::Melmastoon => &melmastoon::platform::PLATFORM,
            Name::Learning => &learning::platform::PLATFORM,
            Name::Panorama => &panorama::platform::PLATFORM,
        }
    }

    /// The consumers of its services.
    pub fn consumers(self) -> Vec<karwan::Consumer> {
        use melmastoon::{
            analytics, audit, billing, iam, inventory, lock_integration, notification, payment, pricing, reservation,
            search_aggregation,
        };
        let lists = match self {
            Name::Melmastoon => vec![
                analytics::work::consumers(),
                audit::work::consumers(),
                billing::work::consumers(),
                iam::work::consumers(),
                inventory::work::consumers(),
                lock_integration::work::consumers(),
                notification::work::consumers(),
                payment::work::consumers(),
                pricing::work::consumers(),
                reservation::work::consumers(),
                search_aggregation::work::consumers(),
            ],
            // Their services come later.
            Name::Learning | Name::Panorama => Vec::new(),
        };
        lists.into_iter().flatten().collect()
    }

    /// Its catalogue.
    pub fn catalogue(self) -> Result<Catalogue, Failure> {
        let platform = self.platform();
        Ok(Catalogue::of(platform).with_context(|| format!("the catalogue of {} is broken", platform.name))?)
    }
}

/// The kinds of document that the services of all platforms keep.
pub fn kinds() -> Vec<KindType> {
    melmastoon::hotel::kinds()
}

/// The catalogues of one platform, or of all.
pub fn catalogues(only: Option<Name>) -> Result<Vec<Catalogue>, Failure> {
    Name::ALL.into_iter().filter(|name| only.is_none_or(|only| only == *name)).map(Name::catalogue).collect()
}

/// All compiled-in catalogues as files.
pub fn tree(catalogues: &[Catalogue]) -> Tree {
    catalogues.iter().flat_map(files::emit).collect()
}

/// An envelope profile's name on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// Routing facts in metadata (document 000)
    Melmastoon,
    /// Flat, ULIDs (document 003)
    Learning,
    /// The lock integration's form (document 004)
    LockCe,
    /// A row of the notification table (document 001)
    Panorama,
    /// CloudEvents 1.0, structured JSON
    Cloudevents,
}

impl ProfileName {
    /// All of them.
    pub const ALL: [ProfileName; 5] = [
        ProfileName::Melmastoon,
        ProfileName::Learning,
        ProfileName::LockCe,
        ProfileName::Panorama,
        ProfileName::Cloudevents,
    ];

    /// The profile itself.
    pub fn profile(self) -> Profile {
        match self {
            ProfileName::Melmastoon => melmastoon::platform::PROFILE,
            ProfileName::Learning => learning::platform::PROFILE,
            ProfileName::LockCe => melmastoon::platform::LOCK_PROFILE,
            ProfileName::Panorama => panorama::platform::PROFILE,
            ProfileName::Cloudevents => CLOUDEVENTS,
        }
    }
}

/// All profiles.
pub fn profiles() -> Vec<Profile> {
    ProfileName::ALL.map(ProfileName::profile).to_vec()
}

/// The subjects of all platforms; their names do not collide.
pub fn directory(catalogues: &[Catalogue]) -> Directory {
    let entries: Vec<Entry> =
        catalogues.iter().flat_map(|catalogue| catalogue.directory().entries().iter().cloned()).collect();
    Directory::new(entries)
}
