//! `cargo xtask wasi-testsuite FOLDER …`: the public tests of WASI 0.1 in our sandbox.
//!
//! They are no part of this repository. The branch `prod/testsuite-base` of
//! <https://github.com/WebAssembly/wasi-testsuite> has them compiled; a checkout of it is a
//! good `FOLDER`: whatever is below a folder `wasm32-wasip1` that has compiled tests is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::probity;

pub(crate) fn run(args: &[String]) -> Result<bool> {
    ensure!(!args.is_empty(), "which folder holds the tests?");
    let mut folders = Vec::new();
    for arg in args {
        find(Path::new(arg), &mut folders)?;
    }
    if folders.is_empty() {
        bail!("there are no compiled tests of WASI 0.1 there");
    }
    let runner = probity::example("wasi_testsuite")?;
    Ok(Command::new(runner).args(folders).status()?.success())
}

/// The folders with compiled tests of WASI 0.1 in or below `folder`, sorted.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        rows.push(entry?);
    }
    rows.sort_by_key(std::fs::DirEntry::file_name);
    let has_tests = rows
        .iter()
        .any(|row| row.path().extension().is_some_and(|end| end == "wasm"));
    if has_tests && folder.ends_with("wasm32-wasip1") {
        found.push(folder.to_owned());
        return Ok(());
    }
    for row in rows {
        if row.file_type()?.is_dir() {
            find(&row.path(), found)?;
        }
    }
    Ok(())
}
