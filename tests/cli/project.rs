//! A repository on disk and the binary that judges it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a repository in `repo/`.
pub(crate) struct Project {
    folder: TempDir,
}

/// What a run of the binary came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A repository with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(project.repo()).unwrap();
        for (path, text) in files {
            project.write(&format!("repo/{path}"), text);
        }
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Writes a file below the project's folder.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file of the repository.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo().join(path)).unwrap()
    }

    /// Every file of the repository with its content, sorted.
    pub(crate) fn tree(&self) -> Vec<(String, Vec<u8>)> {
        let mut out = Vec::new();
        walk(&self.repo(), &self.repo(), &mut out);
        out.sort();
        out
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(args).current_dir(self.root()).env_clear();
        for name in ["PATH", "HOME", "PROBITY_CACHE", "XDG_CACHE_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Runs the binary in the project's folder.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Runs the binary with text on standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }
}

fn walk(root: &Path, folder: &Path, out: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            walk(root, &path, out);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            out.push((name, fs::read(&path).unwrap_or_default()));
        }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Exit code and both streams as one text, without real times and digests of trees.
    pub(crate) fn text(&self) -> String {
        let text = format!(
            "exit code {}\n-- stdout\n{}-- stderr\n{}",
            self.code, self.stdout, self.stderr
        );
        let time = regex::Regex::new(r"\b\d+(\.\d+)? (µs|ms|s)\b").unwrap();
        let fuel = regex::Regex::new(r"\b\d+(\.\d+)? ([kMG] )?fuel\b").unwrap();
        let text = time.replace_all(&text, "[time]");
        fuel.replace_all(&text, "[fuel]").into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}
