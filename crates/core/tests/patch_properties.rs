//! Properties of the patch engine on arbitrary trees, and its agreement with git.
//!
//! The trees hold names with spaces, quotes and letters beyond ASCII, folders that become
//! files and back, CRLF, lone CR, missing final newlines and bytes that are not UTF-8. Git
//! is required: it is the independent oracle for both directions (its diffs are applied
//! here, diffs written here are applied by it).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, which clippy.toml cannot tell"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use probity_core::guard::{Guard, Limits};
use probity_core::patch::{
    Action, Edit, Format, Occurrence, Operation, Patch, Unit, apply, parse, plan, render_diff,
    render_plan,
};
use probity_core::repo::{File, FileMode, Repo, RepoPath};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const NAMES: [&str; 12] = [
    "a",
    "a/x",
    "b",
    "d/e/f",
    "d/e",
    "d/g",
    "my notes.txt",
    "caf\u{e9}.txt",
    "say \"hi\"",
    "-dash",
    "b/a/b",
    "z z/b z",
];

fn line() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&[u8]> = vec![
        b"one\n",
        b"two\n",
        b"\n",
        b"one\r\n",
        b"\tx\n",
        b"-- \n",
        b"++ y\n",
        b"@@ -1 +1 @@\n",
        b"caf\xe9\n",
        b"a\rb\n",
        b"diff --git a/x b/x\n",
        b"\\ No newline\n",
        b"<<<<<<< SEARCH\n",
        b"=======\n",
        b"*** End Patch\n",
        b"nul \0\n",
        b"   \n",
    ];
    prop_oneof![
        4 => select(words).prop_map(<[u8]>::to_vec),
        1 => vec(1_u8..=255, 0..6),
    ]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    vec(line(), 0..14).prop_map(|lines| lines.concat())
}

fn file() -> impl Strategy<Value = File> {
    (content(), any::<bool>()).prop_map(|(bytes, executable)| {
        let mode = if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        };
        File::new(bytes, mode)
    })
}

/// A tree; of two files that exclude each other, the first stays.
fn tree() -> impl Strategy<Value = Repo> {
    vec((select(NAMES.to_vec()), file()), 0..7).prop_map(|files| {
        let mut repo = Repo::new();
        for (name, file) in files {
            let _ = repo.insert(&path(name), file);
        }
        repo
    })
}

/// A tree and another that has some of its files changed, moved or taken away.
fn two_trees() -> impl Strategy<Value = (Repo, Repo)> {
    let change = (
        any::<Index>(),
        select(NAMES.to_vec()),
        0..5_u8,
        line(),
        file(),
    );
    (tree(), vec(change, 1..5)).prop_map(|(before, changes)| {
        let mut after = before.clone();
        for (index, name, what, line, file) in changes {
            let paths: Vec<RepoPath> = after.files().into_iter().map(|(path, _)| path).collect();
            let chosen = (!paths.is_empty()).then(|| index.get(&paths).clone());
            match (what, chosen) {
                (0, Some(chosen)) => {
                    after.remove(&chosen);
                }
                (1, Some(chosen)) => {
                    let old = after.get(&chosen).unwrap().clone();
                    let at = index.index(old.bytes().len() + 1);
                    let (head, tail) = old.bytes().split_at(at);
                    let bytes = [head, &line, tail].concat();
                    after.insert(&chosen, File::new(bytes, old.mode())).unwrap();
                }
                (2, Some(chosen)) => {
                    let moved = after.remove(&chosen).unwrap();
                    if after.insert(&path(name), moved.clone()).is_err() {
                        after.insert(&chosen, moved).unwrap();
                    }
                }
                (_, _) => {
                    let _ = after.insert(&path(name), file);
                }
            }
        }
        (before, after)
    })
}

fn path(name: &str) -> RepoPath {
    RepoPath::new(name).unwrap()
}

fn open_guard() -> Guard {
    Guard::new(&["**"], &[], Limits::default()).unwrap()
}

/// Edits of texts that are likely to be in the tree, once or more often.
fn edits() -> impl Strategy<Value = Patch> {
    let edit = (select(NAMES.to_vec()), line(), line(), any::<bool>());
    vec(edit, 1..4).prop_map(|edits| {
        let operations = edits
            .into_iter()
            .map(|(name, old, new, all)| Operation {
                path: path(name),
                action: Action::Edit(Edit {
                    old,
                    new,
                    occurrence: if all {
                        Occurrence::All
                    } else {
                        Occurrence::Once
                    },
                    unit: Unit::Text,
                }),
            })
            .collect();
        Patch::new(operations)
    })
}

