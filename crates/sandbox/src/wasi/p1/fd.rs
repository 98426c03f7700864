//! Calls on open descriptors.

use std::sync::Arc;

use super::super::nodes::{ENTRY_CHARGE, MAX_TRANSFER, NewTime, Standard};
use super::super::open_files::Listing;
use super::Call;
use super::descriptor::{Descriptor, FLAG_APPEND, FLAGS_KNOWN, Target, rights};
use super::memory::{MAX_VECTORS, Vector};
use crate::fs::{Errno, FileType, NewTimes, NodeId, NodeKind, Stat};

/// Fuel for each vector of a gather or scatter call.
const VECTOR_CHARGE: usize = 10;
/// Bytes of a `dirent`.
const DIRENT: usize = 24;

pub(super) fn fd_advise(
    call: &mut Call<'_>,
    fd: u32,
    _offset: u64,
    _length: u64,
    advice: u32,
) -> Result<(), Errno> {
    call.host.descriptors.get(fd)?.node()?;
    if advice > 5 {
        return Err(Errno::Inval);
    }
    Ok(())
}

pub(super) fn fd_allocate(
    call: &mut Call<'_>,
    fd: u32,
    offset: u64,
    length: u64,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_ALLOCATE)?;
    let node = descriptor.node()?;
    call.host.allocate(node, offset, length)
}

pub(super) fn fd_close(call: &mut Call<'_>, fd: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.remove(&mut call.host.files, fd)?;
    if let Target::Node(node) = descriptor.target {
        call.host.fs.close(node);
    }
    Ok(())
}

pub(super) fn fd_datasync(call: &mut Call<'_>, fd: u32) -> Result<(), Errno> {
    call.host.descriptors.get(fd).map(|_| ())
}

pub(super) fn fd_sync(call: &mut Call<'_>, fd: u32) -> Result<(), Errno> {
    call.host.descriptors.get(fd).map(|_| ())
}

pub(super) fn fd_fdstat_get(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    let file_type = match descriptor.target {
        Target::Stdin | Target::Stdout | Target::Stderr => FileType::CharacterDevice,
        Target::Node(node) => call.host.fs.node(node).file_type(),
    };
    let (flags, base, inheriting) = (descriptor.flags, descriptor.rights, descriptor.inheriting);
    call.memory.write(out, &[0; 24])?;
    call.memory.write(out, &[file_type as u8])?;
    call.memory.write(offset(out, 2)?, &flags.to_le_bytes())?;
    call.memory.write_u64(offset(out, 8)?, base)?;
    call.memory.write_u64(offset(out, 16)?, inheriting)
}

pub(super) fn fd_fdstat_set_flags(call: &mut Call<'_>, fd: u32, flags: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get_mut(fd)?;
    descriptor.flags = known_flags(flags)?;
    Ok(())
}

pub(super) fn known_flags(flags: u32) -> Result<u16, Errno> {
    let flags = u16::try_from(flags).map_err(|_| Errno::Inval)?;
    if flags & !FLAGS_KNOWN != 0 {
        return Err(Errno::Inval);
    }
    Ok(flags)
}

pub(super) fn fd_fdstat_set_rights(
    call: &mut Call<'_>,
    fd: u32,
    base: u64,
    inheriting: u64,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get_mut(fd)?;
    // Rights can only be given up.
    if base & !descriptor.rights != 0 || inheriting & !descriptor.inheriting != 0 {
        return Err(Errno::Notcapable);
    }
    descriptor.rights = base;
    descriptor.inheriting = inheriting;
    Ok(())
}

/// A `filestat` with every field but the ones that a stream lacks.
pub(super) fn write_stat(call: &mut Call<'_>, out: u32, stat: &Stat) -> Result<(), Errno> {
    call.memory.write(out, &[0; 64])?;
    call.memory.write_u64(out, 1)?;
    call.memory.write_u64(offset(out, 8)?, stat.inode)?;
    call.memory
        .write(offset(out, 16)?, &[stat.file_type as u8])?;
    call.memory.write_u64(offset(out, 24)?, stat.links)?;
    call.memory.write_u64(offset(out, 32)?, stat.size)?;
    call.memory.write_u64(offset(out, 40)?, stat.accessed)?;
    call.memory.write_u64(offset(out, 48)?, stat.modified)?;
    call.memory.write_u64(offset(out, 56)?, stat.changed)
}

