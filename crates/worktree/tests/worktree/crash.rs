//! Every step of a commit goes wrong once, in three ways: it fails, the process dies
//! before it, and the process dies again while it recovers.

use std::collections::BTreeSet;

use probity_core::patch::Plan;
use probity_worktree::{CommitError, Fault, RecoverError, Recovery, Worktree};

use crate::scene::{Git, Picture, Scene, commit, everything, planned};

/// A scene, its plan, and how it looks before and after.
struct Stage {
    git: Git,
    links: Links,
    scene: Scene,
    plan: Plan,
    old: Picture,
    new: Picture,
}

/// Whether the file system knows second names of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Known,
    Unknown,
}

type Recovered = Result<Recovery, RecoverError>;

impl Stage {
    fn new(git: Git, links: Links) -> Self {
        let scene = Scene::new(git);
        let plan = planned(&scene, &everything());
        let after = Scene::new(git);
        commit(&after.worktree(), &plan).unwrap();
        Self {
            git,
            links,
            old: scene.picture(),
            new: after.picture(),
            scene,
            plan,
        }
    }

    fn worktree(&self, fault: Fault) -> Worktree {
        let worktree = self.scene.faulty(fault);
        match self.links {
            Links::Known => worktree,
            Links::Unknown => worktree.without_links(),
        }
    }

    /// Commits with a fault; also says how many steps that took.
    fn commit(&self, fault: Fault) -> (Result<(), CommitError>, u64) {
        let worktree = self.worktree(fault);
        let outcome = commit(&worktree, &self.plan);
        (outcome, worktree.steps_taken())
    }

    fn recover(&self, fault: Fault) -> Recovered {
        let worktree = self.worktree(fault);
        let lock = worktree.lock().unwrap();
        worktree.recover(&lock)
    }

    /// The tree is old or new; a new one is replaced by an old one.
    fn reset(&mut self, context: &str) {
        let found = self.scene.picture();
        if found == self.new {
            self.scene = Scene::new(self.git);
        } else {
            assert_eq!(found, self.old, "{context}");
        }
    }
}

#[test]
fn a_step_that_fails_is_undone() {
    for (git, links) in [(Git::Folder, Links::Known), (Git::Absent, Links::Unknown)] {
        let mut stage = Stage::new(git, links);
        for step in 0.. {
            let (outcome, steps) = stage.commit(Fault::Error(step));
            let context = format!("{links:?}, step {step}: {outcome:?}");
            match &outcome {
                Ok(()) => {
                    stage.recover(Fault::Never).unwrap();
                    assert_eq!(stage.scene.picture(), stage.new, "{context}");
                }
                Err(CommitError::Io { .. }) => {
                    assert_eq!(stage.scene.picture(), stage.old, "{context}");
                }
                Err(_) => panic!("{context}"),
            }
            if steps <= step {
                assert!(step > 80, "every step was reached");
                break;
            }
            stage.reset(&context);
        }
    }
}

#[test]
fn a_process_that_dies_before_any_step_leaves_all_or_nothing() {
    for (git, links) in [
        (Git::Folder, Links::Known),
        (Git::File, Links::Known),
        (Git::Absent, Links::Unknown),
    ] {
        let mut stage = Stage::new(git, links);
        let mut recoveries = BTreeSet::new();
        for step in 0.. {
            let (outcome, steps) = stage.commit(Fault::Crash(step));
            let recovery = stage.recover(Fault::Never).unwrap();
            let context = format!("{links:?}, step {step}: {outcome:?}, {recovery:?}");
            let expected = match (&outcome, recovery) {
                (Err(_), Recovery::Undone | Recovery::Nothing) => &stage.old,
                (Ok(()), Recovery::Completed | Recovery::Nothing) => &stage.new,
                (Ok(()), Recovery::Undone) | (Err(_), Recovery::Completed) => panic!("{context}"),
            };
            assert_eq!(stage.scene.picture(), *expected, "{context}");
            recoveries.insert(format!("{recovery:?}"));
            if steps <= step {
                break;
            }
            stage.reset(&context);
        }
        assert_eq!(recoveries.len(), 3, "{recoveries:?}");
    }
}

/// The test before takes each step; here every third has to do.
const STRIDE: usize = 3;

#[test]
fn a_recovery_that_dies_is_done_again() {
    for links in [Links::Known, Links::Unknown] {
        let mut stage = Stage::new(Git::Absent, links);
        for step in (0_u64..).step_by(STRIDE) {
            let mut steps = 0;
            for second in 0.. {
                let committed;
                (committed, steps) = stage.commit(Fault::Crash(step));
                let first = stage.recover(Fault::Crash(second));
                let last = stage.recover(Fault::Never).unwrap();
                let context =
                    format!("{links:?}, {step}, {second}: {committed:?}, {first:?}, {last:?}");
                let expected = match &committed {
                    Ok(()) => &stage.new,
                    Err(_) => &stage.old,
                };
                assert_eq!(stage.scene.picture(), *expected, "{context}");
                stage.reset(&context);
                if first.is_ok() {
                    break;
                }
            }
            if steps <= step {
                break;
            }
        }
    }
}
