//! The repository: its root, its files, its packages, and the programs run in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;

/// Larger files are data, not text that a rule could judge.
const TEXT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A file under version control, or about to be.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path from the root, with `/`.
    pub path: String,
    /// Its text; `None` when it is not UTF-8 or larger than a text should be.
    pub text: Option<String>,
}

impl SourceFile {
    /// A text file, as tests write it down.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    /// The text, or nothing for what is not text.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    /// Whether it is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is Markdown.
    pub fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

/// The repository we were started in.
#[derive(Debug)]
pub struct Project {
    /// Its root directory.
    pub root: PathBuf,
}

impl Project {
    /// The root is the parent of this package, as cargo tells it; it is asked at run time, so that a binary in a
    /// shared target directory works in every clone.
    pub fn find() -> Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`")?;
        let root = Path::new(&package).parent().context("xtask lies in the root of the repository")?;
        Ok(Self { root: root.to_owned() })
    }

    /// `cargo ARGS`, in the root.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        self.command(&cargo, args)
    }

    /// `git ARGS`, in the root.
    pub fn git(&self, args: &[&str]) -> Command {
        self.command(&OsString::from("git"), args)
    }

    /// `karwan ARGS`: the product, built as the tests build it; another build would take minutes.
    pub fn karwan(&self, args: &[&str]) -> Command {
        let mut command = self.cargo(&["run", "--quiet", "--package", "karwan-cli", "--"]);
        command.args(args);
        command
    }

    fn command(&self, program: &OsString, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root);
        command
    }

    /// Every file that git tracks or would add; a tracked file that was deleted is not among them.
    pub fn files(&self) -> Result<Vec<SourceFile>> {
        let listed = command::output(self.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let listed = String::from_utf8(listed).context("a file name is not UTF-8")?;
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let place = self.root.join(path);
            let Ok(about) = place.metadata() else { continue };
            if !about.is_file() {
                continue;
            }
            let text = match about.len() {
                0..=TEXT_BYTES_MAX => {
                    let bytes = std::fs::read(&place).with_context(|| format!("reading {path}"))?;
                    String::from_utf8(bytes).ok()
                }
                _ => None,
            };
            files.push(SourceFile { path: path.to_owned(), text });
        }
        Ok(files)
    }

    /// `cargo metadata`, of our own packages alone or with everything they depend on.
    pub fn metadata(&self, scope: Scope) -> Result<Value> {
        let mut command = self.cargo(&["metadata", "--format-version", "1"]);
        match scope {
            Scope::OurPackages => command.arg("--no-deps"),
            Scope::AllPackages => &mut command,
        };
        serde_json::from_slice(&command::output(command)?).context("cargo metadata did not print JSON")
    }
}

/// Which packages `cargo metadata` describes.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    /// Those of the workspace.
    OurPackages,
    /// Those and all they depend on.
    AllPackages,
}
