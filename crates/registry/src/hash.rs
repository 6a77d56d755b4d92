//! Content hashes: SHA-256 over canonical JSON (RFC 8785), so that key order and white space do not count.

use karwan_envelope::directory::Hash;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Why a document has no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// Canonical JSON rounds such a number, so two documents would hash alike.
    #[error("{pointer}: the number {number} is rounded by canonical JSON; write it as a string")]
    Number {
        /// Where it stands.
        pointer: String,
        /// The number.
        number: String,
    },
}

/// The hash of a document.
pub fn hash(document: &Value) -> Result<Hash, HashError> {
    refuse_rounded(document, &mut String::new())?;
    let canonical = serde_json_canonicalizer::to_vec(document).expect("values of JSON have a canonical form");
    Ok(Hash(Sha256::digest(&canonical).into()))
}

fn refuse_rounded(value: &Value, pointer: &mut String) -> Result<(), HashError> {
    let length = pointer.len();
    match value {
        Value::Number(number) => {
            let safe = karwan_envelope::json::SAFE_INTEGER_MAX;
            let rounded = number.as_u64().is_some_and(|it| it > safe)
                || number.as_i64().is_some_and(|it| it.unsigned_abs() > safe);
            if rounded {
                return Err(HashError::Number { pointer: pointer.clone(), number: number.to_string() });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                refuse_rounded(item, pointer)?;
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                refuse_rounded(field, pointer)?;
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
    Ok(())
}
