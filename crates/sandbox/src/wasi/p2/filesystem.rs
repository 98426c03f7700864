//! `wasi:filesystem`: the in-memory filesystem by handles.
//!
//! Paths resolve as for WASI 0.1. Whether a folder may be changed is decided by its mount,
//! never by the flags that it was opened with; those can only take away.

#![allow(
    clippy::too_many_arguments,
    reason = "the functions have the parameters that WASI gives them"
)]

use wasmtime::component::Resource;

use super::super::host::{Host, Stop};
use super::super::nodes::{ENTRY_CHARGE, MAX_TRANSFER, NewTime};
use super::handles::{Descriptor, DirectoryReader, InputStream, OutputStream, Sink};
use super::reply::Refusal;
use super::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, MetadataHash,
    NewTimestamp, OpenFlags, PathFlags,
};
use crate::fs::{self, Errno, FileType, Follow, NodeId, NodeKind};

type File = Resource<Descriptor>;

pub(super) fn get_directories(host: &mut Host) -> Result<Vec<(File, String)>, Stop> {
    let mut all = Vec::with_capacity(host.preopens.len());
    for (node, path) in host.preopens.clone() {
        let descriptor = Descriptor {
            node,
            read: true,
            write: false,
        };
        let file = match hold(host, descriptor) {
            Ok(file) => file,
            Err(Refusal::Stop(stop)) => return Err(stop),
            // The function has no error to answer with.
            Err(Refusal::Errno(_)) => {
                return Err(match host.files.hit() {
                    Some(hit) => Stop::Limit(hit),
                    None => Stop::Misuse("it opens too many files"),
                });
            }
        };
        host.charge(path.len());
        all.push((file, path));
    }
    Ok(all)
}

/// Gives the guest a descriptor, within the bound on open files.
fn hold(host: &mut Host, descriptor: Descriptor) -> Result<File, Refusal> {
    host.files.opened()?;
    let file = host.handles.push(descriptor)?;
    host.fs.hold(descriptor.node);
    Ok(file)
}

pub(super) fn drop_descriptor(host: &mut Host, file: File) -> Result<(), Stop> {
    let closed = host.handles.delete(file)?;
    host.files.closed();
    host.fs.close(closed.node);
    Ok(())
}

/// The folder behind a handle, and the fuel for a path below it.
fn below(host: &mut Host, file: &File, path: &str) -> Result<NodeId, Refusal> {
    host.charge(path.len());
    Ok(host.handles.get(file)?.node)
}

fn readable(host: &Host, file: &File) -> Result<NodeId, Refusal> {
    let found = host.handles.get(file)?;
    not_a_folder(host, found.node)?;
    if found.read {
        Ok(found.node)
    } else {
        Err(Errno::Badf.into())
    }
}

fn writable(host: &Host, file: &File) -> Result<NodeId, Refusal> {
    let found = host.handles.get(file)?;
    not_a_folder(host, found.node)?;
    if found.write {
        Ok(found.node)
    } else {
        Err(Errno::Badf.into())
    }
}

fn not_a_folder(host: &Host, node: NodeId) -> Result<(), Errno> {
    match host.fs.node(node).kind {
        NodeKind::Directory(_) => Err(Errno::Isdir),
        NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => Ok(()),
    }
}

fn follow(flags: PathFlags) -> Follow {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        Follow::Yes
    } else {
        Follow::No
    }
}

pub(super) fn read_via_stream(
    host: &mut Host,
    file: File,
    offset: u64,
) -> Result<Resource<InputStream>, Refusal> {
    let node = readable(host, &file)?;
    let stream = host.handles.push(InputStream::File { node, at: offset })?;
    host.fs.hold(node);
    Ok(stream)
}

pub(super) fn write_via_stream(
    host: &mut Host,
    file: File,
    offset: u64,
) -> Result<Resource<OutputStream>, Refusal> {
    let node = writable(host, &file)?;
    write_stream(host, node, Sink::File { node, at: offset })
}

pub(super) fn append_via_stream(
    host: &mut Host,
    file: File,
) -> Result<Resource<OutputStream>, Refusal> {
    let node = writable(host, &file)?;
    write_stream(host, node, Sink::Append { node })
}

fn write_stream(
    host: &mut Host,
    node: NodeId,
    sink: Sink,
) -> Result<Resource<OutputStream>, Refusal> {
    let stream = host.handles.push(OutputStream {
        sink,
        closed: false,
    })?;
    host.fs.hold(node);
    Ok(stream)
}

pub(super) fn advise(
    host: &mut Host,
    file: File,
    _offset: u64,
    _length: u64,
    _advice: Advice,
) -> Result<(), Refusal> {
    let node = host.handles.get(&file)?.node;
    Ok(not_a_folder(host, node)?)
}

