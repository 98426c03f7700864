//! `probity env`: environments, which are runtimes with packages installed and warmed up.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use probity_core::quantity::ByteSize;
use probity_sandbox::runtime::Runtime;
use probity_sandbox::suite::{BuildPhase, Facts, Lock, default_lock};
use probity_sandbox::{Cancel, Sandbox};
use serde::Serialize;

use super::runtime;
use crate::args::{EnvBuildArgs, EnvCommand, EnvRemoveArgs, Isolation};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::fetch;
use crate::report::escape;
use crate::ui::Ui;

/// Characters of a key that are shown.
const SHORT: usize = 12;

pub(crate) fn run(command: &EnvCommand, ui: &Ui) -> Result<ExitCode, Failure> {
    match command {
        EnvCommand::Build(args) => build(args, ui),
        EnvCommand::List { json } => list(*json, ui),
        EnvCommand::Remove(args) => remove(args, ui),
    }
}

fn build(args: &EnvBuildArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let manifest = runtime::find(&args.runtime)?;
    let lock = NamedLock::read(args.lock.as_deref())?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    let runtime = runtime::installed(&manifest, None, &cache, &sandbox, ui)?;
    let facts = ensure(
        &lock,
        &runtime,
        args.wheels.as_deref(),
        &cache,
        &sandbox,
        ui,
    )?;
    ui.out(&format!(
        "{} with {} packages is ready: {}\n",
        facts.title,
        facts.packages.len(),
        facts.digest
    ));
    Ok(ExitCode::SUCCESS)
}

/// A lock with its text.
pub(super) struct NamedLock {
    lock: Lock,
    text: String,
}

impl NamedLock {
    /// Reads a lock; without a path the default one.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let (name, text) = match path {
            None => ("(built in)".to_owned(), default_lock().to_owned()),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the lock `{}`", path.display()))
                    .map_err(Failure::Request)?;
                (path.display().to_string(), text)
            }
        };
        let lock = Lock::parse(&text)
            .with_context(|| format!("the lock `{name}` cannot be used"))
            .map_err(Failure::Request)?;
        Ok(Self { lock, text })
    }
}

/// The environment of a lock; fetches and builds what is missing.
pub(super) fn ensure(
    lock: &NamedLock,
    runtime: &Runtime,
    wheels: Option<&Path>,
    cache: &Cache,
    sandbox: &Sandbox,
    ui: &Ui,
) -> Result<Facts, Failure> {
    if let Some(found) = cache
        .stores()
        .environments
        .find(&lock.lock, runtime, sandbox)
    {
        return Ok((*found.facts).clone());
    }
    fetch_wheels(lock, wheels, cache, ui)?;
    let title = runtime.manifest.title();
    let count = lock.lock.requirements.len();
    let spinner = ui.spinner("");
    let built = cache
        .stores()
        .environments
        .open(
            &lock.lock,
            &cache.stores().wheels,
            runtime,
            sandbox,
            &Cancel::default(),
            &mut |phase| {
                let message = match phase {
                    BuildPhase::Install => format!("installing {count} packages for {title}"),
                    BuildPhase::Compile => format!("compiling {count} packages for {title}"),
                    BuildPhase::WarmUp => format!("warming {title} up"),
                };
                if !ui.is_interactive() {
                    ui.note(&message);
                }
                spinner.set_message(message);
            },
        )
        .with_context(|| format!("cannot build an environment for {title}"))
        .map_err(Failure::Host)?;
    spinner.finish_and_clear();
    Ok((*built.facts).clone())
}

