//! The functions of WASI 0.1, called as a guest calls them, against tmpfs: the sequences
//! and the rules are those of `fs/against_tmpfs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

use probity_core::budget::Budget;

use super::super::host::{Host, HostSetup};
use super::descriptor::{FLAG_APPEND, rights};
use super::memory::GuestMemory;
use super::{Call, fd, path};
use crate::engine::Kind;
use crate::fs::against_tmpfs::{
    Answer, At, Files, How, Operation, SLOTS, Seen, Whence, agree, explicit, refuse,
};
use crate::fs::{Errno, FileType, Filesystem};

/// Descriptors of the granted folder and of the root.
const GRANT: u32 = 3;
const ROOT: u32 = 4;

/// Places in the guest's memory: a result, a vector, a `filestat`, two texts, a buffer.
const RESULT: u32 = 16;
const VECTOR: u32 = 32;
const STAT: u32 = 64;
const TEXTS: [u32; 2] = [0x1000, 0x8000];
const BUFFER: u32 = 0x1_0000;
/// Little enough that a folder's names seldom fit, enough for the longest.
const NAMES: u32 = 300;

struct Guest {
    host: Host,
    memory: Vec<u8>,
    slots: [Option<u32>; SLOTS],
}

/// A text in the guest's memory.
type Text = (u32, u32);

impl Guest {
    fn new(fs: Filesystem) -> Self {
        let setup = HostSetup {
            kind: Kind::Core,
            fs,
            args: Vec::new(),
            env: Vec::new(),
            stdin: Vec::new(),
            preopens: vec!["/g".to_owned(), "/".to_owned()],
            seed: 0,
            start_time: 7,
            passed: 0,
            slice: None,
            listener: None,
        };
        Self {
            host: Host::new(setup, &Budget::check()).unwrap(),
            memory: vec![0; 1 << 18],
            slots: [None; SLOTS],
        }
    }

