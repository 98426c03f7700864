//! A worker on its own: for programs that cannot call `serve_if_asked` in their `main`, such
//! as tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = probity_sandbox::worker::serve_if_asked() {
        return code;
    }
    ExitCode::from(2)
}
