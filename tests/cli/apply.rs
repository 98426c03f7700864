//! `probity apply`: all of a patch on disk, or nothing.

use std::process::Command;

use crate::project::Project;

fn project() -> Project {
    Project::new(&[
        ("a.txt", "one\ntwo\nthree\n"),
        ("d/b.txt", "b\n"),
        ("d/only.txt", "x\n"),
    ])
}

const DIFF: &str = "\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
diff --git a/d/only.txt b/d/only.txt
deleted file mode 100644
--- a/d/only.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/new/folder/c.txt b/new/folder/c.txt
new file mode 100755
--- /dev/null
+++ b/new/folder/c.txt
@@ -0,0 +1 @@
+c
";

#[test]
fn a_whole_batch_lands_as_git_would_apply_it() {
    let (ours, gits) = (project(), project());
    ours.write("p.diff", DIFF);
    let dry = ours.run(&["apply", "--repo", "repo", "--dry-run", "p.diff"]);
    insta::assert_snapshot!("apply_dry_run", dry.text());
    assert_eq!(ours.tree(), gits.tree(), "a dry run writes nothing");
    let ran = ours.run(&["apply", "--repo", "repo", "p.diff"]);
    insta::assert_snapshot!("apply", ran.text());
    gits.write("p.diff", DIFF);
    let status = Command::new("git")
        .args(["apply", "../p.diff"])
        .current_dir(gits.repo())
        .env("GIT_CEILING_DIRECTORIES", gits.root())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(ours.tree(), gits.tree());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| {
            let metadata = ours.repo().join(path).metadata().unwrap();
            metadata.permissions().mode() & 0o111
        };
        assert_ne!(mode("new/folder/c.txt"), 0);
        assert_eq!(mode("a.txt"), 0);
    }
}

#[test]
fn every_format_is_recognised() {
    for (name, patch) in [
        (
            "search-replace",
            r#"{"edits": [{"path": "a.txt", "old": "two", "new": "zwei"}]}"#,
        ),
        (
            "whole-file",
            r#"{"files": [{"path": "a.txt", "op": "replace", "content": "one\nzwei\nthree\n"}]}"#,
        ),
        (
            "unified-diff",
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n",
        ),
    ] {
        for format in ["auto", name] {
            let project = project();
            let args = ["apply", "--repo", "repo", "--json", "--format", format, "-"];
            let ran = project.run_with_input(&args, patch);
            assert_eq!(ran.code, 0, "{name}: {}", ran.text());
            assert_eq!(project.read("a.txt"), "one\nzwei\nthree\n");
            let answer = ran.json();
            assert_eq!(answer["ok"], true);
            assert_eq!(answer["format"], name);
            assert_eq!(answer["files"][0]["path"], "a.txt");
        }
    }
}

#[test]
fn a_refusal_is_machine_readable_and_changes_nothing() {
    let project = project();
    let before = project.tree();
    // The first edit would apply, the second is ambiguous.
    let patch = r#"{"edits": [{"path": "d/b.txt", "old": "b", "new": "B"},
        {"path": "a.txt", "old": "t", "new": "T"}]}"#;
    let ran = project.run_with_input(&["apply", "--repo", "repo", "--json", "-"], patch);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let error = &ran.json()["error"];
    assert_eq!(error["kind"], "ambiguous");
    assert_eq!(error["path"], "a.txt");
    assert_eq!(error["lines"], serde_json::json!([2, 3]));
    assert!(error["hint"].is_string());
    assert_eq!(project.tree(), before);
}

#[test]
fn the_guard_of_the_repository_holds_on_disk_too() {
    let project = project();
    project.write(
        "repo/probity.toml",
        "version = 1\n[guard]\nallow = [\"d/**\"]\n",
    );
    let before = project.tree();
    let patch = r#"{"edits": [{"path": "a.txt", "old": "two", "new": "zwei"}]}"#;
    let ran = project.run_with_input(&["apply", "--repo", "repo", "-"], patch);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!("apply_not_allowed", ran.text());
    assert_eq!(project.tree(), before);
}

#[cfg(unix)]
#[test]
fn no_link_is_written_through() {
    let project = project();
    project.write("outside/secret.txt", "secret\n");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, project.repo().join(name)).unwrap();
    };
    link("../outside", "out");
    link("../outside/secret.txt", "secret");
    for path in ["out/secret.txt", "out/new.txt", "secret"] {
        let patch = format!(
            r#"{{"files": [{{"path": "{path}", "op": "create", "content": "gotcha\n"}}]}}"#
        );
        let ran = project.run_with_input(&["apply", "--repo", "repo", "-"], &patch);
        assert_eq!(ran.code, 3, "{path}: {}", ran.text());
    }
    let outside = std::fs::read_dir(project.root().join("outside")).unwrap();
    assert_eq!(outside.count(), 1);
    let secret = std::fs::read_to_string(project.root().join("outside/secret.txt")).unwrap();
    assert_eq!(secret, "secret\n");
}

#[cfg(unix)]
#[test]
fn a_write_that_fails_half_way_is_taken_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project();
    let before = project.tree();
    // Root may write anywhere, so the second folder is made impossible in another way: it is
    // a file on disk that .gitignore hides from the tree.
    project.write("repo/.gitignore", "new\n");
    project.write("repo/new", "in the way\n");
    project.write("p.diff", DIFF);
    let ran = project.run(&["apply", "--repo", "repo", "p.diff"]);
    assert_eq!(ran.code, 5, "{}", ran.text());
    let mut after = project.tree();
    after.retain(|(path, _)| path != ".gitignore" && path != "new");
    assert_eq!(after, before);
    let mode = project
        .repo()
        .join("a.txt")
        .metadata()
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o111, 0);
}
