//! The release after: an order keeps its notes as a list, and can be asked how many it has. It reads the shape before and
//! still writes it, because processes of the release before may live.

use karwan_store::kind::{Document, Field, FieldType, FieldValue, Kind, UnknownShape};
use karwan_store::{Error, TenantTx};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shop::Order;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OrderOfNext {
    id: String,
    status: String,
    items: i64,
    notes: Vec<i64>,
}

const FIELDS: [Field; 6] = {
    let [a, b, c, d, e] = *Order::KIND.fields.first_chunk::<5>().expect("it declares five");
    [a, b, c, d, e, Field { name: "noted", of: FieldType::Integer }]
};

impl Document for OrderOfNext {
    const KIND: Kind = Kind { shape: 2, fields: &FIELDS, ..Order::KIND };
    const WRITES: u32 = 1;

    fn id(&self) -> String {
        self.id.clone()
    }

    fn fields(&self) -> Vec<FieldValue> {
        let noted = i64::try_from(self.notes.len()).expect("they are few");
        let absent = || FieldValue::Absent;
        vec![self.status.as_str().into(), self.items.into(), absent(), absent(), absent(), noted.into()]
    }

    fn upcast(shape: u32, mut body: Value) -> Result<Value, UnknownShape> {
        if shape == 1 {
            let note = body["note"].as_str().unwrap_or_default();
            let notes: Vec<i64> = note.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            body["notes"] = json!(notes);
        }
        Ok(body)
    }

    fn downcast(mut body: Value) -> Result<Value, UnknownShape> {
        let notes: Vec<i64> = body["notes"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        body["note"] = notes.iter().map(|note| format!("{note} ")).collect::<String>().into();
        Ok(body)
    }
}

pub async fn note(tx: &TenantTx, id: &str, revision: i64) -> Result<(), Error> {
    let name = format!("notes-{id}");
    let notes: Option<OrderOfNext> = tx.find(&name).await?;
    let none = || OrderOfNext { id: name.clone(), status: "open".to_owned(), items: 1, notes: Vec::new() };
    let mut notes = notes.unwrap_or_else(none);
    notes.notes.push(revision);
    tx.put(notes);
    Ok(())
}
