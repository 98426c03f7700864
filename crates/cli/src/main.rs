//! `probity`: an objective verdict on an untrusted patch.
//!
//! This crate reads flags, opens the folders that they name, and prints. What is decided
//! is decided in `probity-core`; what runs, runs in `probity-sandbox`.

mod args;
mod cache;
mod commands;
mod failure;
mod fetch;
mod progress;
mod report;
mod ui;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = probity_sandbox::worker::serve_if_asked() {
        return code;
    }
    ui::on_interrupt();
    let cli = args::Cli::parse();
    let ui = ui::Ui::new();
    match commands::run(cli, &ui) {
        Ok(code) => code,
        Err(failure) => {
            ui.failure(&failure);
            failure.exit_code()
        }
    }
}
