//! Which files are tests, where a spec does not say.
//!
//! By pytest's and unittest's conventions: modules named `test_*.py`, `*_test.py` or
//! `tests.py`; everything below a folder `test` or `tests` (and a few names like it) that
//! stands at the root or holds such a module; and what the runner's arguments name, as far
//! as its own name speaks of tests. So `pkg/testing/` and `pkg/testing.py` are source.

use std::collections::BTreeSet;

use crate::Repo;
use crate::guard::Patterns;
use crate::repo::{Kind, RepoPath};
use crate::spec::SuiteCheck;

/// Says of each path whether it is a test's.
pub(super) enum Tests {
    /// No path is.
    None,
    /// As the spec says.
    Listed(Patterns),
    /// By the conventions.
    Found {
        /// Folders of which everything is a test's.
        folders: BTreeSet<RepoPath>,
        /// Files that arguments name.
        files: BTreeSet<RepoPath>,
    },
}

impl Tests {
    /// Finds the tests of a suite by the files of the trusted trees.
    pub(super) fn find(wanted: &SuiteCheck, trees: &[&Repo]) -> Self {
        let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
        for tree in trees {
            for (path, _) in tree.files() {
                let holds_test = is_test_module(path.name());
                let above = path.parents().enumerate();
                let found = above.filter(|(depth, folder)| {
                    let name = folder.name();
                    is_test_folder(name) && (holds_test || (*depth == 0 && is_plain(name)))
                });
                folders.extend(found.map(|(_, folder)| folder));
            }
        }
        let doctests = wanted.args.iter().any(|arg| arg.contains("doctest"));
        for arg in wanted.args.iter().filter(|arg| !arg.starts_with('-')) {
            let text = arg.split("::").next().unwrap_or(arg);
            let text = text.trim_start_matches("./").trim_end_matches('/');
            let Ok(path) = RepoPath::new(text) else {
                continue;
            };
            if !path.name().to_ascii_lowercase().contains("test") {
                continue;
            }
            match trees.iter().find_map(|tree| tree.kind(&path)) {
                Some(Kind::Directory) => _ = folders.insert(path),
                Some(Kind::File | Kind::Symlink) if !doctests => _ = files.insert(path),
                Some(Kind::File | Kind::Symlink) | None => {}
            }
        }
        Self::Found { folders, files }
    }

    /// Whether the file is a test, or a test's data or helper.
    pub(super) fn includes(&self, path: &RepoPath) -> bool {
        match self {
            Self::None => false,
            Self::Listed(patterns) => patterns.find(path).is_some(),
            Self::Found { folders, files } => {
                is_test_module(path.name())
                    || files.contains(path)
                    || path.parents().any(|folder| folders.contains(&folder))
            }
        }
    }
}

/// Whether a runner takes a module of this name for tests wherever it stands.
pub(super) fn is_test_module(name: &str) -> bool {
    name.strip_suffix(".py")
        .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests")
}

/// Whether nothing but tests has such a folder at the root.
fn is_plain(name: &str) -> bool {
    matches!(name, "test" | "tests")
}

fn is_test_folder(name: &str) -> bool {
    is_plain(name)
        || matches!(name, "testsuite" | "testcases" | "unittest" | "unittests")
        || name.ends_with("_tests")
        || name.ends_with("-tests")
}

#[cfg(test)]
mod tests {
    use super::super::importable::tests::{repo, suite};
    use super::*;

    #[test]
    fn tests_are_found_by_name_folder_and_argument() {
        let tree = repo(&[
            "tests/data/a.bin",
            "src/pkg/testing.py",
            "src/pkg/testing/test_kit/x.py",
            "src/pkg/test/client.py",
            "src/other/test/test_a.py",
            "src/other/test/page.html",
            "lib/check/testsuite2/a.py",
            "checks/a.py",
        ]);
        let found = Tests::find(
            &suite(&[
                "-o",
                "x=tests",
                "lib/check/testsuite2/",
                "checks",
                "./checks/a.py",
            ]),
            &[&tree],
        );
        for (path, is_test) in [
            ("tests/data/a.bin", true),
            ("tests/new/file.txt", true),
            ("src/pkg/testing.py", false),
            ("src/pkg/testing/test_kit/x.py", false),
            ("src/pkg/test/client.py", false),
            ("src/pkg/test_tools.py", true),
            ("src/other/test/page.html", true),
            ("lib/check/testsuite2/a.py", true),
            ("checks/a.py", false),
            ("checks/tests.py", true),
            ("a_test.py", true),
            ("test.py", false),
            ("conftest.py", false),
        ] {
            assert_eq!(found.includes(&path.parse().unwrap()), is_test, "{path}");
        }
    }

    #[test]
    fn a_file_of_tests_can_be_named() {
        let tree = repo(&["testing.py", "pkg/mod.py"]);
        let named = |args: &[&str]| {
            let found = Tests::find(&suite(args), &[&tree]);
            found.includes(&"testing.py".parse().unwrap())
        };
        assert!(named(&["testing.py::test_a", "pkg/mod.py"]));
        assert!(!named(&["pkg/mod.py"]));
        assert!(!named(&["--doctest-modules", "testing.py"]));
    }
}
