mod convert;
mod trace;
mod validate;
