//! The command `text`: serves the checks of the library `text_pack`.

use std::process::ExitCode;

fn main() -> ExitCode {
    text_pack::pack().main()
}