/// Puts the wheels of a lock into the cache.
fn fetch_wheels(
    lock: &NamedLock,
    folder: Option<&Path>,
    cache: &Cache,
    ui: &Ui,
) -> Result<(), Failure> {
    let wheels = cache.stores().wheels;
    let missing = wheels.missing(&lock.lock);
    if missing.is_empty() {
        return Ok(());
    }
    let staging = tempfile::tempdir().map_err(Failure::host)?;
    let files: Vec<PathBuf> = match folder {
        Some(folder) => std::fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .with_context(|| format!("cannot list `{}`", folder.display()))
            .map_err(Failure::Request)?,
        None => {
            let path = staging.path().join("requirements.lock");
            std::fs::write(&path, &lock.text).map_err(Failure::host)?;
            let into = staging.path().join("wheels");
            std::fs::create_dir(&into).map_err(Failure::host)?;
            let message = format!("downloading {} packages", missing.len());
            runtime::step(ui, &message, || fetch::wheels(&path, &into)).map_err(Failure::Host)?
        }
    };
    for file in files {
        if file.extension().is_some_and(|extension| extension == "whl") {
            wheels
                .add(&file)
                .with_context(|| format!("cannot keep `{}`", file.display()))
                .map_err(Failure::Host)?;
        }
    }
    // What arrived is kept by its digest, so a wrong file stands for nothing here.
    let missing: Vec<String> = wheels
        .missing(&lock.lock)
        .iter()
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Request(anyhow!(
        "no file with the pinned digest for: {}",
        missing.join(", ")
    )))
}

#[derive(Serialize)]
struct EnvList {
    schema: &'static str,
    environments: Vec<EnvRow>,
}

#[derive(Serialize)]
struct EnvRow {
    key: String,
    digest: String,
    runtime: String,
    title: String,
    packages: Vec<String>,
    bytes: u64,
}

fn rows(cache: &Cache) -> Result<Vec<EnvRow>, Failure> {
    Ok(cache
        .stores()
        .environments
        .list()
        .map_err(Failure::host)?
        .into_iter()
        .map(|(key, facts)| EnvRow {
            key,
            digest: facts.digest.to_string(),
            runtime: facts.runtime,
            title: facts.title,
            packages: facts.packages,
            bytes: facts.bytes,
        })
        .collect())
}

fn list(json: bool, ui: &Ui) -> Result<ExitCode, Failure> {
    let rows = rows(&Cache::find()?)?;
    if json {
        let list = EnvList {
            schema: "probity.environments/1",
            environments: rows,
        };
        ui.out_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        ui.note("no environment is kept; build one: probity env build");
    }
    for row in rows {
        ui.out(&format!(
            "{}  {}, {} packages, {}\n  {}\n",
            row.key.get(..SHORT).unwrap_or(&row.key),
            row.title,
            row.packages.len(),
            ByteSize(row.bytes),
            escape::line(&row.packages.join(" ")),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(args: &EnvRemoveArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let cache = Cache::find()?;
    let kept = rows(&cache)?;
    let mut chosen: Vec<&str> = Vec::new();
    if args.all {
        chosen.extend(kept.iter().map(|row| row.key.as_str()));
    }
    for key in &args.keys {
        let found: Vec<&str> = kept
            .iter()
            .map(|row| row.key.as_str())
            .filter(|row| row.starts_with(key.as_str()))
            .collect();
        match found.as_slice() {
            [one] => chosen.push(one),
            [] => {
                return Err(Failure::Request(anyhow!(
                    "no environment's key begins with `{}`; probity env list shows them",
                    escape::line(key)
                )));
            }
            [_, ..] => {
                return Err(Failure::Request(anyhow!(
                    "{} environments' keys begin with `{}`; give more of the key",
                    found.len(),
                    escape::line(key)
                )));
            }
        }
    }
    if args.all {
        // Also what a build that was broken off left.
        cache.stores().environments.clear().map_err(Failure::host)?;
    }
    chosen.sort_unstable();
    chosen.dedup();
    for key in &chosen {
        cache
            .stores()
            .environments
            .remove(key)
            .map_err(Failure::host)?;
    }
    ui.out(&format!("{} environments removed\n", chosen.len()));
    Ok(ExitCode::SUCCESS)
}
