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
            "search-replace",
            r#"{"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "zwei"}"#,
        ),
        (
            "edit-block",
            "The second word.\n\na.txt\n```\n<<<<<<< SEARCH\ntwo\n=======\nzwei\n>>>>>>> REPLACE\n```\n",
        ),
        (
            "apply-patch",
            "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+zwei\n*** End Patch\n",
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
    let answer = ran.json();
    assert_eq!(answer["format"], "search-replace");
    let error = &answer["error"];
    assert_eq!(error["kind"], "ambiguous");
    assert_eq!(error["operation"], 2);
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

#[test]
fn what_git_ignores_is_not_written_over() {
    let project = project();
    project.write("repo/.gitignore", "new\n");
    project.write("repo/new", "in the way\n");
    project.write("p.diff", DIFF);
    let before = project.tree();
    let ran = project.run(&["apply", "--repo", "repo", "p.diff"]);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("not_a_file"), "{}", ran.text());
    assert_eq!(project.tree(), before);
}

#[test]
fn a_stated_base_makes_an_old_patch_stale() {
    let patch = "a.txt\n```\n<<<<<<< SEARCH\ntwo\n=======\nzwei\n>>>>>>> REPLACE\n```\n";
    // `printf 'one\ntwo\nthree\n' | sha256sum`
    let right = "a.txt=sha256:b6285c57e8797db5d4c51c80d6f11938afda9b11c6a003549709189e9b4b92a2";
    let wrong = format!("a.txt=sha256:{}", "0".repeat(64));
    let run = |base: &str| {
        let project = project();
        let args = ["apply", "--repo", "repo", "--json", "--base", base, "-"];
        project.run_with_input(&args, patch)
    };
    let ran = run(&wrong);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert_eq!(ran.json()["error"]["kind"], "stale");
    assert_eq!(run("a.txt").code, 2);
    assert_eq!(run("../a.txt=sha256:00").code, 2);
    let ran = run(right);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn the_answer_says_what_was_done_and_its_diff_undoes_it() {
    let project = project();
    let before = project.tree();
    let patch = "\
diff --git a/a.txt b/moved/a.txt
old mode 100644
new mode 100755
rename from a.txt
rename to moved/a.txt
--- a/a.txt
+++ b/moved/a.txt
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
diff --git a/d/b.txt b/copy
copy from d/b.txt
copy to copy
";
    let ran = project.run_with_input(&["apply", "--repo", "repo", "--json", "-"], patch);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let answer = ran.json();
    let shown: Vec<_> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            format!(
                "{} {} from {} {}→{} +{} -{}",
                file["status"].as_str().unwrap(),
                file["path"].as_str().unwrap(),
                file["from"].as_str().unwrap(),
                file["old_mode"].as_str().unwrap(),
                file["new_mode"].as_str().unwrap(),
                file["added"],
                file["removed"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "copied copy from d/b.txt 100644→100644 +1 -0",
            "renamed moved/a.txt from a.txt 100644→100755 +1 -1"
        ]
    );
    let diff = answer["diff"].as_str().unwrap();
    project.write("p.diff", diff);
    let status = Command::new("git")
        .args(["apply", "-R", "../p.diff"])
        .current_dir(project.repo())
        .env("GIT_CEILING_DIRECTORIES", project.root())
        .status()
        .unwrap();
    assert!(status.success(), "{diff}");
    assert_eq!(project.tree(), before);
}

#[test]
fn binary_files_come_and_go_as_git_says() {
    let (ours, gits) = (project(), project());
    for project in [&ours, &gits] {
        std::fs::write(project.repo().join("bin"), b"\0one").unwrap();
    }
    let patch = r#"{"files": [{"path": "bin", "op": "replace", "content_b64": "AHR3bw=="},
        {"path": "more.bin", "op": "create", "content_b64": "AAECAw=="}]}"#;
    let args = ["apply", "--repo", "repo", "--diff", "-"];
    let ran = ours.run_with_input(&args, patch);
    assert_eq!(ran.code, 0, "{}", ran.text());
    gits.write("p.diff", &ran.stdout);
    let apply = |options: &[&str]| {
        let status = Command::new("git")
            .arg("apply")
            .args(options)
            .arg("../p.diff")
            .current_dir(gits.repo())
            .env("GIT_CEILING_DIRECTORIES", gits.root())
            .status()
            .unwrap();
        assert!(status.success(), "{}", ran.stdout);
    };
    let before = gits.tree();
    apply(&[]);
    assert_eq!(gits.tree(), ours.tree());
    apply(&["-R"]);
    assert_eq!(gits.tree(), before);
    // Our own diff of the change applies here, too, and once only.
    ours.write("p.diff", &ran.stdout);
    assert_eq!(ours.run(&["apply", "--repo", "repo", "p.diff"]).code, 3);
}