pub(super) fn fd_filestat_get(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Errno> {
    let stat = match call.host.descriptors.get(fd)?.target {
        Target::Node(node) => call.host.fs.stat(node),
        Target::Stdin | Target::Stdout | Target::Stderr => Stat {
            inode: 0,
            file_type: FileType::CharacterDevice,
            links: 1,
            size: 0,
            accessed: 0,
            modified: 0,
            changed: 0,
        },
    };
    write_stat(call, out, &stat)
}

pub(super) fn fd_filestat_set_size(call: &mut Call<'_>, fd: u32, size: u64) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_FILESTAT_SET_SIZE)?;
    let node = descriptor.node()?;
    call.host.resize(node, size)
}

/// The times that a call's flags ask for.
pub(super) fn new_times(
    call: &Call<'_>,
    accessed: u64,
    modified: u64,
    flags: u32,
) -> Result<NewTimes, Errno> {
    let pick = |value: u64, set: bool, set_now: bool| match (set, set_now) {
        (true, true) => Err(Errno::Inval),
        (true, false) => Ok(NewTime::At(value)),
        (false, true) => Ok(NewTime::Now),
        (false, false) => Ok(NewTime::Keep),
    };
    if flags > 15 {
        return Err(Errno::Inval);
    }
    let accessed = pick(accessed, flags & 1 != 0, flags & 2 != 0)?;
    let modified = pick(modified, flags & 4 != 0, flags & 8 != 0)?;
    Ok(call.host.new_times(accessed, modified))
}

pub(super) fn fd_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    accessed: u64,
    modified: u64,
    flags: u32,
) -> Result<(), Errno> {
    let node = call.host.descriptors.get(fd)?.node()?;
    let times = new_times(call, accessed, modified, flags)?;
    call.host.fs.set_times(node, times)
}

pub(super) fn fd_prestat_get(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    let path = descriptor.preopen.as_ref().ok_or(Errno::Badf)?;
    let length = u32::try_from(path.len()).map_err(|_| Errno::Overflow)?;
    call.memory.write_u32(out, 0)?;
    call.memory.write_u32(offset(out, 4)?, length)
}

pub(super) fn fd_prestat_dir_name(
    call: &mut Call<'_>,
    fd: u32,
    buffer: u32,
    length: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    let path = descriptor.preopen.as_ref().ok_or(Errno::Badf)?;
    if path.len() > length as usize {
        return Err(Errno::Nametoolong);
    }
    call.memory.write(buffer, path.as_bytes())
}

/// The buffers of a gather or scatter call, paid for one by one, empty ones too.
fn gather(call: &mut Call<'_>, vectors: u32, count: u32) -> Result<Vec<Vector>, Errno> {
    call.host
        .charge((count.min(MAX_VECTORS) as usize).saturating_mul(VECTOR_CHARGE));
    call.memory.vectors(vectors, count, MAX_TRANSFER)
}

pub(super) fn fd_pread(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    offset: u64,
    out: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_READ)?;
    let node = descriptor.node()?;
    let vectors = gather(call, vectors, count)?;
    let done = read_node(call, node, offset, &vectors)?;
    call.memory.write_u32(out, done)
}

pub(super) fn fd_read(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    out: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_READ)?;
    let (target, at) = (descriptor.target, descriptor.offset);
    let vectors = gather(call, vectors, count)?;
    let done = match target {
        Target::Stdin => read_stdin(call, &vectors)?,
        Target::Stdout | Target::Stderr => return Err(Errno::Badf),
        Target::Node(node) => {
            let done = read_node(call, node, at, &vectors)?;
            call.host.descriptors.get_mut(fd)?.offset = at.saturating_add(u64::from(done));
            done
        }
    };
    call.memory.write_u32(out, done)
}

fn read_stdin(call: &mut Call<'_>, vectors: &[Vector]) -> Result<u32, Errno> {
    let mut done = 0_u32;
    for vector in vectors {
        let into = call.memory.bytes_mut(vector.pointer, vector.length)?;
        let count = call.host.read_stdin(into);
        done = done.saturating_add(u32::try_from(count).map_err(|_| Errno::Overflow)?);
    }
    Ok(done)
}

/// Reads a node into the guest's buffers; stops at the first short read.
fn read_node(
    call: &mut Call<'_>,
    node: NodeId,
    start: u64,
    vectors: &[Vector],
) -> Result<u32, Errno> {
    if vectors.is_empty() {
        call.host.read_node(node, start, &mut [])?;
    }
    let mut done = 0_u32;
    for vector in vectors {
        let into = call.memory.bytes_mut(vector.pointer, vector.length)?;
        let at = start.saturating_add(u64::from(done));
        let count = call.host.read_node(node, at, into)?;
        done = done.saturating_add(u32::try_from(count).map_err(|_| Errno::Overflow)?);
        if count < vector.length as usize {
            break;
        }
    }
    Ok(done)
}

pub(super) fn fd_pwrite(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    offset: u64,
    out: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_WRITE)?;
    let node = descriptor.node()?;
    let vectors = gather(call, vectors, count)?;
    let done = write_node(call, node, offset, &vectors)?;
    call.memory.write_u32(out, done)
}

pub(super) fn fd_write(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    out: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    descriptor.may(rights::FD_WRITE)?;
    let (target, appends, at) = (
        descriptor.target,
        descriptor.flags & FLAG_APPEND != 0,
        descriptor.offset,
    );
    let vectors = gather(call, vectors, count)?;
    let done = match target {
        Target::Stdin => return Err(Errno::Badf),
        Target::Stdout => print(call, Standard::Output, &vectors)?,
        Target::Stderr => print(call, Standard::Error, &vectors)?,
        Target::Node(node) => {
            // Writing nothing moves nothing.
            let at = if appends && !vectors.is_empty() {
                call.host.fs.node(node).size()
            } else {
                at
            };
            let done = write_node(call, node, at, &vectors)?;
            call.host.descriptors.get_mut(fd)?.offset = at.saturating_add(u64::from(done));
            done
        }
    };
    call.memory.write_u32(out, done)
}

