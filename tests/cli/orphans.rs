//! A parent that is killed takes its workers along, at whatever moment.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::project::Project;

const KILLS: u32 = 100;

/// Processes that were started as workers of the process `parent`.
fn workers_of(parent: u32) -> Vec<u32> {
    let mark = format!("\"parent\":{parent},");
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains("probity-worker") && line.contains(&mark)
    })
    .collect()
}

#[test]
fn a_killed_parent_leaves_no_worker_behind() {
    let project = Project::new(&[("repo/a.txt", "a\n")]);
    let spins =
        r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#;
    fs::write(
        project.root().join("spins.wasm"),
        wat::parse_str(spins).unwrap(),
    )
    .unwrap();
    project.write(
        "spec.toml",
        r#"
version = 1
[[check]]
name = "spins"
kind = "pack"
pack = "./spins.wasm"
check = "any"
budget = { fuel = "100 T", wall-time = "1 h" }
"#,
    );
    let mut with_workers = 0;
    for kill in 0..KILLS {
        let mut child = project
            .command(&["verify", "--repo", "repo", "--spec", "spec.toml"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // From before the first worker to the middle of the guest.
        std::thread::sleep(Duration::from_millis(u64::from(kill * 37 % 100)));
        let parent = child.id();
        if !workers_of(parent).is_empty() {
            with_workers += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !workers_of(parent).is_empty() {
            assert!(
                Instant::now() < deadline,
                "left behind after kill {kill}: {:?}",
                workers_of(parent)
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    assert!(with_workers > 10, "only {with_workers} kills met a worker");
}