#[test]
fn a_refusal_says_where_else_the_text_is() {
    let project = project();
    let patch = "a.txt\n```\n<<<<<<< SEARCH\n\tthree words\n=======\nx\n>>>>>>> REPLACE\n```\n";
    project.write("repo/deep/er/c.txt", "first\n\tthree words\n");
    let args = ["apply", "--repo", "repo", "-"];
    let elsewhere = project.run_with_input(&args, patch);
    insta::assert_snapshot!("apply_text_in_another_file", elsewhere.text());
    project.write("repo/a.txt", "one\n    three words\n");
    let spaces = project.run_with_input(&args, patch);
    insta::assert_snapshot!("apply_tabs_and_spaces", spaces.text());
    let patch = r#"{"path": "c.txt", "old": "first", "new": "1st"}"#;
    let missing = project.run_with_input(&args, patch);
    insta::assert_snapshot!("apply_missing_file", missing.text());
}

#[cfg(unix)]
mod interrupted {
    use std::time::{Duration, Instant};

    use super::*;

    const FILES: usize = 60;

    fn many() -> (Project, String) {
        let project = Project::new(&[]);
        let mut patch = String::new();
        for n in 0..FILES {
            project.write(&format!("repo/d{}/f{n}", n % 7), "a\nb\nc\n");
            let path = format!("d{}/f{n}", n % 7);
            match n % 3 {
                0 => patch.push_str(&format!(
                    "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
                )),
                1 => patch.push_str(&format!(
                    "diff --git a/{path} b/new/{n}/f\nrename from {path}\nrename to new/{n}/f\n"
                )),
                _ => patch.push_str(&format!(
                    "diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"
                )),
            }
        }
        project.write("p.diff", &patch);
        (project, patch)
    }

    /// The library's own tests kill at every step; this is the binary, killed at moments
    /// spread over its run.
    #[test]
    fn a_killed_apply_is_brought_to_an_end_by_the_next() {
        let (mut project, _) = many();
        let old = project.tree();
        let started = Instant::now();
        let ran = project.run(&["apply", "--repo", "repo", "p.diff"]);
        let took = started.elapsed();
        assert_eq!(ran.code, 0, "{}", ran.text());
        let new = project.tree();
        let (mut olds, mut interrupted) = (0, 0);
        project = many().0;
        // On a busy machine a few kills more may be needed to meet the middle.
        for kill in 0..600_u32 {
            if kill >= 60 && interrupted > 0 && olds > 0 {
                break;
            }
            let mut child = project
                .command(&["apply", "--repo", "repo", "p.diff"])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let moment = started_at(took, kill);
            std::thread::sleep(moment);
            child.kill().unwrap();
            child.wait().unwrap();
            let journal = project.repo().join(".probity-journal");
            let begun = ["journal.json", "done.json"].map(|name| journal.join(name).exists());
            if begun.contains(&true) {
                interrupted += 1;
                let verified = project.run(&["verify", "--repo", "repo"]);
                assert_eq!(verified.code, 2, "{}", verified.text());
                assert!(verified.stderr.contains("--recover"), "{}", verified.text());
            }
            let ran = project.run(&["apply", "--repo", "repo", "--recover", "--json"]);
            assert_eq!(ran.code, 0, "{}", ran.text());
            let found = project.tree();
            assert!(!journal.exists());
            assert!(found == old || found == new, "{found:?}");
            if found == old {
                olds += 1;
            } else {
                project = many().0;
            }
        }
        assert!(olds > 0);
        assert!(
            interrupted > 0,
            "no kill fell between the first step and the last"
        );
    }

    /// Moments over the second half of a run, in which files are written, and past its end.
    fn started_at(took: Duration, kill: u32) -> Duration {
        took / 4 + took * (kill % 60) / 60
    }

    #[test]
    fn two_writers_at_a_time_are_one_too_many() {
        let (project, _) = many();
        let folder = std::fs::File::open(project.repo()).unwrap();
        folder.lock().unwrap();
        let before = project.tree();
        let ran = project.run(&["apply", "--repo", "repo", "p.diff"]);
        insta::assert_snapshot!("apply_second_writer", ran.text());
        assert_eq!(project.tree(), before);
        folder.unlock().unwrap();
        assert_eq!(project.run(&["apply", "--repo", "repo", "p.diff"]).code, 0);
    }
}
