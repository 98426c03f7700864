//! What this program does when it is a child.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use probity_sandbox::worker::lockdown::probe::Probe;
use probity_sandbox::worker::lockdown::{Settings, apply};

use crate::start;

pub(crate) fn main(arguments: &[String]) {
    let settings: Settings = serde_json::from_str(&arguments[1]).unwrap();
    let mode = arguments[0].as_str();
    if mode == "middle" {
        return middle(&settings);
    }
    if mode == "old-kernel" {
        take_away(&arguments[2]);
    }
    if mode == "threaded" {
        std::thread::spawn(|| std::thread::sleep(Duration::from_secs(60)));
    }
    say(&apply(&settings));
    match mode {
        "threaded" => {}
        "old-kernel" => say(&Probe::InheritedDescriptor.attempt(&settings)),
        "probe" => {
            let named = |probe: &Probe| probe.name() == arguments[2];
            let probe = Probe::ALL.into_iter().find(named).unwrap();
            say(&probe.attempt(&settings));
        }
        // Until the parent closes the other end.
        "wait" => {
            let mut rest = Vec::new();
            std::io::stdin().read_to_end(&mut rest).unwrap();
        }
        "sleep" => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        "abort" => std::process::abort(),
        other => panic!("no mode {other}"),
    }
}

fn say(answer: &impl serde::Serialize) {
    let mut line = serde_json::to_string(answer).unwrap();
    line.push('\n');
    // At once: the next thing may be the end.
    let mut output = std::io::stdout();
    output.write_all(line.as_bytes()).unwrap();
    output.flush().unwrap();
}

/// Starts a worker, says its number and waits.
fn middle(settings: &Settings) {
    let mut settings = settings.clone();
    settings.parent = Some(std::process::id());
    let worker = start::start(&mut start::command("sleep", &settings));
    say(&worker.child.id());
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Answers calls with an error, as a kernel does that is older or was built without them:
/// `<call>=<error>` or, for one value of the first argument, `<call>:<value>=<error>`.
fn take_away(calls: &str) {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };
    for each in calls.split(',') {
        let (call, error) = each.split_once('=').unwrap();
        let (number, value) = call.split_once(':').unwrap_or((call, ""));
        let rules = value.parse().ok().map(|value| {
            let (length, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
            let first = SeccompCondition::new(0, length, equal, value).unwrap();
            SeccompRule::new(vec![first]).unwrap()
        });
        let calls = [(number.parse().unwrap(), rules.into_iter().collect())];
        let error = SeccompAction::Errno(error.parse().unwrap());
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let filter = SeccompFilter::new(calls.into(), SeccompAction::Allow, error, arch);
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        seccompiler::apply_filter(&program).unwrap();
    }
}
