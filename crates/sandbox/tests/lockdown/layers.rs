//! Each layer alone does what it says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use probity_sandbox::worker::lockdown::probe::{Attempt, Outcome, Outside, Probe};
use probity_sandbox::worker::lockdown::{Layer, Report, Role, Settings, State};
use rustix::process::{Pid, Signal};

use crate::start::{command, line, offered, settings, start};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("each_layer_alone_denies", each_layer_alone_denies),
    ("every_layer_is_reported", every_layer_is_reported),
    ("flags_of_the_process", flags_of_the_process),
    ("limits_of_the_process", limits_of_the_process),
    (
        "a_worker_dies_with_its_parent",
        a_worker_dies_with_its_parent,
    ),
    (
        "a_parent_that_is_gone_is_noticed",
        a_parent_that_is_gone_is_noticed,
    ),
    ("abort_is_seen_as_abort", abort_is_seen_as_abort),
    (
        "an_older_kernel_is_told_apart",
        an_older_kernel_is_told_apart,
    ),
    (
        "threads_that_were_there_are_reported",
        threads_that_were_there_are_reported,
    ),
    (
        "nothing_asked_for_nothing_done",
        nothing_asked_for_nothing_done,
    ),
];

/// Tries a probe under these settings.
pub(crate) fn try_probe(outside: &Outside, probe: Probe, settings: &Settings) -> (Report, Outcome) {
    let mut command = command("probe", settings);
    command
        .arg(probe.name())
        .envs(outside.environment().unwrap())
        .stdin(Stdio::from(outside.file().unwrap()));
    let mut started = start(&mut command);
    let answer: Option<Attempt> = serde_json::from_str(&line(&mut started.output)).ok();
    let status = started.child.wait().unwrap();
    (started.report, probe.judge(answer, status))
}

/// Root is above some limits, so for root they only count together with the loss of
/// its capabilities.
pub(crate) fn alone(layer: Layer) -> Vec<Layer> {
    let above = matches!(
        layer,
        Layer::LockedMemory | Layer::MessageQueues | Layer::Priority
    );
    if above && rustix::process::getuid().is_root() {
        vec![Layer::Capabilities, layer]
    } else {
        vec![layer]
    }
}

fn each_layer_alone_denies() {
    let outside = Outside::new().unwrap();
    let root = rustix::process::getuid().is_root();
    let guest = Role::Guest;
    for (layer, role, probes) in [
        (Layer::Descriptors, guest, &[Probe::InheritedDescriptor][..]),
        (Layer::CoreSize, guest, &[Probe::DumpCore]),
        (Layer::DataSize, guest, &[Probe::ExceedData]),
        (Layer::OpenFiles, guest, &[Probe::ExceedFiles]),
        (Layer::FileSize, guest, &[Probe::ExceedFileSize]),
        (Layer::CpuTime, guest, &[Probe::ExceedCpu]),
        (Layer::LockedMemory, guest, &[Probe::LockMemory]),
        (Layer::MessageQueues, guest, &[Probe::MessageQueue]),
        (Layer::Undumpable, guest, &[Probe::DumpCore]),
        (
            Layer::NoNewCode,
            Role::Compiler,
            &[Probe::NewCode, Probe::WriteExecutable],
        ),
        (
            Layer::LandlockFiles,
            guest,
            &[
                Probe::ReadFile,
                Probe::CreateFile,
                Probe::ListRoot,
                Probe::Execute,
                Probe::ReadParentMemory,
            ],
        ),
        (
            Layer::LandlockNetwork,
            guest,
            &[Probe::ConnectTcp, Probe::BindTcp],
        ),
        (
            Layer::LandlockScope,
            guest,
            &[Probe::ConnectAbstract, Probe::SignalParent],
        ),
        (
            Layer::Capabilities,
            guest,
            if root {
                &[
                    Probe::SetUser,
                    Probe::ChangeRoot,
                    Probe::Mount,
                    Probe::RaiseLimit,
                ]
            } else {
                &[]
            },
        ),
        (
            Layer::Seccomp,
            guest,
            &[
                Probe::StatFile,
                Probe::Fork,
                Probe::UnixSocket,
                Probe::Memfd,
            ],
        ),
    ] {
        for &probe in probes {
            let nothing = settings(role).with_layers([]);
            let (_, without) = try_probe(&outside, probe, &nothing);
            if without != Outcome::Succeeded {
                println!("skipped: {probe} does not succeed here anyway: {without:?}");
                continue;
            }
            let only = settings(role).with_layers(alone(layer));
            let (report, with) = try_probe(&outside, probe, &only);
            if offered(&report, layer) {
                assert!(with.is_denied(), "{probe} under {layer}: {with:?}");
            }
        }
    }
}

