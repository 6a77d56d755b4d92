//! What only a file can show.

mod backup;
mod clock;
mod doctor;
mod file;
mod group;
mod kill;