    fn call(
        &mut self,
        function: impl FnOnce(&mut Call<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        function(&mut Call {
            memory: GuestMemory(&mut self.memory),
            host: &mut self.host,
        })
    }

    fn fd(&self, slot: usize) -> u32 {
        self.slots[slot].unwrap_or(999)
    }

    fn start(&self, at: At) -> u32 {
        match at {
            At::Root => ROOT,
            At::Grant => GRANT,
            At::Slot(slot) => self.fd(slot),
        }
    }

    fn put(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn text(&mut self, index: usize, text: &str) -> Text {
        self.put(TEXTS[index], text.as_bytes());
        (TEXTS[index], u32::try_from(text.len()).unwrap())
    }

    fn u32(&self, at: u32) -> u32 {
        let at = at as usize;
        u32::from_le_bytes(self.memory[at..at + 4].try_into().unwrap())
    }

    fn u64(&self, at: u32) -> u64 {
        let at = at as usize;
        u64::from_le_bytes(self.memory[at..at + 8].try_into().unwrap())
    }

    fn bytes(&self, at: u32, length: u32) -> &[u8] {
        &self.memory[at as usize..(at + length) as usize]
    }

    fn vector(&mut self, length: usize) {
        self.put(VECTOR, &BUFFER.to_le_bytes());
        self.put(VECTOR + 4, &u32::try_from(length).unwrap().to_le_bytes());
    }

    fn open(&mut self, slot: usize, at: At, name: &str, how: How) -> Result<Answer, Errno> {
        let (start, (text, length)) = (self.start(at), self.text(0, name));
        let mut base = 0;
        if how.mode.reads() {
            base |= rights::FD_READ;
        }
        if how.mode.writes() {
            base |= rights::FD_WRITE | rights::FD_ALLOCATE | rights::FD_FILESTAT_SET_SIZE;
        }
        let flags = u32::from(how.create)
            | u32::from(how.directory) << 1
            | u32::from(how.exclusive) << 2
            | u32::from(how.truncate) << 3;
        let append = u32::from(FLAG_APPEND) * u32::from(how.append);
        let follow = u32::from(how.follow);
        self.call(|call| {
            let all = rights::ALL;
            path::path_open(
                call, start, follow, text, length, flags, base, all, append, RESULT,
            )
        })?;
        if let Some(old) = self.slots[slot].replace(self.u32(RESULT)) {
            self.call(|call| fd::fd_close(call, old)).unwrap();
        }
        Ok(Answer::Done)
    }

    fn seen(&mut self) -> Seen {
        let kind = file_type(self.memory[STAT as usize + 16]);
        let inode = self.u64(STAT + 8);
        let (links, size) = (self.u64(STAT + 24), self.u64(STAT + 32));
        let modified = explicit(self.u64(STAT + 48));
        let plain = kind != FileType::Directory;
        let same = (0..SLOTS)
            .filter(|slot| {
                let fd = self.fd(*slot);
                let stat = self.call(|call| fd::fd_filestat_get(call, fd, STAT));
                stat.is_ok() && self.u64(STAT + 8) == inode
            })
            .collect();
        Seen {
            file_type: kind,
            size: plain.then_some(size),
            links: plain.then_some(links),
            modified,
            same,
            inode,
        }
    }

    fn times(&self, accessed: Option<u64>, modified: Option<u64>) -> Answer {
        Answer::Times(
            accessed.and(explicit(self.u64(STAT + 40))),
            modified.and(explicit(self.u64(STAT + 48))),
        )
    }

    fn list(&mut self, slot: usize) -> Result<Answer, Errno> {
        let fd = self.fd(slot);
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            self.call(|call| fd::fd_readdir(call, fd, BUFFER, NAMES, cookie, RESULT))?;
            let (mut at, end) = (BUFFER, BUFFER + self.u32(RESULT));
            while at + 24 <= end {
                let length = self.u32(at + 16);
                if at + 24 + length > end {
                    break;
                }
                let name = std::str::from_utf8(self.bytes(at + 24, length)).unwrap();
                names.push((name.to_owned(), file_type(self.memory[at as usize + 20])));
                cookie = self.u64(at);
                at += 24 + length;
            }
            if end - BUFFER < NAMES {
                return Ok(Answer::Names(names));
            }
        }
    }
}

fn file_type(number: u8) -> FileType {
    let types = [
        FileType::CharacterDevice,
        FileType::Directory,
        FileType::RegularFile,
        FileType::SymbolicLink,
    ];
    let found = types.into_iter().find(|kind| *kind as u8 == number);
    found.unwrap()
}

/// The flags that choose which times to set.
fn which(accessed: Option<u64>, modified: Option<u64>) -> u32 {
    u32::from(accessed.is_some()) | u32::from(modified.is_some()) << 2
}

impl Files for Guest {
    fn apply(&mut self, operation: &Operation) -> Result<Answer, Errno> {
        let done = |()| Answer::Done;
        match operation {
            Operation::Open(slot, at, name, how) => self.open(*slot, *at, name, *how),
            Operation::Close(slot) => {
                let fd = self.fd(*slot);
                self.slots[*slot] = None;
                self.call(|call| fd::fd_close(call, fd)).map(done)
            }
            Operation::Renumber(from, to) => {
                let (old, new) = (self.fd(*from), self.fd(*to));
                self.call(|call| fd::fd_renumber(call, old, new))?;
                if from != to {
                    self.slots[*from] = None;
                }
                Ok(Answer::Done)
            }
            Operation::Read(slot, offset, length) => {
                let fd = self.fd(*slot);
                self.vector(*length);
                self.call(|call| match offset {
                    None => fd::fd_read(call, fd, VECTOR, 1, RESULT),
                    Some(offset) => fd::fd_pread(call, fd, VECTOR, 1, *offset, RESULT),
                })?;
                let bytes = self.bytes(BUFFER, self.u32(RESULT));
                Ok(Answer::Bytes(bytes.to_vec()))
            }
            Operation::Write(slot, offset, bytes) => {
                let fd = self.fd(*slot);
                self.put(BUFFER, bytes);
                self.vector(bytes.len());
                self.call(|call| match offset {
                    None => fd::fd_write(call, fd, VECTOR, 1, RESULT),
                    Some(offset) => fd::fd_pwrite(call, fd, VECTOR, 1, *offset, RESULT),
                })?;
                Ok(Answer::Count(u64::from(self.u32(RESULT))))
            }
            Operation::Seek(slot, whence, by) => {
                let fd = self.fd(*slot);
                let whence = match whence {
                    Whence::Start => 0,
                    Whence::Current => 1,
                    Whence::End => 2,
                };
                self.call(|call| fd::fd_seek(call, fd, *by, whence, RESULT))?;
                let at = self.u64(RESULT);
                self.call(|call| fd::fd_tell(call, fd, RESULT))?;
                assert_eq!(self.u64(RESULT), at);
                Ok(Answer::Count(at))
            }
            Operation::SetAppend(slot, append) => {
                let (fd, flags) = (self.fd(*slot), u32::from(FLAG_APPEND) * u32::from(*append));
                self.call(|call| fd::fd_fdstat_set_flags(call, fd, flags))
                    .map(done)
            }
            Operation::SetLen(slot, length) => {
                let fd = self.fd(*slot);
                self.call(|call| fd::fd_filestat_set_size(call, fd, *length))
                    .map(done)
            }
            Operation::Allocate(slot, offset, length) => {
                let fd = self.fd(*slot);
                self.call(|call| fd::fd_allocate(call, fd, *offset, *length))
                    .map(done)
            }
            Operation::Stat(slot) => {
                let fd = self.fd(*slot);
                self.call(|call| fd::fd_filestat_get(call, fd, STAT))?;
                Ok(Answer::Seen(self.seen()))
            }
            Operation::StatPath(at, name, follow) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                let follow = u32::from(*follow);
                self.call(|call| path::path_filestat_get(call, start, follow, text, length, STAT))?;
                Ok(Answer::Seen(self.seen()))
            }
            Operation::SetTimes(slot, accessed, modified) => {
                let fd = self.fd(*slot);
                let (a, m) = (accessed.unwrap_or(0), modified.unwrap_or(0));
                let which = which(*accessed, *modified);
                self.call(|call| fd::fd_filestat_set_times(call, fd, a, m, which))?;
                self.call(|call| fd::fd_filestat_get(call, fd, STAT))?;
                Ok(self.times(*accessed, *modified))
            }
            Operation::SetTimesPath(at, name, follow, accessed, modified) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                let (a, m) = (accessed.unwrap_or(0), modified.unwrap_or(0));
                let (follow, which) = (u32::from(*follow), which(*accessed, *modified));
                self.call(|call| {
                    path::path_filestat_set_times(call, start, follow, text, length, a, m, which)
                })?;
                self.call(|call| path::path_filestat_get(call, start, follow, text, length, STAT))?;
                Ok(self.times(*accessed, *modified))
            }
            Operation::List(slot) => self.list(*slot),
            Operation::CreateDirectory(at, name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                self.call(|call| path::path_create_directory(call, start, text, length))
                    .map(done)
            }
            Operation::RemoveDirectory(at, name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                self.call(|call| path::path_remove_directory(call, start, text, length))
                    .map(done)
            }
            Operation::Unlink(at, name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                self.call(|call| path::path_unlink_file(call, start, text, length))
                    .map(done)
            }
            Operation::Rename(at, name, new_at, new_name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                let (new, (to, to_length)) = (self.start(*new_at), self.text(1, new_name));
                self.call(|call| path::path_rename(call, start, text, length, new, to, to_length))
                    .map(done)
            }
            Operation::Link(at, name, follow, new_at, new_name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                let (new, (to, to_length)) = (self.start(*new_at), self.text(1, new_name));
                let follow = u32::from(*follow);
                self.call(|call| {
                    path::path_link(call, start, follow, text, length, new, to, to_length)
                })
                .map(done)
            }
            Operation::Symlink(target, at, name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                let (target, target_length) = self.text(1, target);
                self.call(|call| {
                    path::path_symlink(call, target, target_length, start, text, length)
                })
                .map(done)
            }
            Operation::ReadLink(at, name) => {
                let (start, (text, length)) = (self.start(*at), self.text(0, name));
                self.call(|call| {
                    path::path_readlink(call, start, text, length, BUFFER, 8192, RESULT)
                })?;
                let target = self.bytes(BUFFER, self.u32(RESULT));
                Ok(Answer::Text(
                    std::str::from_utf8(target).unwrap().to_owned(),
                ))
            }
        }
    }
}

#[test]
fn wasi_agrees_with_tmpfs() {
    agree(150, Guest::new, |guest| {
        let granted =
            [GRANT, ROOT].map(|fd| guest.host.descriptors.get(fd).unwrap().node().unwrap());
        // Each is held by its descriptor, and by the host, whatever the guest closes.
        guest.host.fs.check_accounts(&[granted, granted].concat())
    });
}

#[test]
fn wasi_refuses_every_change_of_a_read_only_mount() {
    refuse(100, Guest::new);
}
