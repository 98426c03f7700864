//! A folder on tmpfs, asked through the kernel with WASI's rules.
//!
//! Paths are walked by `openat2` with `RESOLVE_BENEATH`, or `RESOLVE_IN_ROOT` where the
//! root itself is granted. A call that means a name rather than what it leads to goes to
//! the folder that holds the name.
//!
//! Here WASI's rule stands in place of the kernel's; everything else is the kernel's word:
//!
//! | call | kernel | WASI | reason |
//! |---|---|---|---|
//! | a descriptor that is not open | met with its path | `EBADF` before any path | they are looked up first |
//! | a path that leaves the grant | `EXDEV` | `ENOTCAPABLE` | WASI's own number for it |
//! | an absolute path | taken, where the root is granted | `ENOTCAPABLE` | paths are relative to a descriptor |
//! | a last `..` that leaves the grant, where a name is meant | its form is wrong | `ENOTCAPABLE` | the kernel does not walk it |
//! | a name that is too long, and something else wrong as well | either | `ENAMETOOLONG` | names are checked while the path is walked (`run.rs`) |
//! | seek on a folder | moves a cursor | `EBADF` | `fd_readdir` has cookies instead |
//! | set the size or allocate without the right to write | `EINVAL`, or `EBADF` after other checks | `EBADF` | a right that a descriptor lacks is `EBADF` |
//! | write at an offset while appending | appends | writes at the offset | POSIX; Linux calls its own way a bug |
//! | list a removed folder | `ENOENT` | `.` and `..` | POSIX; the C library hides it as well |
//! | links and size of a folder | count its folders and entries | 1, or 0 once removed; 0 bytes | a way of storing them, not compared |
//! | time of the last access | set by reading | set by `set_times` only | as if mounted with `noatime`, only compared where set |

#![allow(
    clippy::unnecessary_cast,
    reason = "the kernel's types differ from machine to machine"
)]

use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, Mode as Permissions, OFlags, ResolveFlags, SeekFrom, Stat,
    Timespec, Timestamps, UTIME_OMIT,
};
use rustix::io::Errno as Kernel;

use super::operation::{Answer, At, Files, How, Mode, Operation, SLOTS, Seen, Whence, explicit};
use crate::fs::{Errno, FileType};

struct Handle {
    fd: OwnedFd,
    mode: Mode,
}

pub(super) struct Native {
    /// Removed when the sequence ends.
    folder: tempfile::TempDir,
    root: OwnedFd,
    grant: OwnedFd,
    slots: [Option<Handle>; SLOTS],
}

/// The number that WASI has for the kernel's.
fn errno(error: Kernel) -> Errno {
    match error {
        Kernel::XDEV => Errno::Notcapable,
        Kernel::BADF => Errno::Badf,
        Kernel::BUSY => Errno::Busy,
        Kernel::EXIST => Errno::Exist,
        Kernel::FBIG => Errno::Fbig,
        Kernel::INVAL => Errno::Inval,
        Kernel::ISDIR => Errno::Isdir,
        Kernel::LOOP => Errno::Loop,
        Kernel::MLINK => Errno::Mlink,
        Kernel::NAMETOOLONG => Errno::Nametoolong,
        Kernel::NOENT => Errno::Noent,
        Kernel::NOTDIR => Errno::Notdir,
        Kernel::NOTEMPTY => Errno::Notempty,
        Kernel::PERM => Errno::Perm,
        Kernel::SPIPE => Errno::Spipe,
        other => panic!("the kernel answers with {other}"),
    }
}

fn file_type(kind: rustix::fs::FileType) -> FileType {
    match kind {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::RegularFile => FileType::RegularFile,
        rustix::fs::FileType::Symlink => FileType::SymbolicLink,
        other => panic!("nobody makes a {other:?} here"),
    }
}

/// A file of at most this many bytes is read whole.
const MUCH: usize = 1 << 20;

