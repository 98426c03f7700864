//! From the engine's calling convention to ours: the table of all functions.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceType};

use super::super::host::{Host, Stop};
use super::super::meter::{begin, settle};
use super::handles::{
    Descriptor, DirectoryReader, InputStream, IoError, OutputStream, Pollable, TerminalInput,
    TerminalOutput,
};
use super::reply::{coded, nothing, plain, streamed};
use super::types::{Advice, DescriptorFlags, NewTimestamp, OpenFlags, PathFlags};
use super::{cli, clocks, filesystem as fs, io, random, sockets};

/// The version of the interfaces. The engine links any other of 0.2 to it.
const VERSION: &str = "0.2.12";

/// The name under which components import an interface.
pub(super) fn interface(package: &str, name: &str) -> String {
    format!("wasi:{package}/{name}@{VERSION}")
}

/// Runs one host call: sets the clock, does the work, charges for it, and ends the guest
/// where it has to end.
pub(super) fn enter<R>(
    store: &mut StoreContextMut<'_, Host>,
    work: impl FnOnce(&mut Host) -> Result<R, Stop>,
) -> wasmtime::Result<R> {
    let fuel_left = store.get_fuel()?;
    let host = store.data_mut();
    begin(host, fuel_left);
    let result = work(host);
    settle(store, fuel_left)?;
    Ok(result?)
}

/// The functions of one interface: how each answers, its name, what does it, and its
/// parameters.
macro_rules! functions {
    ($linker:ident, $package:literal, $interface:literal;
     $($reply:ident $name:literal => $function:path, ($($arg:ident: $ty:ty),*);)*) => {{
        let mut instance = $linker.instance(&interface($package, $interface))?;
        $(
            instance.func_wrap(
                $name,
                |mut store: StoreContextMut<'_, Host>, ($($arg,)*): ($($ty,)*)| {
                    enter(&mut store, |host| {
                        let result = $function(host, $($arg),*);
                        $reply(host, result)
                    })
                },
            )?;
        )*
    }};
}

/// The resource types of one interface: the name of each, its type here, and what drops it.
macro_rules! resources {
    ($linker:ident, $package:literal, $interface:literal;
     $($name:literal => $ty:ty, $drop:path;)*) => {{
        let mut instance = $linker.instance(&interface($package, $interface))?;
        $(
            instance.resource($name, ResourceType::host::<$ty>(), |mut store, rep| {
                let handle: Resource<$ty> = Resource::new_own(rep);
                enter(&mut store, |host| $drop(host, handle))
            })?;
        )*
    }};
}

fn never<T>(_: &mut Host, _: Resource<T>) -> Result<(), Stop> {
    Ok(())
}

/// Links every interface that a component of the world `wasi:cli/command` may import.
pub(crate) fn link_components(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    command(linker)?;
    streams(linker)?;
    filesystem(linker)?;
    sockets::link(linker)
}

fn command(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    functions! { linker, "cli", "environment";
        plain "get-environment" => cli::get_environment, ();
        plain "get-arguments" => cli::get_arguments, ();
        plain "initial-cwd" => cli::initial_cwd, ();
    }
    functions! { linker, "cli", "exit";
        nothing "exit" => cli::exit, (status: Result<(), ()>);
        nothing "exit-with-code" => cli::exit_with_code, (code: u8);
    }
    functions! { linker, "cli", "stdin";
        plain "get-stdin" => cli::get_stdin, ();
    }
    functions! { linker, "cli", "stdout";
        plain "get-stdout" => cli::get_stdout, ();
    }
    functions! { linker, "cli", "stderr";
        plain "get-stderr" => cli::get_stderr, ();
    }
    resources! { linker, "cli", "terminal-input";
        "terminal-input" => TerminalInput, never;
    }
    resources! { linker, "cli", "terminal-output";
        "terminal-output" => TerminalOutput, never;
    }
    functions! { linker, "cli", "terminal-stdin";
        plain "get-terminal-stdin" => cli::no_terminal_input, ();
    }
    functions! { linker, "cli", "terminal-stdout";
        plain "get-terminal-stdout" => cli::no_terminal_output, ();
    }
    functions! { linker, "cli", "terminal-stderr";
        plain "get-terminal-stderr" => cli::no_terminal_output, ();
    }
    functions! { linker, "clocks", "monotonic-clock";
        plain "now" => clocks::monotonic_now, ();
        plain "resolution" => clocks::monotonic_resolution, ();
        plain "subscribe-instant" => clocks::subscribe_instant, (when: u64);
        plain "subscribe-duration" => clocks::subscribe_duration, (span: u64);
    }
    functions! { linker, "clocks", "wall-clock";
        plain "now" => clocks::wall_now, ();
        plain "resolution" => clocks::wall_resolution, ();
    }
    functions! { linker, "random", "random";
        plain "get-random-bytes" => random::bytes, (length: u64);
        plain "get-random-u64" => random::number, ();
    }
    functions! { linker, "random", "insecure";
        plain "get-insecure-random-bytes" => random::bytes, (length: u64);
        plain "get-insecure-random-u64" => random::number, ();
    }
    functions! { linker, "random", "insecure-seed";
        plain "insecure-seed" => random::seed, ();
    }
    Ok(())
}

