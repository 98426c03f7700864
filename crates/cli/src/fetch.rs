//! Downloads, through pip and npm: the only place where this program starts another one.
//!
//! Whatever arrives is checked against a pinned SHA-256 by the caller before use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use probity_sandbox::runtime::{Registry, Source};

/// Runs `python3 -m pip download` with `args` into `folder`.
fn pip_download(folder: &Path, args: &[OsString]) -> anyhow::Result<()> {
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "download", "--quiet"])
        .args(["--disable-pip-version-check", "--no-deps", "--dest"])
        .arg(folder)
        .args(args);
    finish(
        &mut command,
        "pip",
        "cannot start `python3 -m pip`; install Python 3 with pip, or give the files with --from and --wheels",
    )
}

/// Runs `npm pack` into `folder`. Nothing of the package is run.
fn npm_pack(folder: &Path, package: &str) -> anyhow::Result<()> {
    let mut command = Command::new("npm");
    command
        .args(["pack", "--silent", "--ignore-scripts", "--pack-destination"])
        .arg(folder)
        .arg(package)
        .current_dir(folder);
    finish(
        &mut command,
        "npm",
        "cannot start `npm`; install Node.js with npm, or give the file with --from",
    )
}

/// Runs a client to its end; `absent` says what to do where there is none.
fn finish(command: &mut Command, client: &str, absent: &'static str) -> anyhow::Result<()> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context(absent)?;
    if !output.status.success() {
        bail!(
            "{client} could not download: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Downloads one package's archive.
pub(crate) fn package(source: &Source, folder: &Path) -> anyhow::Result<PathBuf> {
    let Source {
        package, version, ..
    } = source;
    match source.registry {
        Registry::Pypi => pip_download(folder, &[format!("{package}=={version}").into()])?,
        Registry::Npm => npm_pack(folder, &format!("{package}@{version}"))?,
    }
    files(folder)?
        .pop()
        .ok_or_else(|| anyhow!("nothing was downloaded for {package} {version}"))
}

/// Downloads the wheels of a lock. The platform is fixed, so that every machine gets the
/// same files; native code in them is left out when they are installed.
pub(crate) fn wheels(lock: &Path, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut args: Vec<OsString> = [
        "--require-hashes",
        "--only-binary=:all:",
        "--implementation=cp",
    ]
    .map(OsString::from)
    .to_vec();
    args.push("--python-version=3.11".into());
    for platform in [
        "manylinux2014_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux_2_28_x86_64",
    ] {
        args.push(format!("--platform={platform}").into());
    }
    args.push("-r".into());
    args.push(lock.into());
    pip_download(folder, &args)?;
    files(folder)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = std::fs::read_dir(folder)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .with_context(|| format!("cannot list `{}`", folder.display()))?;
    files.sort();
    Ok(files)
}
