//! Tenants and keys as people write them.

use std::str::FromStr;

use karwan_envelope::cause::{PLATFORM, Tenant};
use karwan_envelope::ids::Form;
use karwan_store::stored::tenant_of;
use karwan_store::write_set::TenantBits;

/// A tenant in any of its spellings, as bits.
#[derive(Clone, Copy)]
pub struct TenantName(pub TenantBits);

impl FromStr for TenantName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == PLATFORM {
            return Ok(Self(0));
        }
        let forms = [Form::Prefixed("tnt"), Form::Ulid, Form::Uuid];
        let bits = forms.into_iter().find_map(|form| form.parse(text).ok());
        bits.map(Self).ok_or_else(|| "a tenant is tnt_<ULID>, a ULID, a UUID in lower case, or platform".to_owned())
    }
}

/// How a tenant is printed.
pub fn shown(tenant: TenantBits) -> String {
    match tenant_of(tenant) {
        Tenant::One(id) => id.to_string(),
        Tenant::Platform => PLATFORM.to_owned(),
    }
}

/// A key with its tenant: `<tenant>:<aggregate>`.
#[derive(Clone)]
pub struct KeyName {
    /// Whose.
    pub tenant: TenantBits,
    /// The aggregate's id.
    pub key: String,
}

impl FromStr for KeyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':').filter(|(_, key)| !key.is_empty());
        let (tenant, key) = parts.ok_or_else(|| "a key is <tenant>:<aggregate>, such as tnt_…:rsv_…".to_owned())?;
        Ok(Self { tenant: tenant.parse::<TenantName>()?.0, key: key.to_owned() })
    }
}

impl std::fmt::Display for KeyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", shown(self.tenant), self.key)
    }
}
