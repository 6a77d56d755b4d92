//! `#[derive(Event)]`: from one struct, its subject, owner, retention, key and idempotency key.
//!
//! Everything that can be checked without the other events is checked here, at compile time; what needs the whole
//! catalogue (grammar, owners, allow-lists, duplicates) is checked by `karwan catalog check`.

mod attributes;
mod template;
#[cfg(test)]
mod tests;

use attributes::Attributes;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Path, Result, parse_quote};
use template::{Field, Template};

/// Makes a struct an event. Attributes, all in `#[event(…)]`:
///
/// | attribute | meaning |
/// |---|---|
/// | `subject = "…"` | canonical name, mandatory |
/// | `owner = "…"` | the service that decides it, mandatory |
/// | `retention = "…"` | label of its retention class, mandatory |
/// | `key = "{field}"` | template of the aggregate's id, mandatory |
/// | `idempotency = "{field}:verb"` | template of the business intent, mandatory |
/// | `aliases("…", …)` | other spellings |
/// | `producers("…", …)` | who may publish it, when not the owner alone |
/// | `tenancy = "tenant"`, `"cross_tenant"`, `"platform"` | default `tenant` |
/// | `scope = "domain"`, `"integration"` | default `domain` |
/// | `ai_provenance = "none"`, `"metadata"`, `"payload"`, `"payload_optional"` | default `none` |
/// | `merkle`, `local_only`, `decided_here` | flags |
/// | `crate = "path"` | where `karwan_registry` is found, if not under its own name |
///
/// The doc comment becomes the row's summary and the schema's description, and is mandatory.
#[proc_macro_derive(Event, attributes(event))]
pub fn derive_event(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, &parse_quote!(::karwan_registry)).unwrap_or_else(Error::into_compile_error).into()
}

/// [`Event`] for a crate that knows `karwan` alone, which calls it by that name: the registry is found in there.
#[proc_macro_derive(EventOfFacade, attributes(event))]
pub fn derive_event_of_facade(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, &parse_quote!(::karwan::registry)).unwrap_or_else(Error::into_compile_error).into()
}

/// `registry` is where the registry is found, unless the struct says so itself.
fn expand(input: &DeriveInput, registry: &Path) -> Result<TokenStream> {
    let attributes = Attributes::parse(input)?;
    let fields = json_fields(input, attributes.camel_case)?;
    let key = Template::parse(&attributes.key, &fields)?;
    let idempotency = Template::parse(&attributes.idempotency, &fields)?;

    let name = &input.ident;
    let krate = attributes.krate.as_ref().unwrap_or(registry);
    let Attributes { subject, owner, retention, summary, aliases, producers, .. } = &attributes;
    let Attributes { tenancy, scope, ai_provenance, merkle, local_only, decided_here, .. } = &attributes;
    let (key_json, idempotency_json) = (&key.json, &idempotency.json);
    let (key_format, key_args) = key.format();
    let (idempotency_format, idempotency_args) = idempotency.format();
    Ok(quote! {
        impl #krate::Event for #name {
            const SUBJECT: &'static str = #subject;

            fn row() -> #krate::Row {
                #krate::Row {
                    subject: #subject.to_owned(),
                    aliases: ::std::vec![#(#aliases.to_owned()),*],
                    owner: #owner.to_owned(),
                    producers: ::std::vec![#(#producers.to_owned()),*],
                    summary: #summary.to_owned(),
                    retention: #retention.to_owned(),
                    merkle: #merkle,
                    tenancy: #krate::Tenancy::#tenancy,
                    scope: #krate::Scope::#scope,
                    local_only: #local_only,
                    key: #krate::Template(#key_json.to_owned()),
                    idempotency_key: #krate::Template(#idempotency_json.to_owned()),
                    ai_provenance: #krate::AiRule::#ai_provenance,
                    decided_here: #decided_here,
                }
            }

            fn key(&self) -> ::std::string::String {
                ::std::format!(#key_format, #(self.#key_args),*)
            }

            fn idempotency_key(&self) -> ::std::string::String {
                ::std::format!(#idempotency_format, #(self.#idempotency_args),*)
            }
        }
    })
}

/// The struct's fields with their names on the wire.
fn json_fields(input: &DeriveInput, camel_case: bool) -> Result<Vec<Field>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "an event is a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "an event is a struct with named fields"));
    };
    fields.named.iter().map(|field| Field::parse(field, camel_case)).collect()
}
