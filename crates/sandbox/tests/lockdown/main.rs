//! The lockdown of workers, against a real kernel.
//!
//! The program starts itself for everything that has to happen in a locked-down process:
//! `lockdown child <mode> <settings> …`. What a kernel does not offer is skipped with a
//! line that says so.
#![cfg_attr(
    target_os = "linux",
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::print_stdout,
        reason = "a test has nobody to report to"
    )
)]

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod start;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "child") {
        child::main(&arguments[1..]);
        return std::process::ExitCode::SUCCESS;
    }
    let cases = layers::CASES.iter().chain(matrix::CASES);
    let trials = cases.map(|(name, case)| {
        libtest_mimic::Trial::test(*name, move || {
            case();
            Ok(())
        })
    });
    let arguments = libtest_mimic::Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let _ = std::fs::remove_dir_all(start::folder());
    conclusion.exit_code()
}