fn print(call: &mut Call<'_>, to: Standard, vectors: &[Vector]) -> Result<u32, Errno> {
    let mut done = 0_u32;
    for vector in vectors {
        let bytes = call.memory.bytes(vector.pointer, vector.length)?;
        call.host.print(to, bytes);
        done = done.saturating_add(vector.length);
    }
    Ok(done)
}

/// Writes the guest's buffers to a node. An error after some bytes were written is a
/// short write; the next call meets it again.
fn write_node(
    call: &mut Call<'_>,
    node: NodeId,
    start: u64,
    vectors: &[Vector],
) -> Result<u32, Errno> {
    if vectors.is_empty() {
        call.host.write_node(node, start, &[])?;
    }
    let mut done = 0_u32;
    for vector in vectors {
        let bytes = call.memory.bytes(vector.pointer, vector.length)?;
        let at = start.saturating_add(u64::from(done));
        match call.host.write_node(node, at, bytes) {
            Ok(()) => {}
            Err(_) if done > 0 => break,
            Err(errno) => return Err(errno),
        }
        done = done.saturating_add(vector.length);
    }
    Ok(done)
}

pub(super) fn fd_readdir(
    call: &mut Call<'_>,
    fd: u32,
    buffer: u32,
    length: u32,
    cookie: u64,
    out: u32,
) -> Result<(), Errno> {
    call.memory.bytes(buffer, length)?;
    let descriptor = call.host.descriptors.get(fd)?;
    let node = descriptor.node()?;
    let listing: Listing = match &descriptor.listing {
        Some(listing) if cookie > 0 => Arc::clone(listing),
        Some(_) | None => {
            let rows = call.host.list(node)?;
            let kept = Arc::clone(&rows);
            let host = &mut *call.host;
            host.descriptors.keep_listing(&mut host.files, fd, kept)?;
            rows
        }
    };
    let start = usize::try_from(cookie).unwrap_or(usize::MAX);
    let mut at = buffer;
    let mut room = length as usize;
    for (index, (name, node)) in listing.iter().enumerate().skip(start) {
        if room == 0 {
            break;
        }
        call.host.charge(ENTRY_CHARGE);
        let mut row = Vec::with_capacity(DIRENT.saturating_add(name.len()));
        let next = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        row.extend_from_slice(&next.to_le_bytes());
        row.extend_from_slice(&u64::from(node.0).saturating_add(1).to_le_bytes());
        let name_length = u32::try_from(name.len()).map_err(|_| Errno::Overflow)?;
        row.extend_from_slice(&name_length.to_le_bytes());
        let file_type = call.host.fs.node(*node).file_type();
        row.extend_from_slice(&[file_type as u8, 0, 0, 0]);
        row.extend_from_slice(name.as_bytes());
        // An entry that does not fit is cut: a full buffer tells the guest to come again.
        let part = row.get(..row.len().min(room)).unwrap_or(&row);
        call.memory.write(at, part)?;
        room = room.saturating_sub(part.len());
        at = at
            .checked_add(u32::try_from(part.len()).map_err(|_| Errno::Overflow)?)
            .ok_or(Errno::Fault)?;
    }
    call.memory.write_u32(out, at.saturating_sub(buffer))
}

pub(super) fn fd_renumber(call: &mut Call<'_>, from: u32, to: u32) -> Result<(), Errno> {
    call.host.descriptors.get(from)?;
    call.host.descriptors.get(to)?;
    if from == to {
        return Ok(());
    }
    fd_close(call, to)?;
    call.host.descriptors.renumber(from, to)
}

pub(super) fn fd_seek(
    call: &mut Call<'_>,
    fd: u32,
    by: i64,
    whence: u32,
    out: u32,
) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    let node = seekable(call, descriptor)?;
    let base = match whence {
        0 => 0,
        1 => descriptor.offset,
        2 => call.host.fs.node(node).size(),
        _ => return Err(Errno::Inval),
    };
    let at = base.checked_add_signed(by).ok_or(Errno::Inval)?;
    if i64::try_from(at).is_err() {
        return Err(Errno::Overflow);
    }
    call.host.descriptors.get_mut(fd)?.offset = at;
    call.memory.write_u64(out, at)
}

pub(super) fn fd_tell(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.get(fd)?;
    seekable(call, descriptor)?;
    let at = descriptor.offset;
    call.memory.write_u64(out, at)
}

fn seekable(call: &Call<'_>, descriptor: &Descriptor) -> Result<NodeId, Errno> {
    match descriptor.target {
        Target::Stdin | Target::Stdout | Target::Stderr => Err(Errno::Spipe),
        Target::Node(node) => match call.host.fs.node(node).kind {
            NodeKind::Directory(_) => Err(Errno::Badf),
            NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => Ok(node),
        },
    }
}

pub(super) fn offset(pointer: u32, by: u32) -> Result<u32, Errno> {
    pointer.checked_add(by).ok_or(Errno::Fault)
}
