//! `probity pack`: the checks that packs hold, and single runs of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use probity_core::Budget;
use probity_core::spec::{Check, CheckKind, PackCheck, PackRef};
use probity_core::verify::{CheckReport, Executor as _, Verdict, VerifyInput};
use probity_sandbox::pack::{self, PackedCheck};
use probity_sandbox::{Sandbox, SpecExecutor, Trust};
use serde::Serialize;
use serde_json::{Map, Value};

use super::input;
use crate::args::{Isolation, PackCommand, PackListArgs, PackRunArgs};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::report::{check_text, escape};
use crate::ui::{Style, Ui};

pub(crate) fn run(command: &PackCommand, ui: &Ui) -> Result<ExitCode, Failure> {
    match command {
        PackCommand::List(args) => list(args, ui),
        PackCommand::Run(args) => run_one(args, ui),
    }
}

#[derive(Serialize)]
struct PackList {
    schema: &'static str,
    packs: BTreeMap<String, Vec<PackedCheck>>,
}

fn list(args: &PackListArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let sandbox = Cache::find()?.sandbox(Isolation::default())?;
    let modules: Vec<(String, Vec<u8>)> = match &args.pack {
        None => pack::BUILT_IN
            .iter()
            .map(|pack| (pack.name.to_owned(), pack.module.to_vec()))
            .collect(),
        Some(name) => vec![(name.clone(), module(name)?)],
    };
    let mut packs = BTreeMap::new();
    for (name, bytes) in modules {
        let checks = checks_of(&sandbox, &name, &bytes)?;
        packs.insert(name, checks);
    }
    if args.json {
        let list = PackList {
            schema: "probity.packs/1",
            packs,
        };
        ui.out_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (name, checks) in &packs {
        let about = pack::built_in(name).map_or("", |pack| pack.about);
        let title = ui.paint(Style::Strong, &escape::line(name));
        text.push_str(&format!("{title}  {}\n", ui.paint(Style::Faint, about)));
        for check in checks {
            text.push_str(&format!(
                "  {}  {}\n",
                escape::line(&check.check),
                escape::line(&check.summary)
            ));
            for (param, about) in &check.params {
                let required = if about.required { " (required)" } else { "" };
                text.push_str(&format!(
                    "      {}{required}  {}\n",
                    escape::line(param),
                    escape::line(&about.about)
                ));
            }
        }
    }
    ui.out(&text);
    Ok(ExitCode::SUCCESS)
}

fn checks_of(sandbox: &Sandbox, name: &str, bytes: &[u8]) -> Result<Vec<PackedCheck>, Failure> {
    let module = sandbox
        .module(bytes, &Budget::check(), Trust::Untrusted)
        .map_err(Failure::host)?
        .with_context(|| format!("cannot use the pack `{name}`"))
        .map_err(Failure::Request)?;
    pack::list(sandbox, &module)
        .with_context(|| format!("cannot list the pack `{name}`"))
        .map_err(Failure::Request)
}

/// The module of a built-in pack or of a file.
fn module(name: &str) -> Result<Vec<u8>, Failure> {
    if let Some(pack) = pack::built_in(name) {
        return Ok(pack.module.to_vec());
    }
    let known: Vec<&str> = pack::BUILT_IN.iter().map(|pack| pack.name).collect();
    fs::read(name)
        .with_context(|| {
            format!(
                "`{name}` is neither a built-in pack ({}) nor a file that can be read",
                known.join(", ")
            )
        })
        .map_err(Failure::Request)
}

fn run_one(args: &PackRunArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let repo = input::repository(&args.repo, ui)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(args.running.isolation)?;
    let bytes = module(&args.pack)?;
    let known = checks_of(&sandbox, &args.pack, &bytes)?;
    if !known.iter().any(|check| check.check == args.check) {
        let names: Vec<&str> = known.iter().map(|check| check.check.as_str()).collect();
        return Err(Failure::Request(anyhow!(
            "the pack `{}` has no check `{}`; it has: {}",
            args.pack,
            args.check,
            names.join(", ")
        )));
    }
    let pack = if pack::built_in(&args.pack).is_some() {
        PackRef::BuiltIn(args.pack.clone())
    } else {
        PackRef::File(args.pack.clone())
    };
    let check = Check::new(
        args.check.clone(),
        CheckKind::Pack(PackCheck {
            pack,
            check: args.check.clone(),
            params: params(&args.params)?,
        }),
    );
    let files = input::spec_files(PathBuf::new());
    let mut executor = SpecExecutor::new(sandbox, cache.stores(), files, args.running.conditions());
    let input = VerifyInput {
        repo: &repo,
        base: None,
    };
    let report: CheckReport = executor.execute(&check, input, &mut |_| {});
    if args.json {
        ui.out_json(&report)?;
    } else {
        ui.out(&check_text(ui.look(), &report));
    }
    Ok(ExitCode::from(Verdict::new(vec![report]).exit_code()))
}

fn params(given: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut params = Map::new();
    for text in given {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| anyhow!("`--param {text}` is not of the form KEY=VALUE"))
            .map_err(Failure::Request)?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        params.insert(key.to_owned(), value);
    }
    Ok(params)
}
