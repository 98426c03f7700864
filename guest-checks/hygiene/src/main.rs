//! The command `hygiene`: serves the checks of the library `hygiene_pack`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hygiene_pack::pack().main()
}