fn every_layer_is_reported() {
    for role in [Role::Guest, Role::Compiler] {
        let mut started = start(&mut command("wait", &settings(role)));
        let layers: Vec<Layer> = started.report.layers.iter().map(|(l, _)| *l).collect();
        assert_eq!(layers, Layer::ALL);
        for layer in Layer::ALL {
            if layer == Layer::NoNewCode && role == Role::Guest {
                assert_eq!(started.report.state(layer), &State::Off);
            } else {
                offered(&started.report, layer);
            }
            println!("{role:?} {layer}: {:?}", started.report.state(layer));
        }
        assert!(started.child.wait().unwrap().success());
    }
}

/// What the kernel says about a process, by the names of its own.
fn status(process: u32) -> BTreeMap<String, String> {
    fs::read_to_string(format!("/proc/{process}/status"))
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

fn flags_of_the_process() {
    for (layer, field, value) in [
        (Layer::NoNewPrivileges, "NoNewPrivs", "1"),
        (Layer::Capabilities, "CapEff", "0000000000000000"),
        (Layer::Capabilities, "CapPrm", "0000000000000000"),
        (Layer::Seccomp, "Seccomp_filters", "4"),
    ] {
        let settings = settings(Role::Guest).with_layers([layer]);
        let mut started = start(command("wait", &settings).stdin(Stdio::piped()));
        let found = status(started.child.id());
        if offered(&started.report, layer) {
            assert_eq!(found[field], value, "{layer}");
        }
        drop(started.child.stdin.take());
        assert!(started.child.wait().unwrap().success());
    }

    let layers = [Layer::OwnSession, Layer::OomFirst];
    let settings = settings(Role::Guest).with_layers(layers);
    let mut started = start(command("wait", &settings).stdin(Stdio::piped()));
    let process = started.child.id();
    if offered(&started.report, Layer::OomFirst) {
        let score = fs::read_to_string(format!("/proc/{process}/oom_score_adj")).unwrap();
        assert_eq!(score.trim(), "1000");
    }
    let pid = Pid::from_child(&started.child);
    assert_eq!(rustix::process::getsid(Some(pid)), Ok(pid));
    assert_eq!(rustix::process::getpgid(Some(pid)), Ok(pid));
    drop(started.child.stdin.take());
    assert!(started.child.wait().unwrap().success());
}

fn limits_of_the_process() {
    let settings = settings(Role::Guest);
    let mut started = start(command("wait", &settings).stdin(Stdio::piped()));
    let text = fs::read_to_string(format!("/proc/{}/limits", started.child.id())).unwrap();
    let limits = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line[26..]
            .split_whitespace()
            .take(2)
            .map(str::to_owned)
            .collect()
    };
    for (name, soft, hard) in [
        ("Max core file size", 0, 0),
        ("Max data size", settings.data_bytes, settings.data_bytes),
        ("Max open files", settings.open_files, settings.open_files),
        ("Max file size", settings.file_bytes, settings.file_bytes),
        ("Max cpu time", 1, 2),
        ("Max locked memory", 0, 0),
        ("Max msgqueue size", 0, 0),
        ("Max nice priority", 0, 0),
        ("Max realtime priority", 0, 0),
    ] {
        assert_eq!(limits(name), [soft.to_string(), hard.to_string()], "{name}");
    }
    drop(started.child.stdin.take());
    assert!(started.child.wait().unwrap().success());
}

