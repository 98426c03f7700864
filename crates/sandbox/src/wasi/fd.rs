//! Calls on open descriptors.

use std::sync::Arc;

use super::Call;
use super::descriptor::{Descriptor, FLAG_APPEND, FLAGS_KNOWN, Listing, Target, rights};
use super::memory::Vector;
use crate::fs::{Content, Device, Errno, FileType, NewTimes, NodeId, NodeKind, Stat};

/// Most bytes moved by one call; a longer request is a short transfer.
const MAX_TRANSFER: u32 = 16 << 20;
/// Fuel for each name that a folder's reader receives.
const ENTRY_CHARGE: usize = 50;
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
    let (before, copied) = (call.host.fs.node(node).size(), copied(call, node));
    call.host.fs.allocate(node, offset, length)?;
    let grown = offset.saturating_add(length).saturating_sub(before);
    if grown > 0 {
        call.host.charge(copied);
    }
    charge_bytes(call, grown);
    Ok(())
}

pub(super) fn fd_close(call: &mut Call<'_>, fd: u32) -> Result<(), Errno> {
    let descriptor = call.host.descriptors.remove(fd)?;
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
    let (before, copied) = (call.host.fs.node(node).size(), copied(call, node));
    call.host.fs.set_len(node, size)?;
    if size != before {
        call.host.charge(copied);
    }
    charge_bytes(call, size.abs_diff(before));
    Ok(())
}

/// The times that a call's flags ask for.
pub(super) fn new_times(
    call: &Call<'_>,
    accessed: u64,
    modified: u64,
    flags: u32,
) -> Result<NewTimes, Errno> {
    let now = call.host.clock.realtime();
    let pick = |value: u64, set: bool, set_now: bool| match (set, set_now) {
        (true, true) => Err(Errno::Inval),
        (true, false) => Ok(Some(value)),
        (false, true) => Ok(Some(now)),
        (false, false) => Ok(None),
    };
    if flags > 15 {
        return Err(Errno::Inval);
    }
    Ok(NewTimes {
        accessed: pick(accessed, flags & 1 != 0, flags & 2 != 0)?,
        modified: pick(modified, flags & 4 != 0, flags & 8 != 0)?,
    })
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
    let vectors = call.memory.vectors(vectors, count, MAX_TRANSFER)?;
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
    let vectors = call.memory.vectors(vectors, count, MAX_TRANSFER)?;
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
        let rest = call.host.stdin.get(call.host.stdin_at..).unwrap_or(&[]);
        let count = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        call.host.stdin_at = call.host.stdin_at.saturating_add(count);
        call.host.charge(count);
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
    let device = match &call.host.fs.node(node).kind {
        NodeKind::Device(device) => Some(*device),
        NodeKind::Directory(_) => return Err(Errno::Isdir),
        NodeKind::File(_) | NodeKind::Symlink(_) => None,
    };
    let mut done = 0_u32;
    for vector in vectors {
        let into = call.memory.bytes_mut(vector.pointer, vector.length)?;
        let count = match device {
            None => {
                let at = start.saturating_add(u64::from(done));
                call.host.fs.read_at(node, at, into)?
            }
            Some(Device::Null) => 0,
            Some(Device::Zero) => {
                into.fill(0);
                into.len()
            }
            Some(Device::Random) => {
                call.host.fill_random(into);
                into.len()
            }
            Some(Device::Results) => return Err(Errno::Badf),
        };
        call.host.charge(count);
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
    let vectors = call.memory.vectors(vectors, count, MAX_TRANSFER)?;
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
    let vectors = call.memory.vectors(vectors, count, MAX_TRANSFER)?;
    let done = match target {
        Target::Stdin => return Err(Errno::Badf),
        Target::Stdout | Target::Stderr => {
            let mut done = 0_u32;
            for vector in &vectors {
                let bytes = call.memory.bytes(vector.pointer, vector.length)?;
                match target {
                    Target::Stdout => call.host.stdout.write(bytes),
                    Target::Stderr | Target::Stdin | Target::Node(_) => {
                        call.host.stderr.write(bytes);
                    }
                }
                call.host.charge(vector.length as usize);
                done = done.saturating_add(vector.length);
            }
            done
        }
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

/// Writes the guest's buffers to a node. An error after some bytes were written is a
/// short write; the next call meets it again.
fn write_node(
    call: &mut Call<'_>,
    node: NodeId,
    start: u64,
    vectors: &[Vector],
) -> Result<u32, Errno> {
    let device = match &call.host.fs.node(node).kind {
        NodeKind::Device(device) => Some(*device),
        NodeKind::Directory(_) => return Err(Errno::Isdir),
        NodeKind::File(_) | NodeKind::Symlink(_) => None,
    };
    let copied = copied(call, node);
    call.host.charge(copied);
    let mut done = 0_u32;
    for vector in vectors {
        let bytes = call.memory.bytes(vector.pointer, vector.length)?;
        match device {
            None => {
                let at = start.saturating_add(u64::from(done));
                let gap = at.saturating_sub(call.host.fs.node(node).size());
                match call.host.fs.write_at(node, at, bytes) {
                    Ok(_) => call.host.charge(usize::try_from(gap).unwrap_or(usize::MAX)),
                    Err(_) if done > 0 => break,
                    Err(errno) => return Err(errno),
                }
            }
            Some(Device::Null | Device::Zero | Device::Random) => {}
            Some(Device::Results) => call.host.write_results(bytes),
        }
        call.host.charge(bytes.len());
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
            let rows: Listing = call.host.fs.list(node)?.into();
            call.host.charge(rows.len());
            call.host.descriptors.keep_listing(fd, Arc::clone(&rows))?;
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
    let moved: Descriptor = call.host.descriptors.remove(from)?;
    call.host.descriptors.put(
        to,
        Descriptor {
            listing: None,
            ..moved
        },
    );
    Ok(())
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

/// What the first change of a layer's file costs: it is copied.
fn copied(call: &Call<'_>, node: NodeId) -> usize {
    match &call.host.fs.node(node).kind {
        NodeKind::File(content @ (Content::Shared(_) | Content::Mapped(_))) => {
            content.bytes().len()
        }
        NodeKind::File(Content::Owned(_))
        | NodeKind::Directory(_)
        | NodeKind::Symlink(_)
        | NodeKind::Device(_) => 0,
    }
}

fn charge_bytes(call: &mut Call<'_>, bytes: u64) {
    call.host
        .charge(usize::try_from(bytes).unwrap_or(usize::MAX));
}

pub(super) fn offset(pointer: u32, by: u32) -> Result<u32, Errno> {
    pointer.checked_add(by).ok_or(Errno::Fault)
}
