//! What of a patch decides how its tests are run: files that the interpreter, pytest or its
//! plugins read by themselves.
//!
//! Only what a patch adds, changes or takes away is looked at. What a repository has had
//! before is its owner's.

use std::collections::{BTreeMap, BTreeSet};

use super::conventions::{Tests, is_test_module};
use super::importable::{Folder, base_folder, below, has_module, module_name, names_of, owner_of};
use super::settings::{self, Format};
use crate::Repo;
use crate::repo::{FileMode, Kind, RepoPath};
use crate::spec::SuiteCheck;

/// Links that are followed from one steering file to another.
const MAX_LINKS: usize = 8;

/// How a path steers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Steers {
    /// `conftest.py`.
    Conftest,
    /// A settings file of pytest, or pytest's table in one.
    Settings(&'static str),
    /// `sitecustomize.py`, `usercustomize.py` or a `.pth` file.
    StartUp,
    /// Metadata of an installed package.
    Metadata,
    /// Compiled code.
    Bytecode,
    /// A module that takes another's name: the name, and whose it is.
    Shadow(String, &'static str),
    /// `__init__.py` in a folder of trusted tests that had none.
    TestPackage,
    /// A link in place of a folder of the import path.
    ImportPath,
}

impl Steers {
    /// What it could have done; goes on from "it".
    pub(super) fn effect(&self) -> String {
        match self {
            Self::Conftest => "it can decide how tests are run and how they end".to_owned(),
            Self::Settings(what) => {
                format!("{what} can load plugins, leave tests out and add options to the runner")
            }
            Self::StartUp => "it is run as soon as the interpreter starts".to_owned(),
            Self::Metadata => "its entry points can load plugins into the runner".to_owned(),
            Self::Bytecode => "it can be run instead of the source beside it".to_owned(),
            Self::Shadow(name, owner) => {
                format!("it would be imported as `{name}`, a name of {owner}")
            }
            Self::TestPackage => {
                "it decides under which names the tests in this folder are imported".to_owned()
            }
            Self::ImportPath => "modules would be imported from where the link leads".to_owned(),
        }
    }
}

/// What paths are judged by.
pub(super) struct Steering<'a> {
    base: &'a Repo,
    repo: &'a Repo,
    tests: &'a Tests,
    installed: &'a BTreeSet<String>,
    /// Folders that modules are imported from when the runner starts.
    python_path: Vec<Folder>,
    /// Trusted Python files among the tests.
    modules: BTreeSet<RepoPath>,
    /// Folders that test modules are imported from.
    bases: BTreeSet<Folder>,
    /// Names of their modules, with the folders they are in.
    names: BTreeMap<String, Vec<Folder>>,
    /// What links of the base lead to whose paths steer.
    linked: BTreeMap<RepoPath, Steers>,
}

impl<'a> Steering<'a> {
    /// What still steers if it is made while a suite runs.
    pub(super) const CLOSED_NAMES: [&'static str; 7] = [
        ".pytest.ini",
        ".pytest.toml",
        "conftest.py",
        "pytest.ini",
        "pytest.toml",
        "sitecustomize.py",
        "usercustomize.py",
    ];

    /// Takes in the trusted trees: `base` and, if there is one, a folder of tests.
    pub(super) fn new(
        (base, repo): (&'a Repo, &'a Repo),
        folder: Option<&Repo>,
        wanted: &SuiteCheck,
        tests: &'a Tests,
        installed: &'a BTreeSet<String>,
    ) -> Self {
        let python_path = wanted
            .python_path
            .iter()
            .filter_map(|text| match text.as_str() {
                "." => Some(None),
                text => RepoPath::new(text).ok().map(Some),
            })
            .collect();
        let mut steering = Self {
            base,
            repo,
            tests,
            installed,
            python_path,
            modules: BTreeSet::new(),
            bases: BTreeSet::new(),
            names: BTreeMap::new(),
            linked: BTreeMap::new(),
        };
        for tree in [Some(base), folder].into_iter().flatten() {
            let modules: BTreeSet<RepoPath> = tree
                .files()
                .into_iter()
                .filter(|(path, _)| path.as_str().ends_with(".py") && tests.includes(path))
                .map(|(path, _)| path)
                .collect();
            steering.bases.extend(
                modules
                    .iter()
                    .filter(|path| is_test_module(path.name()))
                    .map(|path| base_folder(tree, path)),
            );
            for (name, folders) in names_of(tree, &modules) {
                steering.names.entry(name).or_default().extend(folders);
            }
            steering.modules.extend(modules);
        }
        for (path, file) in base.files() {
            if file.mode() == FileMode::Symlink
                && let Some(steers) = by_name(&path)
                && let Some(target) = target_of(base, &path)
            {
                steering.linked.insert(target, steers);
            }
        }
        steering
    }