fn streams(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    resources! { linker, "io", "error";
        "error" => IoError, io::drop_error;
    }
    functions! { linker, "io", "error";
        plain "[method]error.to-debug-string" => io::to_debug_string, (error: Resource<IoError>);
    }
    resources! { linker, "io", "poll";
        "pollable" => Pollable, io::drop_pollable;
    }
    functions! { linker, "io", "poll";
        plain "[method]pollable.ready" => io::ready, (pollable: Resource<Pollable>);
        nothing "[method]pollable.block" => io::block, (pollable: Resource<Pollable>);
        plain "poll" => io::poll, (list: Vec<Resource<Pollable>>);
    }
    resources! { linker, "io", "streams";
        "input-stream" => InputStream, io::drop_input;
        "output-stream" => OutputStream, io::drop_output;
    }
    functions! { linker, "io", "streams";
        streamed "[method]input-stream.read" => io::read,
            (stream: Resource<InputStream>, length: u64);
        streamed "[method]input-stream.blocking-read" => io::read,
            (stream: Resource<InputStream>, length: u64);
        streamed "[method]input-stream.skip" => io::skip,
            (stream: Resource<InputStream>, length: u64);
        streamed "[method]input-stream.blocking-skip" => io::skip,
            (stream: Resource<InputStream>, length: u64);
        plain "[method]input-stream.subscribe" => io::subscribe_input,
            (stream: Resource<InputStream>);
        streamed "[method]output-stream.check-write" => io::check_write,
            (stream: Resource<OutputStream>);
        streamed "[method]output-stream.write" => io::write,
            (stream: Resource<OutputStream>, contents: Vec<u8>);
        streamed "[method]output-stream.blocking-write-and-flush" => io::blocking_write_and_flush,
            (stream: Resource<OutputStream>, contents: Vec<u8>);
        streamed "[method]output-stream.flush" => io::flush, (stream: Resource<OutputStream>);
        streamed "[method]output-stream.blocking-flush" => io::flush,
            (stream: Resource<OutputStream>);
        plain "[method]output-stream.subscribe" => io::subscribe_output,
            (stream: Resource<OutputStream>);
        streamed "[method]output-stream.write-zeroes" => io::write_zeroes,
            (stream: Resource<OutputStream>, length: u64);
        streamed "[method]output-stream.blocking-write-zeroes-and-flush" =>
            io::blocking_write_zeroes_and_flush, (stream: Resource<OutputStream>, length: u64);
        streamed "[method]output-stream.splice" => io::splice,
            (stream: Resource<OutputStream>, from: Resource<InputStream>, length: u64);
        streamed "[method]output-stream.blocking-splice" => io::splice,
            (stream: Resource<OutputStream>, from: Resource<InputStream>, length: u64);
    }
    Ok(())
}

