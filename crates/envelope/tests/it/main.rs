//! The envelope crate from outside: ids, time, money, names, strict JSON and the five wire forms.

mod aliases;
mod convert;
mod draft;
mod edges;
mod envelopes;
mod faults;
mod goldens;
mod hostile;
mod ids;
mod json;
mod json_hostile;
mod keys;
mod metadata;
mod mint;
mod money;
mod names;
mod round_trip;
mod schemas;
mod shop;
mod subject;
mod time;
mod trace;