    /// How a path steers that differs between the trees, if it does.
    pub(super) fn of(&self, path: &RepoPath) -> Option<Steers> {
        let (before, after) = (self.base.get(path), self.repo.get(path));
        let added = before.is_none();
        if is_bytecode(path) {
            // Without it the source is compiled anew.
            return after.is_some().then_some(Steers::Bytecode);
        }
        let table = match path.name() {
            "pyproject.toml" => Some((Format::Toml, "its table `[tool.pytest]`")),
            "tox.ini" => Some((Format::Ini, "its section `[pytest]`")),
            "setup.cfg" => Some((Format::Ini, "its section `[tool:pytest]`")),
            _ => None,
        };
        if let Some((format, what)) = table {
            return (!settings::alike(format, before, after)).then_some(Steers::Settings(what));
        }
        if let Some(steers) = by_name(path) {
            return Some(steers);
        }
        if let Some(steers) = self.linked.get(path) {
            return Some(steers.clone());
        }
        let is_link = after.is_some_and(|file| file.mode() == FileMode::Symlink);
        for folder in &self.python_path {
            if let Some(folder) = folder
                && is_link
                && (path == folder || folder.is_below(path))
                && self.base.kind(folder) == Some(Kind::Directory)
            {
                return Some(Steers::ImportPath);
            }
            let Some(rest) = below(path, folder) else {
                continue;
            };
            if let Some(steers) = self.on_the_import_path(path, folder, rest) {
                return Some(steers);
            }
        }
        if !added {
            return None;
        }
        for folder in &self.bases {
            // Beside tests only what Python takes for a module counts: other folders with
            // such names hold tests of something.
            if let Some(rest) = below(path, folder)
                && self.is_module_of(folder, rest)
                && let Some(steers) = self.shadow(folder, rest)
            {
                return Some(steers);
            }
        }
        self.package_beside_tests(path)
    }

    /// The first part of `rest`, if it is a module or package to Python.
    fn is_module_of(&self, folder: &Folder, rest: &str) -> bool {
        let first = rest.split('/').next().unwrap_or(rest);
        let entry = RepoPath::below(folder.as_ref(), first);
        match self.repo.kind(&entry) {
            Some(Kind::File) => first.ends_with(".py"),
            Some(Kind::Symlink) => true,
            Some(Kind::Directory) => {
                let init = RepoPath::below(Some(&entry), "__init__.py");
                self.repo.get(&init).is_some()
            }
            None => false,
        }
    }

    fn on_the_import_path(&self, path: &RepoPath, folder: &Folder, rest: &str) -> Option<Steers> {
        let first = rest.split('/').next().unwrap_or(rest);
        let direct = first.len() == rest.len();
        if direct && first.ends_with(".pth") {
            return Some(Steers::StartUp);
        }
        if matches!(module_name(first), "sitecustomize" | "usercustomize") {
            return Some(Steers::StartUp);
        }
        let lower = first.to_ascii_lowercase();
        if lower.ends_with(".dist-info") || lower.ends_with(".egg-info") {
            let known = self
                .base
                .kind(&RepoPath::below(folder.as_ref(), first))
                .is_some();
            let counts = !known || direct || path.name() == "entry_points.txt";
            return counts.then_some(Steers::Metadata);
        }
        let is_python = rest.ends_with(".py")
            || self
                .repo
                .get(path)
                .is_some_and(|file| file.mode() == FileMode::Symlink);
        let added = self.base.get(path).is_none();
        (added && is_python)
            .then(|| self.shadow(folder, rest))
            .flatten()
    }

    /// Whether the module that `rest` belongs to is new in `folder` and takes a name that is
    /// taken.
    fn shadow(&self, folder: &Folder, rest: &str) -> Option<Steers> {
        let first = rest.split('/').next().unwrap_or(rest);
        let name = module_name(first);
        if has_module(self.base, folder, name) {
            return None;
        }
        let owner = owner_of(name, self.installed).or_else(|| {
            let folders = self.names.get(name)?;
            (!folders.contains(folder)).then_some("the trusted tests")
        })?;
        Some(Steers::Shadow(name.to_owned(), owner))
    }

    /// A package that takes the place of a test module, or takes one in.
    fn package_beside_tests(&self, path: &RepoPath) -> Option<Steers> {
        if path.name() != "__init__.py" {
            return None;
        }
        let folder = path.parents().last()?;
        let module = RepoPath::new(&format!("{folder}.py")).ok()?;
        if self.modules.contains(&module) {
            let name = folder.name().to_owned();
            return Some(Steers::Shadow(name, "the trusted tests"));
        }
        let holds_tests = self.modules.iter().any(|module| module.is_below(&folder));
        (self.tests.includes(path) && holds_tests).then_some(Steers::TestPackage)
    }

    /// Whether a file of the tree that tests run on steers, so that nothing may write to it.
    pub(super) fn is_steering_file(path: &RepoPath) -> bool {
        by_name(path).is_some() || matches!(path.name(), "pyproject.toml" | "tox.ini" | "setup.cfg")
    }
}

/// What steers by its name wherever it stands.
fn by_name(path: &RepoPath) -> Option<Steers> {
    let conftest_package = || {
        let folder = path.parents().last();
        path.name() == "__init__.py" && folder.is_some_and(|folder| folder.name() == "conftest")
    };
    match path.name() {
        "conftest.py" => Some(Steers::Conftest),
        "pytest.ini" | ".pytest.ini" | "pytest.toml" | ".pytest.toml" => {
            Some(Steers::Settings("it"))
        }
        _ if conftest_package() => Some(Steers::Conftest),
        _ => None,
    }
}

pub(super) fn is_bytecode(path: &RepoPath) -> bool {
    path.name().ends_with(".pyc")
        || path.name().ends_with(".pyo")
        || path.parts().any(|part| part == "__pycache__")
}

/// The file that a link of the tree leads to in the end.
fn target_of(tree: &Repo, link: &RepoPath) -> Option<RepoPath> {
    let mut at = link.clone();
    for _ in 0..MAX_LINKS {
        let file = tree.get(&at)?;
        if file.mode() != FileMode::Symlink {
            return Some(at);
        }
        let target = std::str::from_utf8(file.bytes()).ok()?;
        let mut parts: Vec<&str> = at.parts().collect();
        parts.pop();
        for part in target.split('/') {
            match part {
                "." => {}
                ".." => _ = parts.pop()?,
                part => parts.push(part),
            }
        }
        at = RepoPath::new(&parts.join("/")).ok()?;
    }
    None
}
