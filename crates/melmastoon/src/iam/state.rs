//! What iam keeps: accounts, who has which address, and what each account may do where.

use std::collections::BTreeMap;

use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::{AccountKind, SignInMethod};
use crate::digest::sha256_of;
use crate::ids::{MembershipId, PropertyId, UserId};
use crate::values::{Locale, StaffRole};

/// An account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// The user.
    pub user_id: UserId,
    /// How often it was changed.
    pub version: u32,
    /// What kind of account it is.
    pub kind: AccountKind,
    /// The user's name.
    pub full_name: String,
    /// The address that signs in.
    pub email: String,
    /// A number for second factors and alerts.
    pub phone: Option<String>,
    /// The language.
    pub preferred_locale: Locale,
    /// How the user proves who they are.
    pub sign_in: SignInMethod,
    /// Whether they may sign in.
    pub active: bool,
}

impl Document for User {
    const KIND: Kind = Kind { name: "iam_user", shape: 1, carries: Some("melmastoon.iam.user"), fields: &[] };
    fn id(&self) -> String {
        self.user_id.to_string()
    }
}

/// Who has an address: it signs in to one account of a tenant. Named by the hash, so that no name of a document is personal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Address {
    hash: String,
    /// Whose it is.
    pub user_id: UserId,
}

impl Address {
    /// An address and its account.
    pub fn of(email: &str, user_id: UserId) -> Self {
        Self { hash: Self::key(email), user_id }
    }

    /// The id of an address; case does not count.
    pub fn key(email: &str) -> String {
        sha256_of(&[email.to_lowercase().as_bytes()])
    }
}

impl Document for Address {
    const KIND: Kind = Kind::named("iam_address");
    fn id(&self) -> String {
        self.hash.clone()
    }
}

/// What an account may do, by membership. The roles are granted by tenant-service; here they are looked up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The user.
    pub user_id: UserId,
    /// What was granted.
    pub grants: BTreeMap<MembershipId, Grant>,
}

/// A role at some properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The membership's version.
    pub version: u32,
    /// The role.
    pub role: StaffRole,
    /// Where it holds; none means everywhere.
    pub property_ids: Vec<PropertyId>,
    /// Whether they may decide about irreversible proposals of an AI.
    pub ai_decisions: bool,
}

impl Document for Access {
    const KIND: Kind = Kind::named("iam_access");
    fn id(&self) -> String {
        self.user_id.to_string()
    }
}
