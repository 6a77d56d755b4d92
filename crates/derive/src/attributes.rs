//! Reads `#[event(…)]`, the doc comment and serde's renames.

use proc_macro2::{Ident, Span};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, DeriveInput, Error, Expr, ExprLit, Lit, LitStr, Meta, Path, Result};

/// Everything that `#[event(…)]` and the doc comment say.
pub struct Attributes {
    pub subject: LitStr,
    pub owner: LitStr,
    pub retention: LitStr,
    pub key: LitStr,
    pub idempotency: LitStr,
    pub aliases: Vec<LitStr>,
    pub producers: Vec<LitStr>,
    pub tenancy: Ident,
    pub scope: Ident,
    pub ai_provenance: Ident,
    pub merkle: bool,
    pub local_only: bool,
    pub decided_here: bool,
    pub summary: String,
    pub camel_case: bool,
    pub krate: Option<Path>,
}

/// What was read so far; the mandatory ones are checked at the end, so that one error names them all.
#[derive(Default)]
struct Read {
    subject: Option<LitStr>,
    owner: Option<LitStr>,
    retention: Option<LitStr>,
    key: Option<LitStr>,
    idempotency: Option<LitStr>,
    aliases: Vec<LitStr>,
    producers: Vec<LitStr>,
    tenancy: Option<LitStr>,
    scope: Option<LitStr>,
    ai_provenance: Option<LitStr>,
    merkle: bool,
    local_only: bool,
    decided_here: bool,
    krate: Option<LitStr>,
}

impl Attributes {
    pub fn parse(input: &DeriveInput) -> Result<Self> {
        let mut read = Read::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
            attribute.parse_nested_meta(|meta| read.take(&meta))?;
        }
        let span = input.ident.span();
        let doc = doc_comment(&input.attrs);
        if doc.trim().is_empty() {
            return Err(Error::new(span, "an event needs a doc comment: it tells what happened"));
        }
        if read.decided_here != doc.to_lowercase().contains("decided here") {
            return Err(Error::new(
                span,
                "`decided_here` and the words \"Decided here\" in the doc comment go together",
            ));
        }
        read.finish(span, summary(&doc), serde_camel_case(&input.attrs)?)
    }
}

impl Read {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        match name.as_str() {
            "subject" => self.subject = Some(meta.value()?.parse()?),
            "owner" => self.owner = Some(meta.value()?.parse()?),
            "retention" => self.retention = Some(meta.value()?.parse()?),
            "key" => self.key = Some(meta.value()?.parse()?),
            "idempotency" => self.idempotency = Some(meta.value()?.parse()?),
            "tenancy" => self.tenancy = Some(meta.value()?.parse()?),
            "scope" => self.scope = Some(meta.value()?.parse()?),
            "ai_provenance" => self.ai_provenance = Some(meta.value()?.parse()?),
            "crate" => self.krate = Some(meta.value()?.parse()?),
            "aliases" => self.aliases = list(meta)?,
            "producers" => self.producers = list(meta)?,
            "merkle" => self.merkle = true,
            "local_only" => self.local_only = true,
            "decided_here" => self.decided_here = true,
            _ => return Err(meta.error("not an attribute of an event; see the documentation of the derive")),
        }
        Ok(())
    }

    fn finish(self, span: Span, summary: String, camel_case: bool) -> Result<Attributes> {
        let missing: Vec<&str> = [
            ("subject", self.subject.is_none()),
            ("owner", self.owner.is_none()),
            ("retention", self.retention.is_none()),
            ("key", self.key.is_none()),
            ("idempotency", self.idempotency.is_none()),
        ]
        .into_iter()
        .filter_map(|(name, missing)| missing.then_some(name))
        .collect();
        let (Some(subject), Some(owner), Some(retention), Some(key), Some(idempotency)) =
            (self.subject, self.owner, self.retention, self.key, self.idempotency)
        else {
            return Err(Error::new(span, format!("#[event(…)] lacks: {}", missing.join(", "))));
        };
        for name in std::iter::once(&subject).chain(&self.aliases) {
            check_subject(name)?;
        }
        let producers = if self.producers.is_empty() { vec![owner.clone()] } else { self.producers };
        let krate = self.krate.map(|path| path.parse::<Path>()).transpose()?;
        Ok(Attributes {
            tenancy: variant(
                self.tenancy,
                &[("tenant", "Tenant"), ("cross_tenant", "CrossTenant"), ("platform", "Platform")],
            )?,
            scope: variant(self.scope, &[("domain", "Domain"), ("integration", "Integration")])?,
            ai_provenance: variant(
                self.ai_provenance,
                &[
                    ("none", "None"),
                    ("metadata", "Metadata"),
                    ("payload", "Payload"),
                    ("payload_optional", "PayloadOptional"),
                ],
            )?,
            subject,
            owner,
            retention,
            key,
            idempotency,
            aliases: self.aliases,
            producers,
            merkle: self.merkle,
            local_only: self.local_only,
            decided_here: self.decided_here,
            summary,
            camel_case,
            krate,
        })
    }
}

fn list(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    let content;
    syn::parenthesized!(content in meta.input);
    Ok(content.parse_terminated(|input| input.parse::<LitStr>(), syn::Token![,])?.into_iter().collect())
}

/// The enum variant that a text stands for; the first one when there is none.
fn variant(text: Option<LitStr>, known: &[(&str, &str)]) -> Result<Ident> {
    let Some(text) = text else { return Ok(Ident::new(known[0].1, Span::call_site())) };
    match known.iter().find(|(name, _)| *name == text.value()) {
        Some((_, variant)) => Ok(Ident::new(variant, text.span())),
        None => {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            Err(Error::new(text.span(), format!("one of: {}", names.join(", "))))
        }
    }
}

/// Dotted snake_case with an optional `.v<n>` at the end; the platform's grammar is checked with the catalogue.
fn check_subject(subject: &LitStr) -> Result<()> {
    let text = subject.value();
    let segment = |segment: &str| {
        segment.starts_with(|first: char| first.is_ascii_lowercase())
            && segment.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    if text.split('.').count() < 2 || !text.split('.').all(segment) {
        return Err(Error::new(subject.span(), "a subject is dotted snake_case, such as shop.order.placed.v1"));
    }
    Ok(())
}

fn doc_comment(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    lines.join("\n")
}

/// The first paragraph on one line.
fn summary(doc: &str) -> String {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or_default();
    paragraph.replace('\n', " ")
}

fn serde_camel_case(attributes: &[Attribute]) -> Result<bool> {
    let mut camel_case = false;
    serde_values(attributes, |name, value| {
        if name == "rename_all" {
            if value.value() != "camelCase" {
                return Err(Error::new(value.span(), "an event's fields are camelCase or as written"));
            }
            camel_case = true;
        }
        Ok(())
    })?;
    Ok(camel_case)
}

/// The name given by `#[serde(rename = "…")]`.
pub fn serde_rename(attributes: &[Attribute]) -> Result<Option<String>> {
    let mut renamed = None;
    serde_values(attributes, |name, value| {
        if name == "rename" {
            renamed = Some(value.value());
        }
        Ok(())
    })?;
    Ok(renamed)
}

fn serde_values(attributes: &[Attribute], mut each: impl FnMut(&str, &LitStr) -> Result<()>) -> Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            if meta.input.peek(syn::Token![=]) {
                let value: Expr = meta.value()?.parse()?;
                if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &value {
                    each(&name, text)?;
                }
            } else if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
