//! Reads files and standard input, with a bound.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};

use crate::exit::Failure;

/// Nothing longer is read into memory, whatever it is.
const BYTES_MAX: u64 = 64 << 20;

/// The bytes of a file, or of standard input for `-`.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return bounded(std::io::stdin().lock(), "standard input");
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}")).map_err(Failure::input)?;
    bounded(file, &name)
}

fn bounded(source: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}")).map_err(Failure::input)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::input(anyhow!("{name} has more than {BYTES_MAX} bytes, and no document may")));
    }
    Ok(bytes)
}
