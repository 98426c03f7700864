//! Our filesystem, asked without an adapter between. What an adapter adds (rights and the
//! place in a file) is here as plain as it can be.

use super::operation::{Answer, At, Files, How, Mode, Operation, SLOTS, Seen, Whence, explicit};
use crate::fs::{Errno, FileType, Filesystem, Follow, NewTimes, NodeId, NodeKind, OpenFlags, Stat};

#[derive(Debug, Clone, Copy)]
struct Handle {
    node: NodeId,
    mode: Mode,
    append: bool,
    offset: u64,
}

pub(super) struct Direct {
    pub(super) fs: Filesystem,
    grant: NodeId,
    slots: [Option<Handle>; SLOTS],
}

fn follow(yes: bool) -> Follow {
    if yes { Follow::Yes } else { Follow::No }
}

impl Direct {
    /// `fs` has the granted folder at `/g`.
    pub(super) fn new(mut fs: Filesystem) -> Self {
        let grant = fs.existing(NodeId::ROOT, "g", Follow::No).unwrap();
        Self {
            fs,
            grant,
            slots: [None; SLOTS],
        }
    }

    fn handle(&mut self, slot: usize) -> Result<&mut Handle, Errno> {
        self.slots[slot].as_mut().ok_or(Errno::Badf)
    }

    fn start(&mut self, at: At) -> Result<NodeId, Errno> {
        Ok(match at {
            At::Root => NodeId::ROOT,
            At::Grant => self.grant,
            At::Slot(slot) => self.handle(slot)?.node,
        })
    }

    fn writable(&mut self, slot: usize) -> Result<Handle, Errno> {
        let handle = *self.handle(slot)?;
        if handle.mode.writes() {
            Ok(handle)
        } else {
            Err(Errno::Badf)
        }
    }

    fn close(&mut self, slot: usize) -> Result<Answer, Errno> {
        let handle = self.slots[slot].take().ok_or(Errno::Badf)?;
        self.fs.close(handle.node);
        Ok(Answer::Done)
    }

    fn seen(&self, stat: Stat) -> Seen {
        let plain = stat.file_type != FileType::Directory;
        let same = (0..SLOTS).filter(|slot| {
            self.slots[*slot].is_some_and(|handle| u64::from(handle.node.0) + 1 == stat.inode)
        });
        Seen {
            file_type: stat.file_type,
            size: plain.then_some(stat.size),
            links: plain.then_some(stat.links),
            modified: explicit(stat.modified),
            same: same.collect(),
            inode: stat.inode,
        }
    }

    fn open(&mut self, slot: usize, at: At, path: &str, how: How) -> Result<Answer, Errno> {
        let start = self.start(at)?;
        let flags = OpenFlags {
            create: how.create,
            directory: how.directory,
            exclusive: how.exclusive,
            truncate: how.truncate,
            write: how.mode.writes(),
        };
        let node = self.fs.open(start, path, follow(how.follow), flags)?;
        let _ = self.close(slot);
        self.slots[slot] = Some(Handle {
            node,
            mode: how.mode,
            append: how.append,
            offset: 0,
        });
        Ok(Answer::Done)
    }

    fn set_times(
        &mut self,
        node: NodeId,
        accessed: Option<u64>,
        modified: Option<u64>,
    ) -> Result<Answer, Errno> {
        self.fs.set_times(node, NewTimes { accessed, modified })?;
        let stat = self.fs.stat(node);
        Ok(Answer::Times(
            accessed.and(explicit(stat.accessed)),
            modified.and(explicit(stat.modified)),
        ))
    }
}

