//! Names of modules: which the interpreter and the runner bring, and under which ones a
//! tree's own files can be imported.

use std::collections::{BTreeMap, BTreeSet};

use crate::Repo;
use crate::repo::{Kind, RepoPath};

/// Top-level modules of the standard library of CPython 3.12 to 3.15 that are code of
/// Python's. `test` is not among them: the runtimes lack it, and repositories have such a
/// folder.
#[rustfmt::skip]
const STANDARD_LIBRARY: &[&str] = &[
    "__future__", "_aix_support", "_ast_unparse", "_collections_abc", "_colorize",
    "_compat_pickle", "_compression", "_io", "_markupbase", "_opcode_metadata", "_osx_support",
    "_py_abc", "_py_warnings", "_pydatetime", "_pydecimal", "_pyio", "_pyrepl", "_sitebuiltins",
    "_strptime", "_sysconfig", "_thread", "_threading_local", "_weakrefset", "abc",
    "annotationlib", "argparse", "array", "ast", "asyncio", "atexit", "base64", "bdb",
    "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cmath", "cmd", "code",
    "codecs", "codeop", "collections", "colorsys", "compileall", "compression", "concurrent",
    "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "ctypes", "curses",
    "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "doctest", "email",
    "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput",
    "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass",
    "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http",
    "imaplib", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword",
    "linecache", "locale", "logging", "lzma", "mailbox", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "multiprocessing", "netrc", "ntpath", "nturl2path", "numbers", "opcode",
    "operator", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "pkgutil",
    "platform", "plistlib", "poplib", "posix", "posixpath", "pprint", "profile", "profiling",
    "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue",
    "quopri", "random", "re", "readline", "reprlib", "resource", "rlcompleter", "runpy",
    "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site",
    "smtplib", "socket", "socketserver", "sqlite3", "sre_compile", "sre_constants", "sre_parse",
    "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "symtable",
    "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "tempfile", "termios", "textwrap",
    "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace",
    "traceback", "tracemalloc", "tty", "turtle", "types", "typing", "unicodedata", "unittest",
    "urllib", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "wsgiref", "xml",
    "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
];
/// What the runners are made of, whether or not an environment has them.
const RUNNERS: [&str; 6] = [
    "_pytest",
    "iniconfig",
    "packaging",
    "pluggy",
    "py",
    "pytest",
];
/// Folders that many wheels install by mistake and that repositories have for themselves.
const COMMON: [&str; 7] = [
    "benchmarks",
    "doc",
    "docs",
    "examples",
    "scripts",
    "test",
    "tests",
];

/// A folder from which modules are imported; `None` is the root.
pub(super) type Folder = Option<RepoPath>;

/// Whose a name of a module is, if it is taken.
pub(super) fn owner_of(name: &str, installed: &BTreeSet<String>) -> Option<&'static str> {
    if STANDARD_LIBRARY.binary_search(&name).is_ok() {
        Some("the standard library")
    } else if RUNNERS.contains(&name) || name.starts_with("probity_") {
        Some("the runner")
    } else if installed.contains(name) && !COMMON.contains(&name) {
        Some("an installed package")
    } else {
        None
    }
}

/// The rest of `path` below a folder.
pub(super) fn below<'p>(path: &'p RepoPath, folder: &Folder) -> Option<&'p str> {
    match folder {
        None => Some(path.as_str()),
        Some(folder) => path
            .as_str()
            .strip_prefix(folder.as_str())?
            .strip_prefix('/'),
    }
}

/// The name of the module that an entry of a folder is.
pub(super) fn module_name(entry: &str) -> &str {
    entry.strip_suffix(".py").unwrap_or(entry)
}

/// Whether a folder of a tree has a module or package of this name.
pub(super) fn has_module(tree: &Repo, folder: &Folder, name: &str) -> bool {
    let entry = |entry: &str| {
        let path = RepoPath::below(folder.as_ref(), entry);
        tree.kind(&path)
    };
    entry(name) == Some(Kind::Directory)
        || matches!(
            entry(&format!("{name}.py")),
            Some(Kind::File | Kind::Symlink)
        )
}

/// The folder that pytest puts first on the import path for a test module: the nearest one
/// above it that is no package.
pub(super) fn base_folder(tree: &Repo, path: &RepoPath) -> Folder {
    let parents: Vec<RepoPath> = path.parents().collect();
    parents.into_iter().rev().find(|folder| {
        tree.get(&RepoPath::below(Some(folder), "__init__.py"))
            .is_none()
    })
}

/// Names under which trusted Python files are imported, each with the folders it is in.
pub(super) fn names_of(tree: &Repo, files: &BTreeSet<RepoPath>) -> BTreeMap<String, Vec<Folder>> {
    let mut names: BTreeMap<String, Vec<Folder>> = BTreeMap::new();
    for path in files {
        let folder = base_folder(tree, path);
        let Some(rest) = below(path, &folder) else {
            continue;
        };
        let first = rest.split('/').next().unwrap_or(rest);
        let folders = names.entry(module_name(first).to_owned()).or_default();
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    names
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::repo::File;
    use crate::spec::{Expectation, Runner, SuiteCheck, SuiteIsolation, TestTrust};

    /// A tree whose files hold their own paths.
    pub(crate) fn repo(paths: &[&str]) -> Repo {
        let mut tree = Repo::new();
        for path in paths {
            tree.insert(&path.parse().unwrap(), File::regular(path.as_bytes()))
                .unwrap();
        }
        tree
    }

    /// A suite with these arguments.
    pub(crate) fn suite(args: &[&str]) -> SuiteCheck {
        SuiteCheck {
            runner: Runner::Pytest,
            runtime: "python".to_owned(),
            lock: None,
            python_path: vec![".".to_owned()],
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            isolation: SuiteIsolation::Suite,
            across: Vec::new(),
            hardening: crate::spec::Hardening::default(),
            trust: TestTrust::default(),
            expectation: Expectation::any(),
            fail_to_pass: std::collections::BTreeSet::new(),
        }
    }

    #[test]
    fn the_list_is_sorted_as_it_is_searched() {
        assert!(STANDARD_LIBRARY.is_sorted());
        let installed = BTreeSet::from(["attr".to_owned(), "tests".to_owned()]);
        for (name, owner) in [
            ("json", Some("the standard library")),
            ("_pytest", Some("the runner")),
            ("probity_records", Some("the runner")),
            ("attr", Some("an installed package")),
            ("tests", None),
            ("test", None),
            ("greeter", None),
        ] {
            assert_eq!(owner_of(name, &installed), owner, "{name}");
        }
    }

    #[test]
    fn a_test_module_is_imported_from_the_nearest_folder_that_is_no_package() {
        let tree = repo(&[
            "tests/a/__init__.py",
            "tests/a/b/__init__.py",
            "tests/a/b/test_c.py",
        ]);
        let path: RepoPath = "tests/a/b/test_c.py".parse().unwrap();
        let folder = base_folder(&tree, &path);
        assert_eq!(folder.as_ref().map(RepoPath::as_str), Some("tests"));
        let names = names_of(&tree, &BTreeSet::from([path]));
        assert_eq!(names.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(base_folder(&tree, &"test_x.py".parse().unwrap()), None);
    }
}
