//! Every probe under every layer: the table that `doctor` shows, and that all layers
//! together deny everything.

use probity_sandbox::worker::lockdown::probe::{Outcome, Outside, Probe};
use probity_sandbox::worker::lockdown::{Layer, Role};

use crate::layers::{alone, try_probe};
use crate::start::settings;

pub(crate) const CASES: &[(&str, fn())] =
    &[("all_layers_deny_everything", all_layers_deny_everything)];

fn all_layers_deny_everything() {
    let outside = Outside::new().unwrap();
    println!("| probe | tries to | nothing | each layer alone | guest | compiler |");
    println!("|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    for probe in Probe::ALL {
        let (_, bare) = try_probe(&outside, probe, &settings(Role::Guest).with_layers([]));
        let mut by = Vec::new();
        let mut without_capabilities = bare.clone();
        // Last to first, so that capabilities come before what counts only without them.
        for layer in Layer::ALL.into_iter().rev() {
            // Takes as long as the bound where it does not apply.
            if probe == Probe::ExceedCpu && layer != Layer::CpuTime {
                continue;
            }
            // For a compiler, where every layer is in use.
            let only = alone(layer);
            let besides = match only.as_slice() {
                [_] => &bare,
                _ => &without_capabilities,
            }
            .clone();
            let only = settings(Role::Compiler).with_layers(only);
            let (report, outcome) = try_probe(&outside, probe, &only);
            if report.state(layer).is_active() && outcome.is_denied() && outcome != besides {
                by.push(format!("{layer} {}", short(&outcome)));
            }
            if layer == Layer::Capabilities {
                without_capabilities = outcome;
            }
        }
        by.reverse();
        let [guest, compiler] = [Role::Guest, Role::Compiler].map(|role| {
            let (report, outcome) = try_probe(&outside, probe, &settings(role));
            let complete = report.missing().next().is_none();
            let denied = outcome.is_denied()
                || matches!(outcome, Outcome::Inapplicable { .. }) && bare != Outcome::Succeeded;
            if complete && probe.must_be_refused(role) && !denied {
                wrong.push(format!("{probe} by a {role:?}: {outcome:?}"));
            }
            if !probe.must_be_refused(role) && outcome.is_denied() {
                wrong.push(format!("{probe} is needed by a {role:?}: {outcome:?}"));
            }
            outcome
        });
        println!(
            "| {probe} | {} | {} | {} | {} | {} |",
            probe.tries(),
            short(&bare),
            by.join(", "),
            short(&guest),
            short(&compiler),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn short(outcome: &Outcome) -> String {
    let known = |names: &[(i32, &str)], number: i32| {
        let name = names.iter().find(|(each, _)| *each == number);
        name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
    };
    match outcome {
        Outcome::Refused { errno } => known(
            &[
                (libc::EPERM, "EPERM"),
                (libc::EACCES, "EACCES"),
                (libc::EBADF, "EBADF"),
                (libc::ENOMEM, "ENOMEM"),
                (libc::EMFILE, "EMFILE"),
                (libc::ENOSYS, "ENOSYS"),
            ],
            *errno,
        ),
        Outcome::Killed { signal } => known(
            &[
                (libc::SIGSYS, "SIGSYS"),
                (libc::SIGABRT, "SIGABRT"),
                (libc::SIGXCPU, "SIGXCPU"),
                (libc::SIGXFSZ, "SIGXFSZ"),
            ],
            *signal,
        ),
        Outcome::Succeeded => "allowed".to_owned(),
        Outcome::Inapplicable { why } | Outcome::Unknown { why } => format!("({why})"),
    }
}
