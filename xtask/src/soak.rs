//! `cargo xtask soak`: random guests for a while, see `crates/sandbox/examples/soak.rs`.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::{root, say};

/// Runs each kind of guest, or those that are named, for the seconds given.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let (mut seconds, mut kinds) = ("60", Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--seconds" => seconds = rest.next().context("--seconds needs a number")?,
            "calls" | "modules" | "components" => kinds.push(arg.as_str()),
            other => anyhow::bail!("`{other}` is none of calls, modules, components"),
        }
    }
    if kinds.is_empty() {
        kinds = vec!["calls", "modules", "components"];
    }
    let generator = root().join("fuzz/random-guests");
    let target = crate::cache()?.join("random-guests-target");
    let built = Command::new("cargo")
        .args(["build", "--locked"])
        .current_dir(&generator)
        .env("CARGO_TARGET_DIR", &target)
        .status()?;
    ensure!(built.success(), "the generator does not build");
    let soak = crate::probity::example("soak")?;
    for kind in kinds {
        let ended = if kind == "calls" {
            Command::new(&soak).args(["calls", seconds]).status()?
        } else {
            let example = Command::new(&soak).arg("example").output()?;
            ensure!(example.status.success(), "there is no example of a guest");
            let file = tempfile::NamedTempFile::new()?;
            std::fs::write(file.path(), example.stdout)?;
            let mut guests = Command::new(target.join("debug/random-guests"))
                .args([kind, "1"])
                .stdin(std::fs::File::open(file.path())?)
                .stdout(Stdio::piped())
                .spawn()?;
            let stream = guests.stdout.take().context("no output of the generator")?;
            say(&format!("{kind}:"));
            let ended = Command::new(&soak)
                .args(["stream", seconds])
                .stdin(stream)
                .status()?;
            guests.kill()?;
            guests.wait()?;
            ended
        };
        if !ended.success() {
            return Ok(false);
        }
    }
    Ok(true)
}
