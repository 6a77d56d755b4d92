//! The rows: names, owners, tenancy, keys, provenance, retention, secrets.

use std::collections::BTreeMap;

use karwan_envelope::row::{AiRule, Template, Tenancy};
use karwan_envelope::subject::{Exception, Grammar, Service, Subject};
use serde_json::Value;

use super::place::{Finding, Gate};
use super::platform::Files;
use crate::files::{POLICY, TOPICS, Topic};

pub(super) fn check(files: &Files<'_>, findings: &mut Vec<Finding>) {
    let services: Vec<Service<'_>> =
        files.policy.services.iter().map(|(token, name)| Service { name, token }).collect();
    let exceptions: Vec<Exception<'_>> = files.policy.exceptions.iter().map(exception).collect();
    let grammar = Grammar {
        prefix: files.policy.prefix.as_deref(),
        versioned: files.policy.versioned,
        aggregated: files.policy.aggregated,
        partitioned: false,
        services: &services,
        exceptions: &exceptions,
    };
    let mut report = Report { files, findings };
    for topic in files.rows() {
        report.names(topic, &grammar);
        report.tenancy(topic);
        report.keys(topic);
        report.provenance(topic);
        report.retention(topic);
        report.secrets(topic);
    }
    report.duplicates();
    report.local_only();
    report.stale_policy();
}

fn exception<'a>((subject, exception): (&'a String, &'a crate::files::ExceptionFile)) -> Exception<'a> {
    Exception {
        subject,
        service: &exception.service,
        aggregate: &exception.aggregate,
        verb: &exception.verb,
        why: &exception.why,
    }
}

struct Report<'a, 'f> {
    files: &'a Files<'a>,
    findings: &'f mut Vec<Finding>,
}

impl Report<'_, '_> {
    fn say(&mut self, gate: Gate, topic: &Topic, message: impl Into<String>, remedy: &str) {
        self.findings.push(Finding::new(gate, self.files.place(TOPICS, &topic.subject), message, remedy));
    }

    fn names(&mut self, topic: &Topic, grammar: &Grammar<'_>) {
        let remedy = "follow the grammar; a published name that cannot is pinned in the policy's exceptions";
        let parts = match grammar.parse(&topic.subject) {
            Ok(parts) => parts,
            Err(error) => return self.say(Gate::SubjectGrammar, topic, error.to_string(), remedy),
        };
        if parts.subject.version() != topic.version {
            let message = format!("its version is {}, and the row says {}", parts.subject.version(), topic.version);
            self.say(Gate::SubjectGrammar, topic, message, remedy);
        }
        let path = parts.schema_path();
        if topic.schema_uri.path != path {
            let message = format!("its schema is {}, and its name says {path}", topic.schema_uri.path);
            self.say(Gate::SchemaHash, topic, message, "emit the catalogue anew: a row has a schema of its own");
        }
        if topic.dead_letters != format!("{}.dlq", topic.subject) {
            let message = format!("its dead letters go to `{}`", topic.dead_letters);
            self.say(Gate::Stale, topic, message, "the dead-letter topic is the subject and `.dlq`");
        }
        let by_token = grammar.service(&parts.service).map(|service| service.name);
        let files = self.files;
        let owner = files.policy.owners.get(&topic.subject).map(String::as_str).or(by_token);
        let Some(owner) = owner else {
            let message = format!("`{}` is no service of {}", parts.service, self.files.policy.platform);
            return self.say(Gate::NonOwner, topic, message, "add the service to the policy");
        };
        if topic.owner != owner {
            let message = format!("owned by `{}`, and `{}` belongs to {owner}", topic.owner, parts.service);
            self.say(Gate::NonOwner, topic, message, "only the owning service decides a fact");
        }
        let strangers: Vec<&str> =
            topic.producers.iter().map(String::as_str).filter(|producer| *producer != owner).collect();
        if !strangers.is_empty() && !self.files.policy.shared.contains(&topic.subject) {
            let message = format!("published by {}, and only {owner} may", strangers.join(", "));
            self.say(Gate::NonOwner, topic, message, "let the owner publish it, or list the subject as shared");
        }
        if topic.producers.is_empty() {
            self.say(Gate::NonOwner, topic, "nobody may publish it", "name the owner among its producers");
        }
    }

