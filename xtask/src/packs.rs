//! Building the check packs and proving that the committed ones are current.

use std::process::Command;

use anyhow::Result;

/// Runs `guest-checks/build.sh` with the same arguments.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let script = crate::root().join("guest-checks/build.sh");
    let status = Command::new("bash").arg(script).args(args).status()?;
    Ok(status.success())
}