/// What is written is there: there is nothing behind to bring it to.
pub(super) fn sync(host: &mut Host, file: File) -> Result<(), Refusal> {
    host.handles.get(&file)?;
    Ok(())
}

pub(super) fn get_flags(host: &mut Host, file: File) -> Result<DescriptorFlags, Refusal> {
    let found = host.handles.get(&file)?;
    let mut flags = DescriptorFlags::default();
    if found.read {
        flags |= DescriptorFlags::READ;
    }
    if found.write {
        flags |= DescriptorFlags::WRITE;
    }
    if host.fs.node(found.node).file_type() == FileType::Directory {
        flags |= DescriptorFlags::MUTATE_DIRECTORY;
    }
    Ok(flags)
}

pub(super) fn get_type(host: &mut Host, file: File) -> Result<DescriptorType, Refusal> {
    let node = host.handles.get(&file)?.node;
    Ok(host.fs.node(node).file_type().into())
}

pub(super) fn set_size(host: &mut Host, file: File, size: u64) -> Result<(), Refusal> {
    let node = writable(host, &file)?;
    Ok(host.resize(node, size)?)
}

fn new_time(time: NewTimestamp) -> Result<NewTime, Errno> {
    match time {
        NewTimestamp::NoChange => Ok(NewTime::Keep),
        NewTimestamp::Now => Ok(NewTime::Now),
        NewTimestamp::Timestamp(time) => time.nanoseconds().map(NewTime::At),
    }
}