fn filesystem(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    resources! { linker, "filesystem", "types";
        "descriptor" => Descriptor, fs::drop_descriptor;
        "directory-entry-stream" => DirectoryReader, fs::drop_reader;
    }
    functions! { linker, "filesystem", "types";
        coded "[method]descriptor.read-via-stream" => fs::read_via_stream,
            (file: Resource<Descriptor>, offset: u64);
        coded "[method]descriptor.write-via-stream" => fs::write_via_stream,
            (file: Resource<Descriptor>, offset: u64);
        coded "[method]descriptor.append-via-stream" => fs::append_via_stream,
            (file: Resource<Descriptor>);
        coded "[method]descriptor.advise" => fs::advise,
            (file: Resource<Descriptor>, offset: u64, length: u64, advice: Advice);
        coded "[method]descriptor.sync-data" => fs::sync, (file: Resource<Descriptor>);
        coded "[method]descriptor.get-flags" => fs::get_flags, (file: Resource<Descriptor>);
        coded "[method]descriptor.get-type" => fs::get_type, (file: Resource<Descriptor>);
        coded "[method]descriptor.set-size" => fs::set_size,
            (file: Resource<Descriptor>, size: u64);
        coded "[method]descriptor.set-times" => fs::set_times,
            (file: Resource<Descriptor>, accessed: NewTimestamp, modified: NewTimestamp);
        coded "[method]descriptor.read" => fs::read,
            (file: Resource<Descriptor>, length: u64, offset: u64);
        coded "[method]descriptor.write" => fs::write,
            (file: Resource<Descriptor>, buffer: Vec<u8>, offset: u64);
        coded "[method]descriptor.read-directory" => fs::read_directory,
            (file: Resource<Descriptor>);
        coded "[method]descriptor.sync" => fs::sync, (file: Resource<Descriptor>);
        coded "[method]descriptor.create-directory-at" => fs::create_directory_at,
            (file: Resource<Descriptor>, path: String);
        coded "[method]descriptor.stat" => fs::stat, (file: Resource<Descriptor>);
        coded "[method]descriptor.stat-at" => fs::stat_at,
            (file: Resource<Descriptor>, flags: PathFlags, path: String);
        coded "[method]descriptor.set-times-at" => fs::set_times_at,
            (file: Resource<Descriptor>, flags: PathFlags, path: String,
             accessed: NewTimestamp, modified: NewTimestamp);
        coded "[method]descriptor.link-at" => fs::link_at,
            (file: Resource<Descriptor>, flags: PathFlags, old_path: String,
             new_file: Resource<Descriptor>, new_path: String);
        coded "[method]descriptor.open-at" => fs::open_at,
            (file: Resource<Descriptor>, path_flags: PathFlags, path: String,
             open_flags: OpenFlags, flags: DescriptorFlags);
        coded "[method]descriptor.readlink-at" => fs::readlink_at,
            (file: Resource<Descriptor>, path: String);
        coded "[method]descriptor.remove-directory-at" => fs::remove_directory_at,
            (file: Resource<Descriptor>, path: String);
        coded "[method]descriptor.rename-at" => fs::rename_at,
            (file: Resource<Descriptor>, old_path: String,
             new_file: Resource<Descriptor>, new_path: String);
        coded "[method]descriptor.symlink-at" => fs::symlink_at,
            (file: Resource<Descriptor>, target: String, path: String);
        coded "[method]descriptor.unlink-file-at" => fs::unlink_file_at,
            (file: Resource<Descriptor>, path: String);
        plain "[method]descriptor.is-same-object" => fs::is_same_object,
            (file: Resource<Descriptor>, other: Resource<Descriptor>);
        coded "[method]descriptor.metadata-hash" => fs::metadata_hash,
            (file: Resource<Descriptor>);
        coded "[method]descriptor.metadata-hash-at" => fs::metadata_hash_at,
            (file: Resource<Descriptor>, flags: PathFlags, path: String);
        coded "[method]directory-entry-stream.read-directory-entry" => fs::read_directory_entry,
            (reader: Resource<DirectoryReader>);
        plain "filesystem-error-code" => io::filesystem_error_code, (error: Resource<IoError>);
    }
    functions! { linker, "filesystem", "preopens";
        plain "get-directories" => fs::get_directories, ();
    }
    Ok(())
}
