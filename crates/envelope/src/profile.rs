//! Profiles: how one platform writes envelopes. Data and a choice of wire form, never a fork of the engine.

use serde::{Deserialize, Serialize};

use crate::cause::Residency;
use crate::ids::Form;

/// How long an event is kept, and what the platform calls that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionClass {
    /// The label in envelopes.
    pub label: &'static str,
    /// Days on the broker.
    pub broker_days: u32,
    /// Days in the warehouse.
    pub warehouse_days: u32,
    /// Days in cold storage; 0 where the class has none.
    pub cold_days: u32,
}

impl RetentionClass {
    /// The class as a value that an envelope carries.
    pub fn retention(&self) -> Retention {
        let Self { label, broker_days, warehouse_days, cold_days } = *self;
        Retention { class: label.to_owned(), broker_days, warehouse_days, cold_days }
    }
}

/// A retention class by value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retention {
    /// Its label.
    pub class: String,
    /// Days on the broker.
    pub broker_days: u32,
    /// Days in the warehouse.
    pub warehouse_days: u32,
    /// Days in cold storage; 0 where the class has none.
    pub cold_days: u32,
}

impl Retention {
    /// When the last copy goes.
    pub fn days(&self) -> u32 {
        self.broker_days.max(self.warehouse_days).max(self.cold_days)
    }
}

/// The wire forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Routing facts in a `metadata` object beside the payload.
    Nested,
    /// All facts at the top level, `source` and `actor` as objects.
    Flat,
    /// `specVersion` and `data`, in the manner of CloudEvents but with names of its own.
    SpecData,
    /// A row of a notification table.
    TableRow,
    /// CloudEvents 1.0, structured JSON.
    CloudEvents,
}

/// How one platform writes envelopes.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The name on command lines.
    pub name: &'static str,
    /// The wire form.
    pub wire: Wire,
    /// How it prints event ids.
    pub event_id: Form,
    /// How it prints tenant ids.
    pub tenant_id: Form,
    /// Whether its subjects end in `.v<n>`.
    pub versioned: bool,
    /// Its retention classes, shortest first.
    pub retention: &'static [RetentionClass],
    /// Where data lives when an envelope does not say.
    pub residency: Residency,
    /// The beginning of the spelling that it prefers, where a subject has aliases.
    pub alias_prefix: Option<&'static str>,
    /// Where it publishes schemas, for forms that print an address without a hash.
    pub schema_base: Option<&'static str>,
}

/// CloudEvents 1.0 with our extension attributes: the form for readers who know nothing of us. It carries retention by
/// value, so it needs no classes of its own.
pub const CLOUDEVENTS: Profile = Profile {
    name: "cloudevents",
    wire: Wire::CloudEvents,
    event_id: Form::Uuid,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: &[],
    residency: Residency::Me,
    alias_prefix: None,
    schema_base: None,
};

impl Profile {
    /// The class with this label.
    pub fn class(&self, label: &str) -> Option<&RetentionClass> {
        self.retention.iter().find(|class| class.label == label)
    }

    /// This profile's label for a retention: its own, else the shortest class that keeps as long, else the longest.
    pub fn label_for(&self, retention: &Retention) -> &'static str {
        self.class(&retention.class)
            .or_else(|| self.retention.iter().find(|class| class.retention().days() >= retention.days()))
            .or(self.retention.last())
            .map_or("", |class| class.label)
    }
}