    fn tenancy(&mut self, topic: &Topic) {
        let policy = &self.files.policy;
        let listed = policy.platform_events.subjects.contains(&topic.subject);
        if listed && topic.tenancy != Tenancy::Platform {
            let message = "on the list of platform events, and is a tenant's";
            self.say(Gate::Untenanted, topic, message, "take it off the list, or mark the event as the platform's");
        }
        match topic.tenancy {
            Tenancy::Platform if !listed => {
                let remedy = "give it a tenant; the list of platform events is small and reviewed every quarter";
                self.say(Gate::Untenanted, topic, "untenanted, and not on the allow-list", remedy);
            }
            Tenancy::CrossTenant => {
                let placed = policy.cross_tenant_prefixes.iter().any(|prefix| topic.subject.starts_with(prefix));
                let read = policy.cross_tenant_reads.contains_key(&topic.subject);
                if !placed || !read {
                    let message = if placed {
                        "cross-tenant, and not in the table of cross-tenant read paths".to_owned()
                    } else if policy.cross_tenant_prefixes.is_empty() {
                        "this platform has no cross-tenant subjects".to_owned()
                    } else {
                        format!("cross-tenant subjects live only under {}", policy.cross_tenant_prefixes.join(", "))
                    };
                    self.say(Gate::CrossTenant, topic, message, "make it a tenant's event, or register the read path");
                }
            }
            Tenancy::Tenant if policy.cross_tenant_reads.contains_key(&topic.subject) => {
                let message = "has a cross-tenant read path, and is a tenant's event";
                self.say(Gate::CrossTenant, topic, message, "remove the path, or mark the event cross-tenant");
            }
            Tenancy::Platform | Tenancy::Tenant => {}
        }
    }

    fn keys(&mut self, topic: &Topic) {
        let remedy = "derive it from the business intent, as a template over mandatory payload fields";
        if topic.idempotency_key.is_empty() {
            self.say(Gate::IdempotencyKey, topic, "no idempotency key", remedy);
        } else {
            self.template(Gate::IdempotencyKey, topic, &topic.idempotency_key, remedy);
        }
        match topic.key.strip_prefix("{tenantId}:") {
            Some(key) if !key.is_empty() => self.template(Gate::OrderingKey, topic, key, "name the aggregate's id"),
            _ => {
                let message = format!("the ordering key `{}` is not {{tenantId}}:<aggregate>", topic.key);
                self.say(Gate::OrderingKey, topic, message, "put the tenant first and the aggregate's id after it");
            }
        }
    }