impl Native {
    /// An empty folder called `g`, alone in another.
    pub(super) fn new() -> Self {
        let shm = std::path::Path::new("/dev/shm");
        let above = if shm.is_dir() {
            shm.to_owned()
        } else {
            std::env::temp_dir()
        };
        let folder = tempfile::Builder::new()
            .prefix("probity-fs-")
            .tempdir_in(above)
            .unwrap();
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, folder.path(), flags, Permissions::empty()).unwrap();
        rustix::fs::mkdirat(&root, "g", Permissions::RWXU).unwrap();
        let grant = rustix::fs::openat(&root, "g", flags, Permissions::empty()).unwrap();
        Self {
            folder,
            root,
            grant,
            slots: [const { None }; SLOTS],
        }
    }

    /// Puts a file, with the folders above it.
    pub(super) fn put_file(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join("g").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create_new(path)
            .unwrap()
            .write_all(bytes)
            .unwrap();
    }

    /// Puts a symbolic link, with the folders above it.
    pub(super) fn put_link(&self, path: &str, target: &str) {
        let path = self.folder.path().join("g").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn handle(&self, slot: usize) -> Result<&Handle, Errno> {
        self.slots[slot].as_ref().ok_or(Errno::Badf)
    }

    fn writable(&self, slot: usize) -> Result<&Handle, Errno> {
        let handle = self.handle(slot)?;
        if handle.mode.writes() {
            Ok(handle)
        } else {
            Err(Errno::Badf)
        }
    }

    fn start(&self, at: At) -> Result<BorrowedFd<'_>, Errno> {
        Ok(match at {
            At::Root => self.root.as_fd(),
            At::Grant => self.grant.as_fd(),
            At::Slot(slot) => self.handle(slot)?.fd.as_fd(),
        })
    }

    /// Opens what a path leads to.
    fn walk(&self, at: At, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let start = self.start(at)?;
        let resolve = match at {
            At::Root if path.starts_with('/') && path.len() < 4096 => {
                return Err(Errno::Notcapable);
            }
            At::Root => ResolveFlags::IN_ROOT,
            At::Grant | At::Slot(_) => ResolveFlags::BENEATH,
        };
        let permissions = if flags.contains(OFlags::CREATE) {
            Permissions::RWXU
        } else {
            Permissions::empty()
        };
        // With `..` in the path the kernel gives up whenever anything on the machine was
        // renamed meanwhile.
        for _ in 0..100_000 {
            match rustix::fs::openat2(
                start,
                path,
                flags | OFlags::CLOEXEC,
                permissions,
                resolve | ResolveFlags::NO_MAGICLINKS,
            ) {
                Ok(fd) => return Ok(fd),
                Err(Kernel::AGAIN) => {}
                Err(Kernel::NOSYS | Kernel::PERM) => panic!("this test needs `openat2`"),
                Err(error) => return Err(errno(error)),
            }
        }
        panic!("the kernel never came to an end with {path}");
    }

    /// What a path leads to, only to ask about it.
    fn look(&self, at: At, path: &str, follow: bool) -> Result<OwnedFd, Errno> {
        let nofollow = if follow {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        self.walk(at, path, OFlags::PATH | nofollow)
    }

    /// The folder that holds the last name of a path, and that name with its slashes.
    fn parent<'a>(&self, at: At, path: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        self.start(at)?;
        let bare = path.trim_end_matches('/');
        if bare.is_empty() || path.len() >= 4096 || path.starts_with('/') {
            // None of them has a last name; the kernel says what is wrong.
            let error = self.look(at, path, true).unwrap_err();
            return Err(error);
        }
        let split = bare.rfind('/').map_or(0, |slash| slash + 1);
        let (above, last) = path.split_at(split);
        let above = if above.is_empty() { "." } else { above };
        let folder = self.walk(at, above, OFlags::PATH | OFlags::DIRECTORY)?;
        if last.trim_end_matches('/') == ".." {
            self.look(at, path, true)?;
        }
        Ok((folder, last))
    }

    fn seen(&self, stat: &Stat) -> Seen {
        let kind = file_type(rustix::fs::FileType::from_raw_mode(stat.st_mode));
        let plain = kind != FileType::Directory;
        let same = (0..SLOTS)
            .filter(|slot| {
                self.handle(*slot).is_ok_and(|handle| {
                    rustix::fs::fstat(&handle.fd).unwrap().st_ino == stat.st_ino
                })
            })
            .collect();
        Seen {
            file_type: kind,
            size: plain.then(|| u64::try_from(stat.st_size).unwrap()),
            links: plain.then_some(stat.st_nlink as u64),
            modified: explicit(nanoseconds(stat.st_mtime, stat.st_mtime_nsec as u64)),
            same,
            inode: stat.st_ino,
        }
    }

    fn open(&mut self, slot: usize, at: At, path: &str, how: How) -> Result<Answer, Errno> {
        let mut flags = match how.mode {
            Mode::Read => OFlags::RDONLY,
            Mode::Write => OFlags::WRONLY,
            Mode::Both => OFlags::RDWR,
        };
        flags.set(OFlags::NOFOLLOW, !how.follow);
        flags.set(OFlags::CREATE, how.create);
        flags.set(OFlags::DIRECTORY, how.directory);
        flags.set(OFlags::EXCL, how.exclusive);
        flags.set(OFlags::TRUNC, how.truncate);
        flags.set(OFlags::APPEND, how.append);
        let fd = self.walk(at, path, flags)?;
        self.slots[slot] = Some(Handle { fd, mode: how.mode });
        Ok(Answer::Done)
    }

    fn list(&self, slot: usize) -> Result<Answer, Errno> {
        let handle = self.handle(slot)?;
        let mut names = Vec::new();
        for row in Dir::read_from(&handle.fd).map_err(errno)? {
            match row {
                Ok(row) => names.push((
                    row.file_name().to_str().unwrap().to_owned(),
                    file_type(row.file_type()),
                )),
                Err(Kernel::NOENT) => break,
                Err(error) => return Err(errno(error)),
            }
        }
        if names.is_empty() {
            for name in [".", ".."] {
                names.push((name.to_owned(), FileType::Directory));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Answer::Names(names))
    }

    fn write(&self, slot: usize, offset: Option<u64>, bytes: &[u8]) -> Result<Answer, Errno> {
        let handle = self.handle(slot)?;
        let count = match offset {
            None => rustix::io::write(&handle.fd, bytes),
            Some(offset) => {
                let flags = rustix::fs::fcntl_getfl(&handle.fd).unwrap();
                rustix::fs::fcntl_setfl(&handle.fd, flags - OFlags::APPEND).unwrap();
                let count = rustix::io::pwrite(&handle.fd, bytes, offset);
                rustix::fs::fcntl_setfl(&handle.fd, flags).unwrap();
                count
            }
        };
        Ok(Answer::Count(count.map_err(errno)? as u64))
    }

    fn seek(&self, slot: usize, whence: Whence, by: i64) -> Result<Answer, Errno> {
        let handle = self.handle(slot)?;
        let stat = rustix::fs::fstat(&handle.fd).unwrap();
        if self.seen(&stat).file_type == FileType::Directory {
            return Err(Errno::Badf);
        }
        let position = match whence {
            Whence::Start => match u64::try_from(by) {
                Ok(by) => SeekFrom::Start(by),
                Err(_) => return Err(Errno::Inval),
            },
            Whence::Current => SeekFrom::Current(by),
            Whence::End => SeekFrom::End(by),
        };
        rustix::fs::seek(&handle.fd, position)
            .map(Answer::Count)
            .map_err(errno)
    }
}

