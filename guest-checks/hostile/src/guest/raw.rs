//! Calls of WASI that no library makes: absurd lengths, pointers past the memory,
//! descriptors that were never opened.
//!
//! The imports are declared here because the standard library would never pass such
//! arguments. Pointers are plain numbers, since many of them point nowhere.

#![allow(
    unsafe_code,
    reason = "raw imports; the host checks what it is given, which is what these guests try"
)]

use std::process::ExitCode;

use super::REFUSED;

/// The errno for a bad address.
const FAULT: u32 = 21;

/// The errno for a bad descriptor.
const BADF: u32 = 8;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn args_get(argv: u32, buffer: u32) -> u32;
    fn args_sizes_get(count: u32, size: u32) -> u32;
    fn clock_res_get(id: u32, resolution: u32) -> u32;
    fn clock_time_get(id: u32, precision: u64, time: u32) -> u32;
    fn environ_sizes_get(count: u32, size: u32) -> u32;
    fn fd_close(fd: u32) -> u32;
    fn fd_fdstat_get(fd: u32, stat: u32) -> u32;
    fn fd_filestat_get(fd: u32, stat: u32) -> u32;
    fn fd_prestat_get(fd: u32, prestat: u32) -> u32;
    fn fd_prestat_dir_name(fd: u32, path: u32, length: u32) -> u32;
    fn fd_read(fd: u32, vectors: u32, count: u32, read: u32) -> u32;
    fn fd_readdir(fd: u32, buffer: u32, length: u32, cookie: u64, used: u32) -> u32;
    fn fd_renumber(fd: u32, to: u32) -> u32;
    fn fd_seek(fd: u32, offset: i64, whence: u32, position: u32) -> u32;
    fn fd_tell(fd: u32, position: u32) -> u32;
    fn fd_write(fd: u32, vectors: u32, count: u32, written: u32) -> u32;
    fn path_filestat_get(fd: u32, flags: u32, path: u32, length: u32, stat: u32) -> u32;
    fn path_open(
        fd: u32,
        lookup: u32,
        path: u32,
        length: u32,
        flags: u32,
        rights: u64,
        inheriting: u64,
        fd_flags: u32,
        opened: u32,
    ) -> u32;
    fn path_readlink(fd: u32, path: u32, length: u32, buffer: u32, size: u32, used: u32) -> u32;
    fn poll_oneoff(subscriptions: u32, events: u32, count: u32, ready: u32) -> u32;
    fn random_get(buffer: u32, length: u32) -> u32;
}

/// The address of a value, as WASI takes it.
fn at<T>(value: *const T) -> u32 {
    value as usize as u32
}

fn done(errno: u32) -> ExitCode {
    println!("errno {errno}");
    ExitCode::SUCCESS
}

pub(crate) fn big_random(_: &[String]) -> ExitCode {
    // SAFETY: the length passes the memory's end, so the host has to refuse or to stop.
    done(unsafe { random_get(64, 3 << 30) })
}

pub(crate) fn poll_many(_: &[String]) -> ExitCode {
    let mut ready = 0_u32;
    // SAFETY: 100 million subscriptions pass the memory's end, so the host has to refuse.
    done(unsafe { poll_oneoff(64, 64, 100_000_000, at(&raw mut ready)) })
}

/// A `subscription` of WASI on the monotonic clock.
#[repr(C)]
struct Subscription {
    userdata: u64,
    kind: u64,
    clock: u64,
    timeout: u64,
    precision: u64,
    flags: u64,
}

pub(crate) fn poll_forever(_: &[String]) -> ExitCode {
    let forever = Subscription {
        userdata: 1,
        kind: 0,
        clock: 1,
        timeout: u64::MAX,
        precision: 0,
        flags: 0,
    };
    let mut event = [0_u64; 4];
    let mut ready = 0_u32;
    // SAFETY: one subscription and room for one event, both live across the call.
    done(unsafe {
        poll_oneoff(
            at(&raw const forever),
            at(&raw mut event),
            1,
            at(&raw mut ready),
        )
    })
}

/// An `iovec` of WASI.
#[derive(Clone, Copy)]
#[repr(C)]
struct Vector {
    buffer: u32,
    length: u32,
}

