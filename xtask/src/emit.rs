//! `emit`: writes the committed catalogue anew from the event types.

use anyhow::Result;

use crate::command;
use crate::project::Project;

/// Runs `karwan catalog emit --out catalog`.
pub fn run(project: &Project) -> Result<()> {
    command::run(project.karwan(&["catalog", "emit", "--out", "catalog"]))
}
