//! Hostile guests: each sub-command attacks one limit or one wall of a sandbox.
//!
//! Written for the tests of the sandbox. Compiled for anything but WASI it does nothing,
//! since it means what it says.

use std::process::ExitCode;

#[cfg(target_arch = "wasm32")]
mod guest;

fn main() -> ExitCode {
    #[cfg(target_arch = "wasm32")]
    let code = guest::serve();
    #[cfg(not(target_arch = "wasm32"))]
    let code = ExitCode::from(2);
    code
}
