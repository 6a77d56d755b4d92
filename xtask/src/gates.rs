//! The gates of the catalogue: policy with stale output, and evolution against an older commit.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command;
use crate::project::Project;
use crate::steps::{Step, run_all};

/// The committed catalogue.
const CATALOG: &str = "catalog";

const GATES: &[Step] = &[Step { name: "policy", run: policy }, Step { name: "evolution", run: evolution }];

/// Runs the gates, all of them, and fails when one did.
pub fn run(project: &Project) -> Result<()> {
    run_all(project, "gates", GATES)
}

/// From the project's root the binary also compares the committed files with what its types give.
fn policy(project: &Project) -> Result<()> {
    command::run(project.karwan(&["catalog", "check"])).context("`cargo xtask emit` repairs stale output")
}

fn evolution(project: &Project) -> Result<()> {
    let Some(base) = base_commit(project)? else {
        eprintln!("gate evolution: skipped: there is no earlier commit here");
        return Ok(());
    };
    if command::output(project.git(&["cat-file", "-e", &format!("{base}:{CATALOG}")])).is_err() {
        eprintln!("gate evolution: skipped: commit {base} has no {CATALOG}/");
        return Ok(());
    }
    let scratch = Scratch::new("base")?;
    check_out(project, &format!("{base}:{CATALOG}"), &scratch.path)?;
    let older = scratch.path.to_str().context("the temporary directory is not UTF-8")?;
    let mut gate = project.karwan(&["schema", "gate", "--base", older, "--catalog", CATALOG]);
    if let Some(ticket) = std::env::var_os("KARWAN_OVERRIDE_TICKET").filter(|ticket| !ticket.is_empty()) {
        gate.arg("--override-ticket").arg(ticket);
    }
    // Where a change has a description (a pull request has one), new versions must be announced in it.
    if let Some(description) = std::env::var_os("KARWAN_DESCRIPTION").filter(|file| !file.is_empty()) {
        gate.arg("--description").arg(description);
    }
    command::run(gate).with_context(|| format!("compared with commit {base}"))
}

/// The commit whose catalogue ours must follow: where our branch left the base. On the base itself that would be our
/// own commit, which proves nothing, so its parent is taken. A base that was named must exist.
pub fn base_commit(project: &Project) -> Result<Option<String>> {
    if let Some(name) = std::env::var("KARWAN_BASE").ok().filter(|name| !name.is_empty()) {
        return merge_base(project, &name).map(Some).with_context(|| format!("KARWAN_BASE is `{name}`"));
    }
    let head = commit(project, "HEAD").ok();
    let base = merge_base(project, "origin/main").ok();
    if base.is_some() && base != head {
        return Ok(base);
    }
    Ok(commit(project, "HEAD~1").ok())
}

fn merge_base(project: &Project, name: &str) -> Result<String> {
    let base = commit(project, name)?;
    command::text(project.git(&["merge-base", "HEAD", &base]))
}

/// The commit that a name stands for.
pub fn commit(project: &Project, name: &str) -> Result<String> {
    command::text(project.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]))
}

/// Writes a tree of files out through an index of its own, so that neither our index nor our files change, and no archiver is
/// needed.
pub fn check_out(project: &Project, tree: &str, into: &Path) -> Result<()> {
    let index = Scratch::new("index")?;
    let index_file = index.path.join("index");
    let mut read = project.git(&["read-tree", tree]);
    read.env("GIT_INDEX_FILE", &index_file);
    command::output(read)?;
    let mut write = project.git(&["checkout-index", "--all", "--force"]);
    write.arg(format!("--prefix={}/", into.display())).env("GIT_INDEX_FILE", &index_file);
    command::output(write)?;
    Ok(())
}

/// A temporary directory of this process, removed at the end.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(purpose: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("karwan-{purpose}-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory left behind in the temporary directory harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
