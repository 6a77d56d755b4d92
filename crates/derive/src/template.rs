//! Templates over the struct's fields: `{order_id}:placed`.

use proc_macro2::Ident;
use syn::{Error, LitStr, Result};

use crate::attributes::serde_rename;

/// A field and its name on the wire.
pub struct Field {
    ident: Ident,
    /// As it is named in templates.
    name: String,
    json: String,
}

impl Field {
    pub fn parse(field: &syn::Field, camel_case: bool) -> Result<Self> {
        let ident = field.ident.clone().expect("fields of this struct are named");
        let plain = ident.to_string();
        let name = plain.trim_start_matches("r#").to_owned();
        let json = match serde_rename(&field.attrs)? {
            Some(renamed) => renamed,
            None if camel_case => to_camel_case(&name),
            None => name.clone(),
        };
        Ok(Self { ident, name, json })
    }
}

/// A template in its two spellings: over the struct for the code, over the payload for the row.
pub struct Template {
    /// With payload names.
    pub json: String,
    format: String,
    fields: Vec<Ident>,
}

impl Template {
    pub fn parse(text: &LitStr, fields: &[Field]) -> Result<Self> {
        let value = text.value();
        let mut parts = value.split('{');
        let literal = parts.next().unwrap_or_default();
        // A brace in the text would mean one thing to the code and another to whoever reads the row.
        let stray = |text: &str| text.contains('}');
        if stray(literal) {
            return Err(Error::new(text.span(), "a `}` without its `{`"));
        }
        let mut template = Self { json: literal.to_owned(), format: literal.to_owned(), fields: Vec::new() };
        for part in parts {
            let Some((name, rest)) = part.split_once('}') else {
                return Err(Error::new(text.span(), "a `{` without its `}`"));
            };
            if stray(rest) {
                return Err(Error::new(text.span(), "a `}` without its `{`"));
            }
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                return Err(Error::new(text.span(), format!("no field `{name}` in this struct")));
            };
            template.fields.push(field.ident.clone());
            template.format.push_str("{}");
            template.format.push_str(rest);
            template.json.push_str(&format!("{{{}}}{rest}", field.json));
        }
        if template.fields.is_empty() {
            return Err(Error::new(text.span(), "name at least one field in braces, such as \"{order_id}\""));
        }
        Ok(template)
    }

    pub fn format(&self) -> (&str, &[Ident]) {
        (&self.format, &self.fields)
    }
}

/// `order_id` → `orderId`, as serde does it.
fn to_camel_case(snake: &str) -> String {
    let mut camel = String::new();
    let mut upper = false;
    for char in snake.chars() {
        match char {
            '_' => upper = true,
            _ if upper => {
                camel.extend(char.to_uppercase());
                upper = false;
            }
            _ => camel.push(char),
        }
    }
    camel
}
