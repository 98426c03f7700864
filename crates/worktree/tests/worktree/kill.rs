//! Processes that really die: by abort before each step, and by SIGKILL at any moment.
//!
//! The process that dies is this test program, started again with a folder named in its
//! environment.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use probity_core::Repo;
use probity_core::patch::{
    Action, Content, FileDiff, Hunk, Operation, Origin, Patch, Plan, Tail, plan,
};
use probity_worktree::{Fault, Ignored, Recovery, Worktree};

use crate::scene::{Git, Picture, Scene, apply, commit, everything, planned};

const FOLDER: &str = "PROBITY_TEST_FOLDER";
const STEP: &str = "PROBITY_TEST_STEP";

fn start(test: &str, scene: &Scene, step: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1", test])
        .env(FOLDER, scene.folder.path())
        .env(STEP, step.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn recover(scene: &Scene) -> Recovery {
    let worktree = scene.worktree();
    let lock = worktree.lock().unwrap();
    worktree.recover(&lock).unwrap()
}

/// In the child: applies the patch and aborts before one step.
#[test]
fn child_aborts() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let step = std::env::var(STEP).unwrap().parse().unwrap();
    let worktree = Worktree::open(folder.as_ref()).unwrap();
    apply(&worktree.with_fault(Fault::Abort(step)), &everything()).unwrap();
}

#[test]
fn a_process_that_aborts_before_a_step_leaves_all_or_nothing() {
    let mut scene = Scene::new(Git::Folder);
    let (old, new) = pictures();
    let mut aborts = 0;
    for step in 0.. {
        let status = start("kill::child_aborts", &scene, step).wait().unwrap();
        recover(&scene);
        let found = scene.picture();
        assert!(found == old || found == new, "step {step}: {found:?}");
        if status.success() {
            assert_eq!(found, new);
            break;
        }
        aborts += 1;
        if found == new {
            scene = Scene::new(Git::Folder);
        }
    }
    assert!(aborts > 80, "{aborts}");
}

fn pictures() -> (Picture, Picture) {
    let scene = Scene::new(Git::Folder);
    let old = scene.picture();
    apply(&scene.worktree(), &everything()).unwrap();
    (old, scene.picture())
}

/// A patch that makes one tree of another.
fn between(from: &Repo, to: &Repo) -> Patch {
    let operations = from.changed_paths(to).into_iter().map(|path| {
        let action = match (from.get(&path), to.get(&path)) {
            (Some(before), Some(after)) => Action::Diff(FileDiff {
                origin: Origin::Same,
                old_mode: None,
                new_mode: Some(after.mode()),
                content: Content::Hunks(whole(before.bytes(), after.bytes())),
            }),
            (None, Some(after)) => Action::Create {
                content: after.bytes().into(),
                mode: after.mode(),
            },
            (Some(_), None) => Action::Delete {
                expected: None,
                mode: None,
            },
            (None, None) => unreachable!(),
        };
        Operation { path, action }
    });
    Patch::new(operations.collect())
}

/// The change of the whole text of a file, if there is one.
fn whole(before: &[u8], after: &[u8]) -> Vec<Hunk> {
    let hunk = Hunk {
        old_start: 1,
        old: before.to_vec(),
        new: after.to_vec(),
        tail: Tail::EndOfFile,
    };
    if before == after {
        Vec::new()
    } else {
        vec![hunk]
    }
}

/// The tree of the scene and its successor, with the plans that lead from each to the
/// other.
fn there_and_back() -> (Repo, Repo, Plan, Plan) {
    let scene = Scene::new(Git::Folder);
    let old = scene.repo();
    let there = planned(&scene, &everything());
    let new = there.applied_to(&old).unwrap();
    let back = plan(&new, &between(&new, &old)).unwrap();
    (old, new, there, back)
}

/// In the child: goes from one tree to the other and back until it is killed.
#[test]
fn child_never_ends() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let worktree = Worktree::open(folder.as_ref()).unwrap();
    let (old, _, there, back) = there_and_back();
    let mut is_old = worktree.load(Ignored::Include).unwrap().repo == old;
    print_byte();
    loop {
        commit(&worktree, if is_old { &there } else { &back }).unwrap();
        is_old = !is_old;
    }
}

#[allow(clippy::print_stdout, reason = "the parent waits for it")]
fn print_byte() {
    println!("#");
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_all_or_nothing() {
    let scene = Scene::new(Git::Folder);
    let (old, new, ..) = there_and_back();
    let (mut undone, mut completed) = (0, 0);
    for round in 0..250_u64 {
        let mut child = start("kill::child_never_ends", &scene, 0);
        let mut out = child.stdout.take().unwrap();
        let mut byte = [0];
        while byte != *b"#" {
            out.read_exact(&mut byte).unwrap();
        }
        // Spread over two commits or so, without any pattern that they could share.
        let wait = Duration::from_micros(round.wrapping_mul(7919) % 4000);
        let start = Instant::now();
        while start.elapsed() < wait {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        match recover(&scene) {
            Recovery::Nothing => {}
            Recovery::Undone => undone += 1,
            Recovery::Completed => completed += 1,
        }
        let repo = scene.repo();
        assert!(repo == old || repo == new, "round {round}");
        let picture = scene.picture();
        let strays = picture.keys().filter(|path| {
            let path = path.to_str().unwrap();
            path.contains("probity") || (path.starts_with("new") && repo == old)
        });
        assert_eq!(strays.count(), 0, "round {round}: {picture:?}");
    }
    assert!(
        undone + completed > 50,
        "{undone} undone, {completed} completed"
    );
    assert!(
        undone > 0 && completed > 0,
        "{undone} undone, {completed} completed"
    );
}
