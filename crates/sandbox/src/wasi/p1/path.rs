//! Calls that take a path below a granted folder.

#![allow(
    clippy::too_many_arguments,
    reason = "the functions have the parameters that WASI gives them"
)]

use super::Call;
use super::descriptor::{Descriptor, Target, rights};
use super::fd::{known_flags, new_times, write_stat};
use super::memory::MAX_TEXT;
use crate::fs::{Errno, FileType, Follow, NodeId, OpenFlags};

/// `oflags` of WASI 0.1.
const CREATE: u32 = 1 << 0;
const DIRECTORY: u32 = 1 << 1;
const EXCLUSIVE: u32 = 1 << 2;
const TRUNCATE: u32 = 1 << 3;
/// `lookupflags`: follow a link at the end of the path.
const FOLLOW: u32 = 1;

/// The folder that a descriptor grants, and a path below it.
fn below(call: &mut Call<'_>, fd: u32, path: u32, length: u32) -> Result<(NodeId, String), Errno> {
    let node = call.host.descriptors.get(fd)?.node()?;
    Ok((node, text(call, path, length)?))
}

/// A text of the guest's, paid for whether or not it is one.
fn text(call: &mut Call<'_>, at: u32, length: u32) -> Result<String, Errno> {
    call.host.charge((length as usize).min(MAX_TEXT));
    call.memory.text(at, length)
}

const fn follow(flags: u32) -> Follow {
    if flags & FOLLOW != 0 {
        Follow::Yes
    } else {
        Follow::No
    }
}

pub(super) fn path_open(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    open_flags: u32,
    base: u64,
    inheriting: u64,
    fd_flags: u32,
    out: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    call.memory.u32(out)?;
    let fd_flags = known_flags(fd_flags)?;
    let granted = call.host.descriptors.get(fd)?.inheriting;
    let base = base & granted;
    let inheriting = inheriting & granted;
    call.host.files.check_room()?;
    let writes = rights::FD_WRITE | rights::FD_ALLOCATE | rights::FD_FILESTAT_SET_SIZE;
    let node = call.host.fs.open(
        grant,
        &text,
        follow(flags),
        OpenFlags {
            create: open_flags & CREATE != 0,
            directory: open_flags & DIRECTORY != 0,
            exclusive: open_flags & EXCLUSIVE != 0,
            truncate: open_flags & TRUNCATE != 0,
            write: base & writes != 0,
        },
    )?;
    let base = match call.host.fs.node(node).file_type() {
        FileType::Directory => base & rights::DIRECTORY,
        FileType::RegularFile | FileType::SymbolicLink | FileType::CharacterDevice => base,
    };
    let mut descriptor = Descriptor::new(Target::Node(node), base);
    descriptor.inheriting = inheriting;
    descriptor.flags = fd_flags;
    let host = &mut *call.host;
    match host.descriptors.insert(&mut host.files, descriptor) {
        Ok(number) => call.memory.write_u32(out, number),
        Err(errno) => {
            call.host.fs.close(node);
            Err(errno)
        }
    }
}

pub(super) fn path_create_directory(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    call.host.fs.make_directory(grant, &text)
}

pub(super) fn path_remove_directory(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    call.host.fs.remove_directory(grant, &text)
}

pub(super) fn path_unlink_file(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    call.host.fs.unlink(grant, &text)
}

pub(super) fn path_filestat_get(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    out: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    let node = call.host.fs.existing(grant, &text, follow(flags))?;
    let stat = call.host.fs.stat(node);
    write_stat(call, out, &stat)
}

pub(super) fn path_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    accessed: u64,
    modified: u64,
    which: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    let times = new_times(call, accessed, modified, which)?;
    let node = call.host.fs.existing(grant, &text, follow(flags))?;
    call.host.fs.set_times(node, times)
}

pub(super) fn path_link(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    new_fd: u32,
    new_path: u32,
    new_length: u32,
) -> Result<(), Errno> {
    let (from, from_path) = below(call, fd, path, length)?;
    let (to, to_path) = below(call, new_fd, new_path, new_length)?;
    call.host
        .fs
        .hard_link((from, &from_path), follow(flags), (to, &to_path))
}

pub(super) fn path_rename(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
    new_fd: u32,
    new_path: u32,
    new_length: u32,
) -> Result<(), Errno> {
    let (from, from_path) = below(call, fd, path, length)?;
    let (to, to_path) = below(call, new_fd, new_path, new_length)?;
    call.host.fs.rename((from, &from_path), (to, &to_path))
}

pub(super) fn path_symlink(
    call: &mut Call<'_>,
    target: u32,
    target_length: u32,
    fd: u32,
    path: u32,
    length: u32,
) -> Result<(), Errno> {
    let target = self::text(call, target, target_length)?;
    let (grant, text) = below(call, fd, path, length)?;
    call.host.fs.symlink(&target, grant, &text)
}

pub(super) fn path_readlink(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
    buffer: u32,
    buffer_length: u32,
    out: u32,
) -> Result<(), Errno> {
    let (grant, text) = below(call, fd, path, length)?;
    let target = call.host.fs.read_link(grant, &text)?;
    // A short buffer receives the head, as with POSIX readlink.
    let head = target
        .as_bytes()
        .get(..target.len().min(buffer_length as usize))
        .unwrap_or(&[]);
    call.host.charge(head.len());
    call.memory.write(buffer, head)?;
    let count = u32::try_from(head.len()).map_err(|_| Errno::Overflow)?;
    call.memory.write_u32(out, count)
}
