//! The binary as its users meet it: arguments and files in; standard output, standard error and an exit code out.

mod bench;
mod catalog;
mod chaos;
mod completions;
mod config;
mod envelope;
mod folder;
mod goldens;
mod help;
mod hostile;
mod jetstream;
mod judge;
mod karwan;
mod pipes;
mod samples;
mod schema;
mod store;
mod topology;
mod up;
