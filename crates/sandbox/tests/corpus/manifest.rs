//! The table of guests, `guest-checks/hostile/corpus.toml`, and what it promises.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use probity_core::budget::Limit;
use serde::Deserialize;

/// The file as a whole: rows and what holds for rows that say nothing else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Corpus {
    /// Seconds of real time that a guest may take, compilation included.
    seconds: f64,
    /// Seconds of the processor's time, which other work on the machine does not change.
    cpu_seconds: f64,
    /// MiB by which the host may grow beyond the guest's own memory.
    host_mib: u64,
    #[serde(rename = "guest")]
    pub(crate) guests: Vec<Guest>,
}

/// One trick.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Guest {
    pub(crate) name: String,
    /// What is attacked, in one line.
    pub(crate) about: String,
    /// A sub-command of `hostile.wasm`, or
    rust: Option<String>,
    /// one of `hostile-c.wasm`, or
    c: Option<String>,
    /// a file in `wat`, without its extension, or
    wat: Option<String>,
    /// a name in `made.rs`.
    made: Option<String>,
    /// Arguments after the sub-command.
    #[serde(default)]
    args: Vec<String>,
    /// How it ends; where several are given, any of them.
    pub(crate) expect: Expect,
    /// How it ends as a component, where that differs.
    pub(crate) expect_component: Option<Expect>,
    /// Limits that are met on the way.
    #[serde(default)]
    pub(crate) limits: Vec<String>,
    /// What its standard output holds; empty: that it has none.
    pub(crate) stdout: Option<String>,
    seconds: Option<f64>,
    cpu_seconds: Option<f64>,
    host_mib: Option<u64>,
    /// Folders that it is granted.
    preopens: Option<Vec<String>>,
    /// The adapters that it is for.
    #[serde(default = "first")]
    wasi: BTreeSet<Wasi>,
}

fn first() -> BTreeSet<Wasi> {
    BTreeSet::from([Wasi::Modules])
}

/// The adapter that a guest is run by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Wasi {
    /// WASI 0.1: core modules.
    #[serde(rename = "0.1")]
    Modules,
    /// WASI 0.2: components; a module is wrapped into one.
    #[serde(rename = "0.2")]
    Components,
}

/// Endings, of which one has to come.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// This exit code.
    pub(crate) exit: Option<u32>,
    /// This limit ended it.
    pub(crate) limit: Option<String>,
    /// A trap whose message holds this text.
    pub(crate) trap: Option<String>,
    /// A refusal whose message holds this text.
    pub(crate) refused: Option<String>,
    /// Whatever it does is fine as long as the host stays within its bounds.
    #[serde(default)]
    pub(crate) any: bool,
}

/// Where a guest's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source<'a> {
    Rust(&'a str),
    C(&'a str),
    Wat(&'a str),
    Made(&'a str),
}

impl Corpus {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(folder().join("hostile/corpus.toml")).unwrap();
        let mut corpus: Self = toml::from_str(&text).unwrap();
        for guest in &mut corpus.guests {
            guest.seconds.get_or_insert(corpus.seconds);
            guest.cpu_seconds.get_or_insert(corpus.cpu_seconds);
            guest.host_mib.get_or_insert(corpus.host_mib);
        }
        corpus
    }
}

impl Guest {
    pub(crate) fn source(&self) -> Source<'_> {
        match (&self.rust, &self.c, &self.wat, &self.made) {
            (Some(name), None, None, None) => Source::Rust(name),
            (None, Some(name), None, None) => Source::C(name),
            (None, None, Some(name), None) => Source::Wat(name),
            (None, None, None, Some(name)) => Source::Made(name),
            _ => panic!(
                "{}: exactly one of rust, c, wat and made is needed",
                self.name
            ),
        }
    }

    /// Arguments, the program's name first.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let command = match self.source() {
            Source::Rust(name) | Source::C(name) => Some(name.to_owned()),
            Source::Wat(_) | Source::Made(_) => None,
        };
        std::iter::once("hostile".to_owned())
            .chain(command)
            .chain(self.args.iter().cloned())
            .collect()
    }

    pub(crate) fn preopens(&self) -> Vec<String> {
        match &self.preopens {
            Some(folders) => folders.clone(),
            None => vec!["/repo".to_owned(), "/tmp".to_owned()],
        }
    }

    pub(crate) fn is_for(&self, wasi: Wasi) -> bool {
        self.wasi.contains(&wasi)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.seconds.unwrap_or_default()
    }

    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.cpu_seconds.unwrap_or_default()
    }

    pub(crate) fn host_mib(&self) -> u64 {
        self.host_mib.unwrap_or_default()
    }

    /// What is wrong with the row itself.
    pub(crate) fn defects(&self) -> Vec<String> {
        let mut defects = Vec::new();
        let mut defect = |what: &str| defects.push(format!("{}: {what}", self.name));
        if self.about.is_empty() || self.about.contains('\n') {
            defect("`about` is one line");
        }
        for expect in std::iter::once(&self.expect).chain(&self.expect_component) {
            let given = usize::from(expect.exit.is_some())
                + usize::from(expect.limit.is_some())
                + usize::from(expect.trap.is_some())
                + usize::from(expect.refused.is_some());
            if (given == 0) != expect.any {
                defect("`expect` names an ending, or is `any`");
            }
        }
        let named = self.limits.iter().chain(&self.expect.limit);
        for limit in named {
            if !Limit::ALL.iter().any(|known| known.name() == limit) {
                defect(&format!("`{limit}` is no limit"));
            }
        }
        if self.wasi.is_empty() {
            defect("it is for no adapter");
        }
        defects
    }
}

/// `guest-checks`.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-checks")
}

/// The names of the files in `guest-checks/hostile/wat`, without their extension.
pub(crate) fn wat_files() -> BTreeSet<String> {
    std::fs::read_dir(folder().join("hostile/wat"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            assert_eq!(path.extension().unwrap(), "wat", "{}", path.display());
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        })
        .collect()
}
