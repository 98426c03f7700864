//! The command `source`: serves the checks of the library `source_pack`.

use std::process::ExitCode;

fn main() -> ExitCode {
    source_pack::pack().main()
}