proptest! {
    #[test]
    fn a_rendered_diff_leads_from_one_tree_to_the_other((before, after) in two_trees()) {
        let diff = render_diff(&before, &after);
        prop_assert_eq!(diff.is_empty(), before == after);
        if before == after {
            return Ok(());
        }
        let patch = parse(Format::UnifiedDiff, &diff).unwrap();
        let mut repo = before.clone();
        let done = apply(&mut repo, &patch, &open_guard()).unwrap();
        prop_assert_eq!(repo.digest(), after.digest());
        prop_assert_eq!(render_plan(&done), diff);
        let back = parse(Format::UnifiedDiff, &render_diff(&after, &before)).unwrap();
        apply(&mut repo, &back, &open_guard()).unwrap();
        prop_assert_eq!(repo.digest(), before.digest());
        let changed: Vec<RepoPath> = done.changes().iter().map(|change| change.path.clone()).collect();
        prop_assert_eq!(changed, before.changed_paths(&after));
    }

    #[test]
    fn a_refused_patch_changes_nothing_and_an_accepted_one_only_what_it_names(
        before in tree(),
        patch in edits(),
    ) {
        let mut repo = before.clone();
        match apply(&mut repo, &patch, &open_guard()) {
            Err(_) => prop_assert_eq!(repo.digest(), before.digest()),
            Ok(_) => {
                let touched: Vec<RepoPath> = patch.touched().into_iter().cloned().collect();
                prop_assert_eq!(before.changed_paths(&repo), touched);
            }
        }
    }

    #[test]
    fn the_order_of_operations_carries_no_meaning((before, after) in two_trees(), patch in edits()) {
        let mut patches = vec![patch];
        if before != after {
            patches.push(parse(Format::UnifiedDiff, &render_diff(&before, &after)).unwrap());
        }
        for patch in patches {
            let mut reversed = patch.clone();
            reversed.operations.reverse();
            match (plan(&before, &patch), plan(&before, &reversed)) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
                (Err(_), Err(_)) => {}
                (one, other) => prop_assert!(false, "{:?} and {:?}", one, other),
            }
        }
    }

    #[test]
    fn a_damaged_diff_never_panics_and_never_half_applies(
        (before, after) in two_trees(),
        at in any::<Index>(),
        bytes in vec(any::<u8>(), 0..3),
        removed in 0..4_usize,
    ) {
        let mut diff = render_diff(&before, &after);
        let start = at.index(diff.len() + 1);
        let end = (start + removed).min(diff.len());
        diff.splice(start..end, bytes);
        let Ok(patch) = parse(Format::UnifiedDiff, &diff) else { return Ok(()); };
        let mut repo = before.clone();
        if apply(&mut repo, &patch, &open_guard()).is_err() {
            prop_assert_eq!(repo.digest(), before.digest());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let _ = parse(format, &bytes);
        }
    }
}

/// `git` with nothing of this machine's configuration.
fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(["-c", "core.autocrlf=false", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need git");
    let mut stdin = child.stdin.take().unwrap();
    let written = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(input)
    );
    written.unwrap();
    output.stdout
}

