//! The Python side of suites: the files that guests see at `/probity`.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/python");

/// The lock of a suite that names none: pytest and what it needs.
#[must_use]
pub const fn default_lock() -> &'static str {
    include_str!("../../python/pytest.lock")
}

/// The support files, as a tree.
pub(super) fn tree() -> &'static Repo {
    static TREE: LazyLock<Repo> = LazyLock::new(|| {
        let mut repo = Repo::new();
        add(&FILES, &mut repo);
        repo
    });
    &TREE
}

fn add(folder: &Dir<'_>, repo: &mut Repo) {
    for file in folder.files() {
        let path = file.path().to_string_lossy();
        if path.ends_with(".py")
            && let Ok(path) = RepoPath::new(&path)
        {
            // Two files of one folder cannot be in each other's way.
            let _ = repo.insert(&path, File::regular(file.contents()));
        }
    }
    for inner in folder.dirs() {
        add(inner, repo);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_points_are_there() {
        let tree = tree();
        for path in [
            "main.py",
            "probity_pytest.py",
            "probity_unittest.py",
            "probity_warm_up.py",
            "compile_site.py",
        ] {
            assert!(tree.get(&path.parse().unwrap()).is_some(), "{path}");
        }
    }
}
