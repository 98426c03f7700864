//! Starting this program as a child.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use probity_sandbox::worker::lockdown::{Layer, Report, Role, Settings, State};

/// Small bounds, so that exceeding them is quick.
pub(crate) fn settings(role: Role) -> Settings {
    Settings {
        parent: Some(std::process::id()),
        data_bytes: 512 << 20,
        cpu_seconds: Some(1),
        file_bytes: 1 << 20,
        open_files: 64,
        ..Settings::new(role)
    }
}

/// A child of this program in a cleared environment, with its answers on a pipe.
pub(crate) fn command(mode: &str, settings: &Settings) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["child", mode])
        .arg(serde_json::to_string(settings).unwrap())
        .env_clear()
        .current_dir(folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Where children run: a core file that a probe leaves is removed with it.
pub(crate) fn folder() -> std::path::PathBuf {
    // A child that starts another is in that folder already.
    if std::env::args()
        .nth(1)
        .is_some_and(|first| first == "child")
    {
        return std::env::current_dir().unwrap();
    }
    let folder = std::env::temp_dir().join(format!("probity-lockdown-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A child that was started and said what is in force.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) output: BufReader<ChildStdout>,
    pub(crate) report: Report,
}

pub(crate) fn start(command: &mut Command) -> Started {
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let report = serde_json::from_str(&line(&mut output)).unwrap();
    Started {
        child,
        output,
        report,
    }
}

pub(crate) fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Whether the layer is in force; says so on the standard output when the kernel does not
/// have it, and fails when it has it but refused.
pub(crate) fn offered(report: &Report, layer: Layer) -> bool {
    match report.state(layer) {
        State::Active { .. } => true,
        State::NotOffered { why } => {
            println!("skipped: {layer} is not offered: {why}");
            false
        }
        State::Failed { why } => panic!("{layer} failed: {why}"),
        State::Off => panic!("{layer} is off"),
    }
}