fn a_worker_dies_with_its_parent() {
    for layers in [vec![Layer::ParentDeath], Layer::ALL.to_vec()] {
        let settings = settings(Role::Guest).with_layers(layers);
        let mut middle = command("middle", &settings).spawn().unwrap();
        let mut output = std::io::BufReader::new(middle.stdout.take().unwrap());
        let worker: i32 = line(&mut output).parse().unwrap();
        let worker = Pid::from_raw(worker).unwrap();
        assert!(is_running(worker));
        middle.kill().unwrap();
        middle.wait().unwrap();
        let start = Instant::now();
        while is_running(worker) {
            assert!(start.elapsed() < Duration::from_secs(10), "an orphan lives");
            std::thread::yield_now();
        }
    }
}

/// A process that ended but that nobody waited for yet does not run.
fn is_running(process: Pid) -> bool {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    fs::read_to_string(path).is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        !matches!(state, Some(Some('Z' | 'X')))
    })
}

fn a_parent_that_is_gone_is_noticed() {
    let mut settings = settings(Role::Guest).with_layers([Layer::ParentDeath]);
    settings.parent = Some(1);
    let mut started = start(&mut command("wait", &settings));
    assert!(matches!(
        started.report.state(Layer::ParentDeath),
        State::Failed { .. }
    ));
    started.child.wait().unwrap();
}

fn abort_is_seen_as_abort() {
    let mut started = start(&mut command("abort", &settings(Role::Guest)));
    let status = started.child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()));
    assert!(!status.core_dumped());
}

fn nothing_asked_for_nothing_done() {
    let nothing = settings(Role::Guest).with_layers([]);
    let mut started = start(&mut command("wait", &nothing));
    let all_off = started.report.layers.iter().all(|(_, s)| *s == State::Off);
    assert!(all_off, "{:?}", started.report);
    started.child.wait().unwrap();
}

fn an_older_kernel_is_told_apart() {
    let landlock = &[
        Layer::LandlockFiles,
        Layer::LandlockNetwork,
        Layer::LandlockScope,
    ];
    for (calls, missing) in [
        // No landlock, no landlock enabled, no landlock in the container's own filter.
        (
            format!("{}={}", libc::SYS_landlock_create_ruleset, libc::ENOSYS),
            &landlock[..],
        ),
        (
            format!("{}={}", libc::SYS_landlock_create_ruleset, libc::EOPNOTSUPP),
            landlock,
        ),
        (
            format!("{}={}", libc::SYS_landlock_create_ruleset, libc::EPERM),
            landlock,
        ),
        // Descriptors are closed one by one where they cannot be at once.
        (format!("{}={}", libc::SYS_close_range, libc::ENOSYS), &[]),
        (format!("{}={}", libc::SYS_close_range, libc::EPERM), &[]),
        (
            format!("{}:65={}", libc::SYS_prctl, libc::EINVAL),
            &[Layer::NoNewCode],
        ),
        // No filters: of the calls there is only this one left to say so.
        (
            format!("{}={}", libc::SYS_seccomp, libc::ENOSYS),
            &[Layer::Seccomp],
        ),
    ] {
        let outside = Outside::new().unwrap();
        let mut command = command("old-kernel", &settings(Role::Compiler));
        let mut started = start(command.arg(&calls));
        let answer: Attempt = serde_json::from_str(&line(&mut started.output)).unwrap();
        let errno = libc::EBADF;
        assert_eq!(answer, Attempt::Refused { errno }, "{calls}");
        started.child.wait().unwrap();
        let not_offered: Vec<Layer> = started.report.missing().map(|(layer, _)| layer).collect();
        assert_eq!(not_offered, missing, "{calls}");
        for layer in Layer::ALL {
            let expected = !missing.contains(&layer);
            let state = started.report.state(layer);
            assert_eq!(state.is_active(), expected, "{calls}: {layer} is {state:?}");
        }
        drop(outside);
    }
}

fn threads_that_were_there_are_reported() {
    let mut started = start(&mut command("threaded", &settings(Role::Guest)));
    assert!(started.child.wait().unwrap().success());
    for layer in [
        Layer::NoNewPrivileges,
        Layer::LandlockFiles,
        Layer::LandlockNetwork,
        Layer::LandlockScope,
        Layer::Capabilities,
    ] {
        let state = started.report.state(layer);
        assert!(!state.is_active(), "{layer} is {state:?}");
    }
    // This one reaches the other threads, too.
    offered(&started.report, Layer::Seccomp);
}