pub(crate) fn iovec_bomb(_: &[String]) -> ExitCode {
    let region = vec![b'b'; 64 * 1024];
    let vectors = vec![
        Vector {
            buffer: at(region.as_ptr()),
            length: 64 * 1024
        };
        1024 * 1024
    ];
    let mut written = 0_u32;
    // SAFETY: every vector lies within `region`; together they are 64 GiB.
    let errno = unsafe { fd_write(1, at(vectors.as_ptr()), 1024 * 1024, at(&raw mut written)) };
    eprintln!("errno {errno}, {written} bytes");
    ExitCode::SUCCESS
}

pub(crate) fn iovec_count(_: &[String]) -> ExitCode {
    let mut written = 0_u32;
    // SAFETY: the vectors pass the memory's end, so the host has to refuse.
    done(unsafe { fd_write(1, 64, u32::MAX, at(&raw mut written)) })
}

/// Every call gets one pointer past the memory and must return the errno for it.
pub(crate) fn bad_pointers(_: &[String]) -> ExitCode {
    const NOWHERE: u32 = u32::MAX - 7;
    let mut word = [0_u64; 16];
    let good = at(&raw mut word);
    let vector = Vector {
        buffer: NOWHERE,
        length: 64,
    };
    // SAFETY: the bad pointers are never used here; the host has to refuse each of them.
    let results = unsafe {
        [
            ("args_get", args_get(NOWHERE, NOWHERE)),
            ("args_sizes_get", args_sizes_get(NOWHERE, good)),
            ("clock_res_get", clock_res_get(1, NOWHERE)),
            ("clock_time_get", clock_time_get(1, 0, NOWHERE)),
            ("environ_sizes_get", environ_sizes_get(good, NOWHERE)),
            ("fd_fdstat_get", fd_fdstat_get(1, NOWHERE)),
            ("fd_filestat_get", fd_filestat_get(3, NOWHERE)),
            ("fd_prestat_get", fd_prestat_get(3, NOWHERE)),
            ("fd_prestat_dir_name", fd_prestat_dir_name(3, NOWHERE, 5)),
            ("fd_readdir", fd_readdir(3, NOWHERE, 64, 0, good)),
            ("fd_write of bad vectors", fd_write(1, NOWHERE, 1, good)),
            (
                "fd_write of a bad buffer",
                fd_write(1, at(&raw const vector), 1, good),
            ),
            (
                "path_filestat_get",
                path_filestat_get(3, 0, NOWHERE, 64, good),
            ),
            ("path_open", path_open(3, 0, NOWHERE, 64, 0, 0, 0, 0, good)),
            (
                "path_readlink",
                path_readlink(3, NOWHERE, 64, good, 8, good),
            ),
            ("poll_oneoff", poll_oneoff(NOWHERE, good, 1, good)),
            ("random_get", random_get(NOWHERE, 64)),
            ("random_get past the end", random_get(good, u32::MAX)),
        ]
    };
    judge(&results, FAULT)
}

/// Every call gets a descriptor that was never opened and must return the errno for it.
pub(crate) fn bad_descriptors(_: &[String]) -> ExitCode {
    let mut word = [0_u64; 16];
    let good = at(&raw mut word);
    let mut results = Vec::new();
    for fd in [999, i32::MAX as u32, u32::MAX] {
        // SAFETY: every pointer is into `word` and every length within it.
        results.extend(unsafe {
            [
                ("fd_close", fd_close(fd)),
                ("fd_fdstat_get", fd_fdstat_get(fd, good)),
                ("fd_filestat_get", fd_filestat_get(fd, good)),
                ("fd_prestat_get", fd_prestat_get(fd, good)),
                ("fd_read", fd_read(fd, good, 0, good)),
                ("fd_readdir", fd_readdir(fd, good, 8, 0, good)),
                ("fd_renumber from", fd_renumber(fd, 1)),
                ("fd_seek", fd_seek(fd, 0, 0, good)),
                ("fd_tell", fd_tell(fd, good)),
                ("fd_write", fd_write(fd, good, 0, good)),
                ("path_filestat_get", path_filestat_get(fd, 0, good, 1, good)),
                ("path_open", path_open(fd, 0, good, 1, 0, 0, 0, 0, good)),
            ]
        });
    }
    judge(&results, BADF)
}

fn judge(results: &[(&str, u32)], expected: u32) -> ExitCode {
    for (call, errno) in results {
        println!("{call}: errno {errno}");
    }
    let all = results.iter().all(|(_, errno)| *errno == expected);
    if all {
        ExitCode::from(REFUSED)
    } else {
        ExitCode::SUCCESS
    }
}