fn nanoseconds(seconds: i64, nanoseconds: u64) -> u64 {
    u64::try_from(seconds)
        .unwrap()
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

fn stamp(time: Option<u64>) -> Timespec {
    Timespec {
        tv_sec: time.map_or(0, |time| i64::try_from(time / 1_000_000_000).unwrap()),
        tv_nsec: time.map_or(UTIME_OMIT, |time| {
            i64::try_from(time % 1_000_000_000).unwrap()
        }),
    }
}

fn set_times(
    fd: BorrowedFd<'_>,
    accessed: Option<u64>,
    modified: Option<u64>,
) -> Result<Answer, Errno> {
    let times = Timestamps {
        last_access: stamp(accessed),
        last_modification: stamp(modified),
    };
    rustix::fs::utimensat(fd, "", &times, AtFlags::EMPTY_PATH).map_err(errno)?;
    let stat = rustix::fs::fstat(fd).unwrap();
    Ok(Answer::Times(
        accessed.and(explicit(nanoseconds(
            stat.st_atime,
            stat.st_atime_nsec as u64,
        ))),
        modified.and(explicit(nanoseconds(
            stat.st_mtime,
            stat.st_mtime_nsec as u64,
        ))),
    ))
}

impl Files for Native {
    fn apply(&mut self, operation: &Operation) -> Result<Answer, Errno> {
        let done = |()| Answer::Done;
        match operation {
            Operation::Open(slot, at, path, how) => self.open(*slot, *at, path, *how),
            Operation::Close(slot) => {
                self.slots[*slot].take().ok_or(Errno::Badf)?;
                Ok(Answer::Done)
            }
            Operation::Renumber(from, to) => {
                self.handle(*from)?;
                self.handle(*to)?;
                if from != to {
                    self.slots[*to] = self.slots[*from].take();
                }
                Ok(Answer::Done)
            }
            Operation::Read(slot, offset, length) => {
                let handle = self.handle(*slot)?;
                let mut bytes = vec![0; (*length).min(MUCH)];
                let count = match offset {
                    None => rustix::io::read(&handle.fd, &mut bytes[..]),
                    Some(offset) => rustix::io::pread(&handle.fd, &mut bytes[..], *offset),
                };
                bytes.truncate(count.map_err(errno)?);
                Ok(Answer::Bytes(bytes))
            }
            Operation::Write(slot, offset, bytes) => self.write(*slot, *offset, bytes),
            Operation::Seek(slot, whence, by) => self.seek(*slot, *whence, *by),
            Operation::SetAppend(slot, append) => {
                let handle = self.handle(*slot)?;
                let mut flags = rustix::fs::fcntl_getfl(&handle.fd).unwrap();
                flags.set(OFlags::APPEND, *append);
                rustix::fs::fcntl_setfl(&handle.fd, flags)
                    .map(done)
                    .map_err(errno)
            }
            Operation::SetLen(slot, length) => {
                let handle = self.writable(*slot)?;
                rustix::fs::ftruncate(&handle.fd, *length)
                    .map(done)
                    .map_err(errno)
            }
            Operation::Allocate(slot, offset, length) => {
                let handle = self.writable(*slot)?;
                rustix::fs::fallocate(&handle.fd, FallocateFlags::empty(), *offset, *length)
                    .map(done)
                    .map_err(errno)
            }
            Operation::Stat(slot) => {
                let stat = rustix::fs::fstat(&self.handle(*slot)?.fd).map_err(errno)?;
                Ok(Answer::Seen(self.seen(&stat)))
            }
            Operation::StatPath(at, path, follow) => {
                let fd = self.look(*at, path, *follow)?;
                let stat = rustix::fs::fstat(fd).map_err(errno)?;
                Ok(Answer::Seen(self.seen(&stat)))
            }
            Operation::SetTimes(slot, accessed, modified) => {
                set_times(self.handle(*slot)?.fd.as_fd(), *accessed, *modified)
            }
            Operation::SetTimesPath(at, path, follow, accessed, modified) => {
                let fd = self.look(*at, path, *follow)?;
                set_times(fd.as_fd(), *accessed, *modified)
            }
            Operation::List(slot) => self.list(*slot),
            Operation::CreateDirectory(at, path) => {
                let (folder, name) = self.parent(*at, path)?;
                rustix::fs::mkdirat(folder, name, Permissions::RWXU)
                    .map(done)
                    .map_err(errno)
            }
            Operation::RemoveDirectory(at, path) => {
                let (folder, name) = self.parent(*at, path)?;
                rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
                    .map(done)
                    .map_err(errno)
            }
            Operation::Unlink(at, path) => {
                let (folder, name) = self.parent(*at, path)?;
                rustix::fs::unlinkat(folder, name, AtFlags::empty())
                    .map(done)
                    .map_err(errno)
            }
            Operation::Rename(at, path, new_at, new_path) => {
                self.start(*new_at)?;
                let (folder, name) = self.parent(*at, path)?;
                let (new_folder, new_name) = self.parent(*new_at, new_path)?;
                rustix::fs::renameat(folder, name, new_folder, new_name)
                    .map(done)
                    .map_err(errno)
            }
            Operation::Link(at, path, follow, new_at, new_path) => {
                self.start(*new_at)?;
                let from = self.look(*at, path, *follow)?;
                let (folder, name) = self.parent(*new_at, new_path)?;
                let from = format!("/proc/self/fd/{}", from.as_raw_fd());
                rustix::fs::linkat(CWD, from, folder, name, AtFlags::SYMLINK_FOLLOW)
                    .map(done)
                    .map_err(errno)
            }
            Operation::Symlink(target, at, path) => {
                self.start(*at)?;
                // The kernel takes the target first, then the path.
                if target.is_empty() {
                    return Err(Errno::Noent);
                }
                if target.len() >= 4096 {
                    return Err(Errno::Nametoolong);
                }
                let (folder, name) = self.parent(*at, path)?;
                rustix::fs::symlinkat(target.as_str(), folder, name)
                    .map(done)
                    .map_err(errno)
            }
            Operation::ReadLink(at, path) => {
                let fd = self.look(*at, path, false)?;
                let stat = rustix::fs::fstat(&fd).map_err(errno)?;
                if self.seen(&stat).file_type != FileType::SymbolicLink {
                    return Err(Errno::Inval);
                }
                let target = rustix::fs::readlinkat(fd, "", Vec::new()).map_err(errno)?;
                Ok(Answer::Text(target.into_string().unwrap()))
            }
        }
    }
}