    /// The fields of a template exist and are always there.
    fn template(&mut self, gate: Gate, topic: &Topic, template: &str, remedy: &str) {
        let Some(schema) = self.files.schemas.get(&topic.schema_file) else { return };
        let template = Template(template.to_owned());
        if template.fields().next().is_none() {
            let message = format!("`{}` names no payload field: every event would collide", template.0);
            self.say(gate, topic, message, remedy);
        }
        for field in template.fields() {
            let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == field));
            if !required {
                let message = format!("`{{{field}}}` is not a mandatory field of the payload");
                self.say(gate, topic, message, remedy);
            }
        }
    }

    fn provenance(&mut self, topic: &Topic) {
        let remedy = "an event that an AI produced says which one";
        let policy = &self.files.policy;
        if policy.ai_prefixes.iter().any(|prefix| topic.subject.starts_with(prefix))
            && topic.ai_provenance != AiRule::Metadata
        {
            let message = "an AI event, and its envelope need not carry aiProvenance";
            self.say(Gate::AiProvenance, topic, message, remedy);
        }
        let listed = policy.ai_payloads.contains(&topic.subject);
        if listed && topic.ai_provenance != AiRule::Payload {
            let message = "an AI event, and its payload need not carry aiProvenance";
            self.say(Gate::AiProvenance, topic, message, remedy);
        }
        let Some(schema) = self.files.schemas.get(&topic.schema_file) else { return };
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == "aiProvenance"));
        if topic.ai_provenance == AiRule::Payload && !required {
            let message = "its schema does not require aiProvenance";
            self.say(Gate::AiProvenance, topic, message, remedy);
        }
        if topic.ai_provenance == AiRule::PayloadOptional && schema["properties"].get("aiProvenance").is_none() {
            self.say(Gate::AiProvenance, topic, "its schema has no aiProvenance", remedy);
        }
    }

    fn retention(&mut self, topic: &Topic) {
        if !self.files.policy.retention.contains(&topic.retention) {
            let message = format!("`{}` with these durations is no retention class", topic.retention.class);
            self.say(Gate::RetentionClass, topic, message, "use a class of the platform's policy");
        }
    }

    fn secrets(&mut self, topic: &Topic) {
        let Some(schema) = self.files.schemas.get(&topic.schema_file) else { return };
        let allowed = self.files.policy.not_secret.get(&topic.subject).cloned().unwrap_or_default();
        let mut names = Vec::new();
        property_names(schema, &mut names);
        for name in names.into_iter().filter(|name| looks_secret(name) && !allowed.contains(name)) {
            let message = format!("the field `{name}` looks like a secret");
            let remedy =
                "payloads never hold tokens, passwords or secrets; a name that misleads is listed in the policy";
            self.say(Gate::Secret, topic, message, remedy);
        }
    }

    fn duplicates(&mut self) {
        let mut seen: BTreeMap<&str, &Topic> = BTreeMap::new();
        for topic in self.files.rows() {
            for name in std::iter::once(&topic.subject).chain(&topic.aliases) {
                if let Some(first) = seen.insert(name, topic) {
                    let message = format!("`{name}` is also a name of {}", first.subject);
                    self.say(Gate::SubjectDuplicate, topic, message, "one spelling names one fact");
                }
            }
        }
    }

    fn local_only(&mut self) {
        // `….local.v1`; a word elsewhere in a name means something else.
        let is_local = |topic: &Topic| {
            let subject = topic.subject.parse::<Subject>();
            subject.is_ok_and(|subject| subject.event_type().rsplit('.').next() == Some("local"))
        };
        let files = self.files;
        for topic in files.topics.topics.iter().filter(|topic| is_local(topic)) {
            let remedy = "move it to localOnly: it is never published";
            self.say(Gate::LocalOnly, topic, "a local subject among the topics", remedy);
        }
        for topic in files.topics.local_only.iter().filter(|topic| !is_local(topic)) {
            let remedy = "move it to the topics, or name it ….local: whoever reads the name must see it";
            self.say(Gate::LocalOnly, topic, "among the local-only events, and its name does not say so", remedy);
        }
    }

    /// The policy's lists name only rows that exist, and the review date is a date.
    fn stale_policy(&mut self) {
        let policy = &self.files.policy;
        let subjects: Vec<&String> =
            self.files.rows().flat_map(|topic| std::iter::once(&topic.subject).chain(&topic.aliases)).collect();
        let named = policy.platform_events.subjects.iter().chain(policy.cross_tenant_reads.keys());
        let named = named.chain(&policy.ai_payloads).chain(&policy.shared).chain(policy.exceptions.keys());
        let named = named.chain(policy.owners.keys()).chain(policy.not_secret.keys());
        for subject in named.filter(|subject| !subjects.contains(subject)) {
            let place = self.files.place(POLICY, subject);
            let message = "the policy names a subject that no row has";
            self.findings.push(Finding::new(Gate::Stale, place, message, "remove it from the policy"));
        }
        if policy.platform_events.reviewed_on.parse::<karwan_envelope::time::Date>().is_err() {
            let place = self.files.place(POLICY, "platformEvents/reviewedOn");
            let message = "the allow-list of platform events has no review date";
            self.findings.push(Finding::new(Gate::Untenanted, place, message, "review the list and write the day"));
        }
    }
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "secret", "password", "authorization"].iter().any(|word| name.contains(word))
}

/// The names of all properties, at any depth.
fn property_names(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                names.extend(properties.keys().cloned());
            }
            fields.values().for_each(|field| property_names(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| property_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
