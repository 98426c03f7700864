//! The two trees of a suite whose code under test is reached across a border: what the trusted
//! tests see, and what the code under test sees.
//!
//! Invariants: no file of the code under test is among the tests', and no test among the
//! others, so that neither can be imported or read on the wrong side; of a package that holds tests
//! the others get empty `__init__.py` files.

use probity_core::repo::File;
use probity_core::spec::SuiteCheck;
use probity_core::{Repo, RepoPath};

/// Folders that hold tests and what they expect.
const TEST_FOLDERS: [&str; 4] = ["tests", "test", "_tests", "testing"];

/// The trees of both sides.
pub(super) struct Sides {
    /// For the tests: the tree before the change, without the modules under test.
    pub(super) tests: Repo,
    /// For the modules under test: the patched tree without tests.
    pub(super) candidate: Repo,
}

impl Sides {
    /// Takes them from the tree before the change and the patched one.
    pub(super) fn of(base: &Repo, patched: &Repo, wanted: &SuiteCheck) -> Self {
        let without = |repo: &Repo, is_out: &dyn Fn(&RepoPath) -> bool| {
            let mut kept = repo.clone();
            for (path, _) in repo.files() {
                if is_out(&path) {
                    kept.remove(&path);
                }
            }
            kept
        };
        let listed = wanted.trust.listed_in(patched);
        let mut tests = without(base, &|path| {
            is_module(path.as_str(), wanted) && !is_test(path.as_str())
        });
        // Where tests are within a package, they keep their names only if it is one.
        let within: Vec<RepoPath> = tests
            .files()
            .iter()
            .filter(|(path, _)| is_module(path.as_str(), wanted))
            .flat_map(|(path, _)| path.parents())
            .filter_map(|folder| folder.join("__init__.py").ok())
            .filter(|init| is_module(init.as_str(), wanted) && base.get(init).is_some())
            .collect();
        for init in within {
            if tests.get(&init).is_none() {
                // What was a file before can be one again.
                let _ = tests.insert(&init, File::regular(Vec::new()));
            }
        }
        Self {
            tests,
            candidate: without(patched, &|path| {
                is_test(path.as_str()) || listed.contains(path)
            }),
        }
    }
}

/// Whether a file is a trusted test or belongs to tests.
fn is_test(path: &str) -> bool {
    let mut folders = path.split('/');
    let name = folders.next_back().unwrap_or_default();
    let is_test = |stem: &str| stem.starts_with("test_") || stem.ends_with("_test");
    name == "conftest.py"
        || name.strip_suffix(".py").is_some_and(is_test)
        || folders.any(|folder| TEST_FOLDERS.contains(&folder))
}

/// Whether a file belongs to a module that is across.
fn is_module(path: &str, wanted: &SuiteCheck) -> bool {
    wanted.python_path.iter().any(|folder| {
        let inner = match folder.as_str() {
            "." => Some(path),
            folder => path
                .strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        let top = inner.and_then(|inner| inner.split('/').next());
        top.is_some_and(|top| {
            wanted.across.iter().any(|name| {
                top.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_their_names_and_folders() {
        for path in [
            "conftest.py",
            "a/conftest.py",
            "test_a.py",
            "a/b_test.py",
            "tests/data/expected.txt",
            "package/_tests/it.py",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["a.py", "testimony.py", "package/latest.py", "contests/a.py"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
