//! The two trees of a suite whose code under test is reached across a border.
//!
//! Invariants: of the modules that are across, the tests' tree holds nothing but the tests that
//! lie within them and empty `__init__.py` files above these; the other tree holds no test, no
//! `conftest.py`, and nothing that the spec calls a test.

use std::collections::BTreeSet;

use super::conventions::Tests;
use super::lay::{Trusting, put};
use crate::Repo;
use crate::guard::GuardError;
use crate::repo::{File, RepoPath};
use crate::spec::SuiteCheck;
use crate::verify::VerifyInput;

/// The trees of both sides.
#[derive(Debug, Clone)]
pub struct Apart {
    /// For the tests: the base, with a folder of trusted tests laid over, without the modules
    /// that are across.
    pub tests: Repo,
    /// For the code under test: the patched tree without tests.
    pub candidate: Repo,
}

/// Takes the tests and the modules apart that are `across` in a suite.
///
/// # Errors
/// Names a pattern of the spec that is not a glob; one that was read is.
pub fn take_apart(
    input: VerifyInput<'_>,
    wanted: &SuiteCheck,
    trusting: Trusting<'_>,
) -> Result<Apart, GuardError> {
    let mut tests = input.base.unwrap_or(input.repo).clone();
    if let Some(folder) = trusting.folder {
        for (path, file) in folder.files() {
            put(&mut tests, &path, file.clone());
        }
    }
    let are_tests = match wanted.trust.tests()? {
        Some(listed) => Tests::Listed(listed),
        None => Tests::find(wanted, &[&tests]),
    };
    let is_test = |path: &RepoPath| path.name() == "conftest.py" || are_tests.includes(path);
    let mut candidate = input.repo.clone();
    remove(&mut candidate, is_test);
    let packages: BTreeSet<RepoPath> = tests
        .files()
        .into_iter()
        .filter(|(path, _)| is_across(path, wanted) && is_test(path))
        .flat_map(|(path, _)| path.parents().collect::<Vec<_>>())
        .filter_map(|folder| folder.join("__init__.py").ok())
        .filter(|init| is_across(init, wanted) && !is_test(init) && tests.get(init).is_some())
        .collect();
    remove(&mut tests, |path| is_across(path, wanted) && !is_test(path));
    for init in packages {
        put(&mut tests, &init, File::regular(Vec::new()));
    }
    Ok(Apart { tests, candidate })
}

fn remove(tree: &mut Repo, is_out: impl Fn(&RepoPath) -> bool) {
    let out: Vec<RepoPath> = tree
        .files()
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| is_out(path))
        .collect();
    for path in out {
        tree.remove(&path);
    }
}

/// Whether a file belongs to a module that is across.
fn is_across(path: &RepoPath, wanted: &SuiteCheck) -> bool {
    wanted.python_path.iter().any(|folder| {
        let inner = match folder.as_str() {
            "." => Some(path.as_str()),
            folder => path
                .as_str()
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
    use super::super::importable::tests::{repo, suite};
    use super::*;

    fn paths(tree: &Repo) -> Vec<String> {
        tree.files()
            .iter()
            .map(|(path, _)| path.to_string())
            .collect()
    }

    #[test]
    fn neither_side_sees_the_other() {
        let base = repo(&[
            "conftest.py",
            "greeter/__init__.py",
            "greeter/core.py",
            "greeter/parts/__init__.py",
            "greeter/parts/tests/test_parts.py",
            "greeterish.py",
            "tests/data/expected.txt",
            "tests/test_it.py",
        ]);
        let patched = repo(&[
            "conftest.py",
            "greeter/__init__.py",
            "greeter/core.py",
            "tests/test_new.py",
        ]);
        let wanted = SuiteCheck {
            across: vec!["greeter".to_owned()],
            ..suite(&[])
        };
        let installed = BTreeSet::new();
        let trusting = Trusting {
            folder: None,
            installed: &installed,
        };
        let input = VerifyInput {
            repo: &patched,
            base: Some(&base),
        };
        let apart = take_apart(input, &wanted, trusting).unwrap();
        assert_eq!(
            paths(&apart.tests),
            [
                "conftest.py",
                "greeter/__init__.py",
                "greeter/parts/__init__.py",
                "greeter/parts/tests/test_parts.py",
                "greeterish.py",
                "tests/data/expected.txt",
                "tests/test_it.py",
            ]
        );
        let init = "greeter/__init__.py".parse().unwrap();
        assert!(apart.tests.get(&init).unwrap().bytes().is_empty());
        assert_eq!(
            paths(&apart.candidate),
            ["greeter/__init__.py", "greeter/core.py"]
        );
    }
}