fn write_tree(folder: &Path, repo: &Repo) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    for (path, file) in repo.files() {
        let target = folder.join(path.as_str());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(&target, file.bytes()).unwrap();
        let mode = match file.mode() {
            FileMode::Executable => 0o755,
            FileMode::Regular | FileMode::Symlink => 0o644,
        };
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn read_tree(root: &Path, folder: &Path, repo: &mut Repo) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            read_tree(root, &entry.path(), repo);
            continue;
        }
        let name = entry.path();
        let name = name
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
        let mode = if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        };
        repo.insert(
            &path(&name),
            File::new(fs::read(entry.path()).unwrap(), mode),
        )
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn git_applies_what_is_rendered_here((before, after) in two_trees()) {
        if before == after {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        write_tree(folder.path(), &before);
        let diff = render_diff(&before, &after);
        git(folder.path(), &["apply", "--whitespace=nowarn", "-"], &diff);
        let mut result = Repo::new();
        read_tree(folder.path(), folder.path(), &mut result);
        prop_assert_eq!(result.digest(), after.digest());
    }

    #[test]
    fn diffs_of_git_apply_here((before, after) in two_trees()) {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"], b"");
        write_tree(folder.path(), &before);
        git(folder.path(), &["add", "--all", "--force"], b"");
        let old = String::from_utf8(git(folder.path(), &["write-tree"], b"")).unwrap();
        write_tree(folder.path(), &after);
        git(folder.path(), &["add", "--all", "--force"], b"");
        let new = String::from_utf8(git(folder.path(), &["write-tree"], b"")).unwrap();
        for options in [&["--no-renames"][..], &["-M30%", "-C30%", "--find-copies-harder"]] {
            let mut arguments = vec!["diff", "--binary"];
            arguments.extend(options);
            arguments.extend([old.trim(), new.trim()]);
            let diff = git(folder.path(), &arguments, b"");
            if before == after {
                prop_assert!(diff.is_empty());
                continue;
            }
            let mut repo = before.clone();
            let outcome = parse(Format::UnifiedDiff, &diff)
                .and_then(|patch| apply(&mut repo, &patch, &open_guard()));
            prop_assert!(outcome.is_ok(), "{:?}\n{}", outcome, String::from_utf8_lossy(&diff));
            prop_assert_eq!(repo.digest(), after.digest());
        }
    }
}

/// Wherever git's diff is cut off, what applies is whole files.
#[test]
fn a_diff_that_is_cut_off_applies_whole_files_only() {
    let lines = |from: u32, to: u32| -> Vec<u8> {
        (from..to)
            .map(|n| format!("line {n}\n"))
            .collect::<String>()
            .into_bytes()
    };
    let mut before = Repo::new();
    let mut after = Repo::new();
    let mut put = |name: &str, old: Option<File>, new: Option<File>| {
        for (tree, file) in [(&mut before, old), (&mut after, new)] {
            if let Some(file) = file {
                tree.insert(&path(name), file).unwrap();
            }
        }
    };
    let file = |bytes: Vec<u8>| Some(File::regular(bytes));
    put("a-created", None, file(lines(50, 53)));
    put(
        "b-binary",
        file(b"\0one".to_vec()),
        file(b"\0two, longer".to_vec()),
    );
    put("c-deleted", file(lines(0, 3)), None);
    put("d-moved", file(lines(10, 40)), None);
    put("e-moved-to", None, file(lines(11, 40)));
    put(
        "f-mode",
        file(lines(0, 5)),
        Some(File::new(lines(0, 6), FileMode::Executable)),
    );
    put("g-new-binary", None, file(b"\0new".to_vec()));
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"], b"");
    let mut trees = Vec::new();
    for tree in [&before, &after] {
        write_tree(folder.path(), tree);
        git(folder.path(), &["add", "--all", "--force"], b"");
        let id = git(folder.path(), &["write-tree"], b"");
        trees.push(String::from_utf8(id).unwrap().trim().to_owned());
    }
    let diff = git(
        folder.path(),
        &["diff", "--binary", "-M", &trees[0], &trees[1]],
        b"",
    );
    let outcome = |text: &[u8]| {
        let mut repo = before.clone();
        let patch = parse(Format::UnifiedDiff, text).ok()?;
        apply(&mut repo, &patch, &open_guard()).ok()?;
        Some(repo.digest())
    };
    let starts: Vec<usize> = (0..=diff.len())
        .filter(|at| diff[*at..].starts_with(b"diff --git ") || *at == diff.len())
        .collect();
    assert!(starts.len() >= 7, "{}", String::from_utf8_lossy(&diff));
    let whole: Vec<_> = starts
        .iter()
        .filter_map(|end| outcome(&diff[..*end]))
        .collect();
    assert_eq!(whole.len(), starts.len() - 1);
    assert_eq!(whole.last(), Some(&after.digest()));
    for end in 0..diff.len() {
        // A section may end with its mode: an empty file, or a change of mode alone. Only the
        // `index` line that git writes next tells more.
        let open = [&b"new file mode 100644\n"[..], b"new mode 100755\n"];
        if open.iter().any(|tail| diff[..end].ends_with(tail)) {
            continue;
        }
        if let Some(found) = outcome(&diff[..end]) {
            let shown = String::from_utf8_lossy(&diff[..end]);
            assert!(whole.contains(&found), "cut at {end}:\n{shown}");
        }
    }
}
