//! Programs that run a guest on request and say how long it took, to be compared with each
//! other; and the peer, wasmtime as a package of PyPI, of one pinned version, in a virtual
//! environment in the cache.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::venv;

/// The package, as pip's requirements name it. The version is near that of our engine, of
/// which PyPI has only the first of each month.
const PACKAGE: &str = "wasmtime==48.0.0 \
    --hash=sha256:58544d539053dff7bd4cf30c40d7a540862d683013c0dfa6ba46a063f5b682f7\n";

/// A Python that has it.
pub(crate) fn wasmtime() -> Result<PathBuf> {
    let folder = venv::ready("wasmtime-48.0.0", PACKAGE, |_| Ok(()))?;
    Ok(venv::python(&folder))
}

/// A process that runs the guest for each line that it is sent.
pub(crate) struct Runner {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Runner {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let input = process.stdin.take().context("no stdin")?;
        let output = process.stdout.take().context("no stdout")?;
        Ok(Self {
            process,
            input,
            output: BufReader::new(output),
        })
    }

    /// The nanoseconds of `count` rounds of `kind`.
    pub(crate) fn nanoseconds(&mut self, kind: &str, count: u32) -> Result<f64> {
        writeln!(self.input, "{kind} {count}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().context("the run failed")
    }

    pub(crate) fn end(self) -> Result<()> {
        let Self {
            mut process, input, ..
        } = self;
        drop(input);
        ensure!(process.wait()?.success(), "a runner failed at its end");
        Ok(())
    }
}