impl Files for Direct {
    fn apply(&mut self, operation: &Operation) -> Result<Answer, Errno> {
        let done = |()| Answer::Done;
        match operation {
            Operation::Open(slot, at, path, how) => self.open(*slot, *at, path, *how),
            Operation::Close(slot) => self.close(*slot),
            Operation::Renumber(from, to) => {
                self.handle(*from)?;
                self.handle(*to)?;
                if from != to {
                    self.close(*to)?;
                    self.slots[*to] = self.slots[*from].take();
                }
                Ok(Answer::Done)
            }
            Operation::Read(slot, offset, length) => {
                let handle = *self.handle(*slot)?;
                if !handle.mode.reads() {
                    return Err(Errno::Badf);
                }
                let mut bytes = vec![0; *length];
                let at = offset.unwrap_or(handle.offset);
                let count = self.fs.read_at(handle.node, at, &mut bytes)?;
                bytes.truncate(count);
                if offset.is_none() {
                    self.handle(*slot)?.offset += count as u64;
                }
                Ok(Answer::Bytes(bytes))
            }
            Operation::Write(slot, offset, bytes) => {
                let handle = self.writable(*slot)?;
                let at = match offset {
                    Some(offset) => *offset,
                    None if handle.append && !bytes.is_empty() => self.fs.node(handle.node).size(),
                    None => handle.offset,
                };
                let count = self.fs.write_at(handle.node, at, bytes)? as u64;
                if offset.is_none() {
                    self.handle(*slot)?.offset = at + count;
                }
                Ok(Answer::Count(count))
            }
            Operation::Seek(slot, whence, by) => {
                let handle = *self.handle(*slot)?;
                let node = self.fs.node(handle.node);
                if matches!(node.kind, NodeKind::Directory(_)) {
                    return Err(Errno::Badf);
                }
                let base = match whence {
                    Whence::Start => 0,
                    Whence::Current => handle.offset,
                    Whence::End => node.size(),
                };
                let offset = base.checked_add_signed(*by).ok_or(Errno::Inval)?;
                self.handle(*slot)?.offset = offset;
                Ok(Answer::Count(offset))
            }
            Operation::SetAppend(slot, append) => {
                self.handle(*slot)?.append = *append;
                Ok(Answer::Done)
            }
            Operation::SetLen(slot, length) => {
                let handle = self.writable(*slot)?;
                self.fs.set_len(handle.node, *length).map(done)
            }
            Operation::Allocate(slot, offset, length) => {
                let handle = self.writable(*slot)?;
                self.fs.allocate(handle.node, *offset, *length).map(done)
            }
            Operation::Stat(slot) => {
                let node = self.handle(*slot)?.node;
                let stat = self.fs.stat(node);
                Ok(Answer::Seen(self.seen(stat)))
            }
            Operation::StatPath(at, path, yes) => {
                let start = self.start(*at)?;
                let node = self.fs.existing(start, path, follow(*yes))?;
                let stat = self.fs.stat(node);
                Ok(Answer::Seen(self.seen(stat)))
            }
            Operation::SetTimes(slot, accessed, modified) => {
                let node = self.handle(*slot)?.node;
                self.set_times(node, *accessed, *modified)
            }
            Operation::SetTimesPath(at, path, yes, accessed, modified) => {
                let start = self.start(*at)?;
                let node = self.fs.existing(start, path, follow(*yes))?;
                self.set_times(node, *accessed, *modified)
            }
            Operation::List(slot) => {
                let node = self.handle(*slot)?.node;
                let rows = self.fs.list(node)?;
                let rows = rows
                    .iter()
                    .map(|(name, node)| (name.to_string(), self.fs.node(*node).file_type()));
                Ok(Answer::Names(rows.collect()))
            }
            Operation::CreateDirectory(at, path) => {
                let start = self.start(*at)?;
                self.fs.make_directory(start, path).map(done)
            }
            Operation::RemoveDirectory(at, path) => {
                let start = self.start(*at)?;
                self.fs.remove_directory(start, path).map(done)
            }
            Operation::Unlink(at, path) => {
                let start = self.start(*at)?;
                self.fs.unlink(start, path).map(done)
            }
            Operation::Rename(at, path, new_at, new_path) => {
                let (from, to) = (self.start(*at)?, self.start(*new_at)?);
                self.fs.rename((from, path), (to, new_path)).map(done)
            }
            Operation::Link(at, path, yes, new_at, new_path) => {
                let (from, to) = (self.start(*at)?, self.start(*new_at)?);
                let (from, to) = ((from, path.as_str()), (to, new_path.as_str()));
                self.fs.hard_link(from, follow(*yes), to).map(done)
            }
            Operation::Symlink(target, at, path) => {
                let start = self.start(*at)?;
                self.fs.symlink(target, start, path).map(done)
            }
            Operation::ReadLink(at, path) => {
                let start = self.start(*at)?;
                self.fs
                    .read_link(start, path)
                    .map(|text| Answer::Text(text.to_string()))
            }
        }
    }
}