pub(super) fn set_times(
    host: &mut Host,
    file: File,
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> Result<(), Refusal> {
    let node = host.handles.get(&file)?.node;
    let times = host.new_times(new_time(accessed)?, new_time(modified)?);
    Ok(host.fs.set_times(node, times)?)
}

/// At most [`MAX_TRANSFER`] bytes, and whether they reach the end.
pub(super) fn read(
    host: &mut Host,
    file: File,
    length: u64,
    offset: u64,
) -> Result<(Vec<u8>, bool), Refusal> {
    let node = readable(host, &file)?;
    let there = host.readable(node, offset);
    let size = length.min(u64::from(MAX_TRANSFER)).min(there);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let count = host.read_node(node, offset, &mut bytes)?;
    bytes.truncate(count);
    let ended = u64::try_from(count).unwrap_or(u64::MAX) >= there;
    Ok((bytes, ended))
}

/// Writes at most [`MAX_TRANSFER`] bytes and tells how many.
pub(super) fn write(
    host: &mut Host,
    file: File,
    buffer: Vec<u8>,
    offset: u64,
) -> Result<u64, Refusal> {
    // It was copied, whatever becomes of it.
    host.charge(buffer.len());
    let node = writable(host, &file)?;
    let bytes = buffer.get(..MAX_TRANSFER as usize).unwrap_or(&buffer);
    host.write_node(node, offset, bytes)?;
    Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

pub(super) fn read_directory(
    host: &mut Host,
    file: File,
) -> Result<Resource<DirectoryReader>, Refusal> {
    let node = host.handles.get(&file)?.node;
    let listing = host.list(node)?;
    host.files.hold(None, Some(&listing))?;
    // The interface leaves out `.` and `..`, which stand first.
    Ok(host.handles.push(DirectoryReader { listing, at: 2 })?)
}

pub(super) fn read_directory_entry(
    host: &mut Host,
    reader: Resource<DirectoryReader>,
) -> Result<Option<DirectoryEntry>, Refusal> {
    host.charge(ENTRY_CHARGE);
    let found = host.handles.get_mut(&reader)?;
    let Some((name, node)) = found.listing.get(found.at) else {
        return Ok(None);
    };
    let (name, node) = (name.as_ref().to_owned(), *node);
    found.at = found.at.saturating_add(1);
    Ok(Some(DirectoryEntry {
        descriptor_type: host.fs.node(node).file_type().into(),
        name,
    }))
}

pub(super) fn drop_reader(host: &mut Host, reader: Resource<DirectoryReader>) -> Result<(), Stop> {
    let closed = host.handles.delete(reader)?;
    // Giving names back is never refused.
    let _ = host.files.hold(Some(&closed.listing), None);
    Ok(())
}

pub(super) fn create_directory_at(
    host: &mut Host,
    file: File,
    path: String,
) -> Result<(), Refusal> {
    let grant = below(host, &file, &path)?;
    Ok(host.fs.make_directory(grant, &path)?)
}

pub(super) fn stat(host: &mut Host, file: File) -> Result<DescriptorStat, Refusal> {
    let node = host.handles.get(&file)?.node;
    Ok(host.fs.stat(node).into())
}

pub(super) fn stat_at(
    host: &mut Host,
    file: File,
    flags: PathFlags,
    path: String,
) -> Result<DescriptorStat, Refusal> {
    let node = existing(host, &file, flags, &path)?;
    Ok(host.fs.stat(node).into())
}

fn existing(host: &mut Host, file: &File, flags: PathFlags, path: &str) -> Result<NodeId, Refusal> {
    let grant = below(host, file, path)?;
    Ok(host.fs.existing(grant, path, follow(flags))?)
}

pub(super) fn set_times_at(
    host: &mut Host,
    file: File,
    flags: PathFlags,
    path: String,
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> Result<(), Refusal> {
    let node = existing(host, &file, flags, &path)?;
    let times = host.new_times(new_time(accessed)?, new_time(modified)?);
    Ok(host.fs.set_times(node, times)?)
}

pub(super) fn link_at(
    host: &mut Host,
    file: File,
    flags: PathFlags,
    old_path: String,
    new_file: File,
    new_path: String,
) -> Result<(), Refusal> {
    host.charge(new_path.len());
    let from = below(host, &file, &old_path)?;
    let to = below(host, &new_file, &new_path)?;
    Ok(host
        .fs
        .hard_link((from, &old_path), follow(flags), (to, &new_path))?)
}

pub(super) fn open_at(
    host: &mut Host,
    file: File,
    path_flags: PathFlags,
    path: String,
    open_flags: OpenFlags,
    flags: DescriptorFlags,
) -> Result<File, Refusal> {
    let grant = below(host, &file, &path)?;
    host.files.check_room()?;
    let write = flags.contains(DescriptorFlags::WRITE);
    let node = host.fs.open(
        grant,
        &path,
        follow(path_flags),
        fs::OpenFlags {
            create: open_flags.contains(OpenFlags::CREATE),
            directory: open_flags.contains(OpenFlags::DIRECTORY),
            exclusive: open_flags.contains(OpenFlags::EXCLUSIVE),
            truncate: open_flags.contains(OpenFlags::TRUNCATE),
            write,
        },
    )?;
    let opened = hold(
        host,
        Descriptor {
            node,
            read: flags.contains(DescriptorFlags::READ),
            write,
        },
    );
    // The handle holds the file by now, or nothing does.
    host.fs.close(node);
    opened
}

pub(super) fn readlink_at(host: &mut Host, file: File, path: String) -> Result<String, Refusal> {
    let grant = below(host, &file, &path)?;
    let target = host.fs.read_link(grant, &path)?;
    host.charge(target.len());
    Ok(target.as_ref().to_owned())
}

pub(super) fn remove_directory_at(
    host: &mut Host,
    file: File,
    path: String,
) -> Result<(), Refusal> {
    let grant = below(host, &file, &path)?;
    Ok(host.fs.remove_directory(grant, &path)?)
}

pub(super) fn rename_at(
    host: &mut Host,
    file: File,
    old_path: String,
    new_file: File,
    new_path: String,
) -> Result<(), Refusal> {
    host.charge(new_path.len());
    let from = below(host, &file, &old_path)?;
    let to = below(host, &new_file, &new_path)?;
    Ok(host.fs.rename((from, &old_path), (to, &new_path))?)
}

pub(super) fn symlink_at(
    host: &mut Host,
    file: File,
    target: String,
    path: String,
) -> Result<(), Refusal> {
    host.charge(target.len());
    let grant = below(host, &file, &path)?;
    Ok(host.fs.symlink(&target, grant, &path)?)
}

pub(super) fn unlink_file_at(host: &mut Host, file: File, path: String) -> Result<(), Refusal> {
    let grant = below(host, &file, &path)?;
    Ok(host.fs.unlink(grant, &path)?)
}

pub(super) fn is_same_object(host: &mut Host, file: File, other: File) -> Result<bool, Stop> {
    Ok(host.handles.get(&file)?.node == host.handles.get(&other)?.node)
}

pub(super) fn metadata_hash(host: &mut Host, file: File) -> Result<MetadataHash, Refusal> {
    let node = host.handles.get(&file)?.node;
    Ok(hash(host, node))
}

pub(super) fn metadata_hash_at(
    host: &mut Host,
    file: File,
    flags: PathFlags,
    path: String,
) -> Result<MetadataHash, Refusal> {
    let node = existing(host, &file, flags, &path)?;
    Ok(hash(host, node))
}

/// What tells one file from another: its inode and its type. Libraries show the lower half
/// as the inode number, so it is the one of WASI 0.1.
fn hash(host: &mut Host, node: NodeId) -> MetadataHash {
    let stat = host.fs.stat(node);
    MetadataHash {
        lower: stat.inode,
        upper: u64::from(stat.file_type as u8),
    }
}
