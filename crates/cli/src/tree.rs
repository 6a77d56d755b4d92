//! Catalogues on disk.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, anyhow};
use karwan_registry::bundle;
use karwan_registry::files::{POLICY, SAMPLES, SCHEMAS, TOPICS, Tree};

use crate::exit::Failure;
use crate::input;

/// More files than any catalogue has; a wrong folder is noticed before it is read whole.
const FILES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 16;
/// Bytes of all files together, and many times what any catalogue has.
const BYTES_MAX: usize = 256 << 20;

/// The files below a folder.
pub fn read(folder: &Path) -> Result<Tree, Failure> {
    let mut tree = Tree::new();
    collect(folder, String::new(), 0, &mut tree, &mut 0)?;
    Ok(tree)
}

/// The files below a folder, or inside a bundle.
pub fn read_dir_or_bundle(path: &Path) -> Result<Tree, Failure> {
    if path.is_dir() {
        return read(path);
    }
    let bytes = input::read(path)?;
    bundle::load(&bytes)
        .with_context(|| format!("{} is neither a folder nor a bundle", path.display()))
        .map_err(Failure::input)
}

fn collect(folder: &Path, prefix: String, depth: usize, tree: &mut Tree, bytes: &mut usize) -> Result<(), Failure> {
    if depth > DEPTH_MAX {
        return Err(too_much(folder, format!("is nested deeper than {DEPTH_MAX} folders")));
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()));
    for entry in entries.map_err(Failure::input)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let kind = entry.file_type()?;
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if kind.is_dir() {
            collect(&entry.path(), path, depth + 1, tree, bytes)?;
        } else if kind.is_file() {
            let file = input::read(&entry.path())?;
            *bytes += file.len();
            tree.insert(path, file);
        }
        if tree.len() > FILES_MAX {
            return Err(too_much(folder, format!("has more than {FILES_MAX} files")));
        }
        if *bytes > BYTES_MAX {
            return Err(too_much(folder, format!("has more than {BYTES_MAX} bytes")));
        }
    }
    Ok(())
}

fn too_much(folder: &Path, what: String) -> Failure {
    Failure::input(anyhow!("{}: {what}, and no catalogue does; name the catalogue's own folder", folder.display()))
}

/// Whether emitting owns a path, and may remove what no longer belongs there.
pub fn owned(path: &str) -> bool {
    let Some((_, file)) = path.split_once('/') else { return false };
    [TOPICS, POLICY].contains(&file) || file.split_once('/').is_some_and(|(top, _)| [SCHEMAS, SAMPLES].contains(&top))
}

/// Writes a tree, and removes files of its platforms that it no longer has. Each file appears whole or not at all.
/// A folder of a platform's name that is no catalogue is somebody else's, and nothing is touched.
pub fn write(folder: &Path, tree: &Tree) -> Result<Written, Failure> {
    refuse_foreign(folder, tree)?;
    let mut written = Written::default();
    for (path, bytes) in tree {
        let target = folder.join(path);
        if fs::read(&target).is_ok_and(|present| present == *bytes) {
            continue;
        }
        let parent = target.parent().expect("a file of a tree has a folder");
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        replace(&target, bytes).with_context(|| format!("cannot write {}", target.display()))?;
        written.changed += 1;
    }
    for path in stale(folder, tree)? {
        fs::remove_file(folder.join(&path)).with_context(|| format!("cannot remove {path}"))?;
        written.removed += 1;
    }
    Ok(written)
}

/// Writes a file beside its place and moves it there.
pub fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let beside = target.with_file_name(name);
    fs::write(&beside, bytes)?;
    fs::rename(&beside, target)
}

/// The folders that a tree has at its root.
fn platforms(tree: &Tree) -> Vec<&str> {
    let mut platforms: Vec<&str> = tree.keys().filter_map(|path| path.split('/').next()).collect();
    platforms.dedup();
    platforms
}

fn refuse_foreign(folder: &Path, tree: &Tree) -> Result<(), Failure> {
    for platform in platforms(tree) {
        let place = folder.join(platform);
        let foreign = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
        if foreign && !place.join(TOPICS).is_file() {
            let place = place.display();
            let cause = anyhow!("{place} holds something else than a catalogue; emit to a folder of its own");
            return Err(Failure::input(cause));
        }
    }
    Ok(())
}

/// Files below the tree's platforms that the tree does not have.
fn stale(folder: &Path, tree: &Tree) -> Result<Vec<String>, Failure> {
    let mut stale = Vec::new();
    for platform in platforms(tree) {
        let mut present = Tree::new();
        collect(&folder.join(platform), platform.to_owned(), 0, &mut present, &mut 0)?;
        stale.extend(present.into_keys().filter(|path| owned(path) && !tree.contains_key(path)));
    }
    Ok(stale)
}

/// What writing did.
#[derive(Debug, Default)]
pub struct Written {
    /// Files that are new or different.
    pub changed: usize,
    /// Files that are gone.
    pub removed: usize,
}
