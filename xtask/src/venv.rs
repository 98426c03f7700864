//! Virtual environments of Python in the cache, with packages of pinned hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run;

/// The folder of the environment `name` with the packages that `requirements` pins, in pip's
/// format. It is made if it is not there as it should be; `more` then adds what else it is to
/// hold.
pub(crate) fn ready(
    name: &str,
    requirements: &str,
    more: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = crate::cache()?.join("tools").join(name);
    let ready = folder.join("ready");
    if fs::read_to_string(&ready).ok().as_deref() == Some(requirements) {
        return Ok(folder);
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder))?;
    pip(&folder, requirements, &["install"])?;
    more(&folder)?;
    fs::write(&ready, requirements)?;
    Ok(folder)
}

/// The interpreter of an environment.
pub(crate) fn python(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// Runs a command of an environment's pip on what `requirements` pins.
pub(crate) fn pip(folder: &Path, requirements: &str, args: &[&str]) -> Result<()> {
    let list = folder.join("requirements.txt");
    fs::write(&list, requirements)?;
    run(Command::new(python(folder))
        .args(["-m", "pip"])
        .args(args)
        .args(["--quiet", "--no-deps", "--disable-pip-version-check"])
        .args(["--require-hashes", "-r"])
        .arg(&list))
}
