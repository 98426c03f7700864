//! One module for each command.

mod apply;
mod case;
mod demo;
mod doctor;
mod env;
mod init;
mod input;
mod pack;
mod runtime;
mod selftest;
mod suggest;
mod suite;
mod verify;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::ui::Ui;

/// Carries out the command.
pub(crate) fn run(cli: Cli, ui: &Ui) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Verify(args) => verify::run(&args, ui),
        Command::Apply(args) => apply::run(&args, ui),
        Command::Init(args) => init::run(&args, ui),
        Command::Pack(command) => pack::run(&command, ui),
        Command::Runtime(command) => runtime::run(&command, ui),
        Command::Env(command) => env::run(&command, ui),
        Command::Selftest(args) => selftest::run(&args, ui),
        Command::Suite(command) => suite::run(&command, ui),
        Command::Doctor(args) => doctor::run(&args, ui),
        Command::Demo => demo::run(ui),
    }
}
