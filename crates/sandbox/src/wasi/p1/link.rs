//! From the engine's calling convention to ours.

use wasmtime::{Caller, Extern, Linker};

use super::super::host::{Host, Stop};
use super::super::meter::{begin, settle};
use super::memory::GuestMemory;
use super::{clock, fd, path, poll, process, random, socket};
use crate::fs::Errno;

const MODULE: &str = "wasi_snapshot_preview1";

/// One host call under way.
pub(crate) struct Call<'a> {
    pub(super) memory: GuestMemory<'a>,
    pub(super) host: &'a mut Host,
}

/// Runs one host call on the guest's memory.
fn enter(
    caller: &mut Caller<'_, Host>,
    work: impl FnOnce(&mut Call<'_>) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    let fuel_left = caller.get_fuel()?;
    let memory = match caller.data().memory {
        Some(memory) => memory,
        None => match caller.get_export("memory") {
            Some(Extern::Memory(memory)) => {
                caller.data_mut().memory = Some(memory);
                memory
            }
            _ => return Err(Stop::NoMemory.into()),
        },
    };
    let (bytes, host) = memory.data_and_store_mut(&mut *caller);
    begin(host, fuel_left);
    let result = work(&mut Call {
        memory: GuestMemory(bytes),
        host,
    });
    settle(caller, fuel_left)?;
    Ok(match result {
        Ok(()) => 0,
        Err(errno) => errno.code(),
    })
}

macro_rules! functions {
    ($linker:ident; $($function:path => $name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            $linker.func_wrap(
                MODULE,
                stringify!($name),
                |mut caller: Caller<'_, Host>, $($arg: $ty),*| -> wasmtime::Result<i32> {
                    enter(&mut caller, |call| $function(call, $($arg),*))
                },
            )?;
        )*
    };
}

/// Links every function of WASI 0.1.
pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    functions! { linker;
        process::args_get => args_get(argv: u32, buffer: u32);
        process::args_sizes_get => args_sizes_get(count: u32, size: u32);
        process::environ_get => environ_get(environ: u32, buffer: u32);
        process::environ_sizes_get => environ_sizes_get(count: u32, size: u32);
        process::proc_raise => proc_raise(signal: u32);
        process::sched_yield => sched_yield();
        clock::clock_res_get => clock_res_get(id: u32, out: u32);
        clock::clock_time_get => clock_time_get(id: u32, precision: u64, out: u32);
        random::random_get => random_get(buffer: u32, length: u32);
        poll::poll_oneoff => poll_oneoff(subscriptions: u32, events: u32, count: u32, out: u32);
        fd::fd_advise => fd_advise(fd: u32, offset: u64, length: u64, advice: u32);
        fd::fd_allocate => fd_allocate(fd: u32, offset: u64, length: u64);
        fd::fd_close => fd_close(fd: u32);
        fd::fd_datasync => fd_datasync(fd: u32);
        fd::fd_fdstat_get => fd_fdstat_get(fd: u32, out: u32);
        fd::fd_fdstat_set_flags => fd_fdstat_set_flags(fd: u32, flags: u32);
        fd::fd_fdstat_set_rights => fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64);
        fd::fd_filestat_get => fd_filestat_get(fd: u32, out: u32);
        fd::fd_filestat_set_size => fd_filestat_set_size(fd: u32, size: u64);
        fd::fd_filestat_set_times => fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32);
        fd::fd_pread => fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, out: u32);
        fd::fd_prestat_get => fd_prestat_get(fd: u32, out: u32);
        fd::fd_prestat_dir_name => fd_prestat_dir_name(fd: u32, buffer: u32, length: u32);
        fd::fd_pwrite => fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, out: u32);
        fd::fd_read => fd_read(fd: u32, vectors: u32, count: u32, out: u32);
        fd::fd_readdir => fd_readdir(fd: u32, buffer: u32, length: u32, cookie: u64, out: u32);
        fd::fd_renumber => fd_renumber(from: u32, to: u32);
        fd::fd_seek => fd_seek(fd: u32, offset: i64, whence: u32, out: u32);
        fd::fd_sync => fd_sync(fd: u32);
        fd::fd_tell => fd_tell(fd: u32, out: u32);
        fd::fd_write => fd_write(fd: u32, vectors: u32, count: u32, out: u32);
        path::path_create_directory => path_create_directory(fd: u32, path: u32, length: u32);
        path::path_filestat_get => path_filestat_get(fd: u32, flags: u32, path: u32, length: u32, out: u32);
        path::path_filestat_set_times => path_filestat_set_times(fd: u32, flags: u32, path: u32, length: u32, accessed: u64, modified: u64, which: u32);
        path::path_link => path_link(fd: u32, flags: u32, path: u32, length: u32, new_fd: u32, new_path: u32, new_length: u32);
        path::path_open => path_open(fd: u32, flags: u32, path: u32, length: u32, open_flags: u32, base: u64, inheriting: u64, fd_flags: u32, out: u32);
        path::path_readlink => path_readlink(fd: u32, path: u32, length: u32, buffer: u32, buffer_length: u32, out: u32);
        path::path_remove_directory => path_remove_directory(fd: u32, path: u32, length: u32);
        path::path_rename => path_rename(fd: u32, path: u32, length: u32, new_fd: u32, new_path: u32, new_length: u32);
        path::path_symlink => path_symlink(target: u32, target_length: u32, fd: u32, path: u32, length: u32);
        path::path_unlink_file => path_unlink_file(fd: u32, path: u32, length: u32);
        socket::sock_accept => sock_accept(fd: u32, flags: u32, out: u32);
        socket::sock_recv => sock_recv(fd: u32, vectors: u32, count: u32, flags: u32, out: u32, out_flags: u32);
        socket::sock_send => sock_send(fd: u32, vectors: u32, count: u32, flags: u32, out: u32);
        socket::sock_shutdown => sock_shutdown(fd: u32, how: u32);
    }
    // The one function without a result: it never returns.
    linker.func_wrap(
        MODULE,
        "proc_exit",
        |_: Caller<'_, Host>, code: u32| -> wasmtime::Result<()> { Err(Stop::Exit(code).into()) },
    )?;
    Ok(())
}
