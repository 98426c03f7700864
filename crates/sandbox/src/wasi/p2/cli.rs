//! `wasi:cli`: arguments, environment, exit, standard streams, terminals.

use wasmtime::component::Resource;

use super::super::host::{Host, Stop};
use super::super::nodes::Standard;
use super::handles::{InputStream, OutputStream, Sink, TerminalInput, TerminalOutput};

pub(super) fn get_environment(host: &mut Host) -> Result<Vec<(String, String)>, Stop> {
    let env = host.env.clone();
    let size = env.iter().map(|(name, value)| name.len() + value.len());
    host.charge(size.sum());
    Ok(env)
}

pub(super) fn get_arguments(host: &mut Host) -> Result<Vec<String>, Stop> {
    let args = host.args.clone();
    host.charge(args.iter().map(String::len).sum());
    Ok(args)
}

/// There is none: paths are relative to granted folders.
pub(super) fn initial_cwd(_: &mut Host) -> Result<Option<String>, Stop> {
    Ok(None)
}

pub(super) fn exit(_: &mut Host, status: Result<(), ()>) -> Result<(), Stop> {
    Err(Stop::Exit(u32::from(status.is_err())))
}

pub(super) fn exit_with_code(_: &mut Host, code: u8) -> Result<(), Stop> {
    Err(Stop::Exit(u32::from(code)))
}

pub(super) fn get_stdin(host: &mut Host) -> Result<Resource<InputStream>, Stop> {
    host.handles.push(InputStream::Stdin)
}

pub(super) fn get_stdout(host: &mut Host) -> Result<Resource<OutputStream>, Stop> {
    standard(host, Standard::Output)
}

pub(super) fn get_stderr(host: &mut Host) -> Result<Resource<OutputStream>, Stop> {
    standard(host, Standard::Error)
}

fn standard(host: &mut Host, to: Standard) -> Result<Resource<OutputStream>, Stop> {
    host.handles.push(OutputStream {
        sink: Sink::Standard(to),
        closed: false,
    })
}

pub(super) fn no_terminal_input(_: &mut Host) -> Result<Option<Resource<TerminalInput>>, Stop> {
    Ok(None)
}

pub(super) fn no_terminal_output(_: &mut Host) -> Result<Option<Resource<TerminalOutput>>, Stop> {
    Ok(None)
}
