//! The types that the interfaces of WASI 0.2 define.

#![allow(
    unsafe_code,
    reason = "the engine's own derive macros write the conversions, which are unsafe traits"
)]
#![allow(
    dead_code,
    reason = "a type has every case that its interface defines, whether or not it is used here"
)]

use wasmtime::component::{ComponentType, Lift, Lower, Resource, flags};

use super::handles::IoError;
use crate::fs::{Errno, FileType, Stat};

const NANOSECONDS: u64 = 1_000_000_000;

/// `wasi:clocks/wall-clock.datetime`: a time since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Datetime {
    pub(super) seconds: u64,
    pub(super) nanoseconds: u32,
}

impl Datetime {
    pub(super) fn from_nanoseconds(time: u64) -> Self {
        Self {
            seconds: time / NANOSECONDS,
            nanoseconds: u32::try_from(time % NANOSECONDS).unwrap_or(0),
        }
    }

    /// The time in nanoseconds, if it is one and there is a number for it.
    pub(super) fn nanoseconds(self) -> Result<u64, Errno> {
        if u64::from(self.nanoseconds) >= NANOSECONDS {
            return Err(Errno::Inval);
        }
        self.seconds
            .checked_mul(NANOSECONDS)
            .and_then(|time| time.checked_add(u64::from(self.nanoseconds)))
            .ok_or(Errno::Overflow)
    }
}

/// `wasi:io/streams.stream-error`.
#[derive(Debug, ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

/// `wasi:filesystem/types.descriptor-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub(super) enum DescriptorType {
    #[component(name = "unknown")]
    Unknown,
    #[component(name = "block-device")]
    BlockDevice,
    #[component(name = "character-device")]
    CharacterDevice,
    #[component(name = "directory")]
    Directory,
    #[component(name = "fifo")]
    Fifo,
    #[component(name = "symbolic-link")]
    SymbolicLink,
    #[component(name = "regular-file")]
    RegularFile,
    #[component(name = "socket")]
    Socket,
}

impl From<FileType> for DescriptorType {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::RegularFile,
            FileType::SymbolicLink => Self::SymbolicLink,
        }
    }
}

flags! {
    DescriptorFlags {
        #[component(name = "read")]
        const READ;
        #[component(name = "write")]
        const WRITE;
        #[component(name = "file-integrity-sync")]
        const FILE_INTEGRITY_SYNC;
        #[component(name = "data-integrity-sync")]
        const DATA_INTEGRITY_SYNC;
        #[component(name = "requested-write-sync")]
        const REQUESTED_WRITE_SYNC;
        #[component(name = "mutate-directory")]
        const MUTATE_DIRECTORY;
    }
}

flags! {
    PathFlags {
        #[component(name = "symlink-follow")]
        const SYMLINK_FOLLOW;
    }
}

flags! {
    OpenFlags {
        #[component(name = "create")]
        const CREATE;
        #[component(name = "directory")]
        const DIRECTORY;
        #[component(name = "exclusive")]
        const EXCLUSIVE;
        #[component(name = "truncate")]
        const TRUNCATE;
    }
}

/// `wasi:filesystem/types.descriptor-stat`.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct DescriptorStat {
    #[component(name = "type")]
    pub(super) descriptor_type: DescriptorType,
    #[component(name = "link-count")]
    pub(super) link_count: u64,
    pub(super) size: u64,
    #[component(name = "data-access-timestamp")]
    pub(super) accessed: Option<Datetime>,
    #[component(name = "data-modification-timestamp")]
    pub(super) modified: Option<Datetime>,
    #[component(name = "status-change-timestamp")]
    pub(super) changed: Option<Datetime>,
}

impl From<Stat> for DescriptorStat {
    fn from(stat: Stat) -> Self {
        let time = |time| Some(Datetime::from_nanoseconds(time));
        Self {
            descriptor_type: stat.file_type.into(),
            link_count: stat.links,
            size: stat.size,
            accessed: time(stat.accessed),
            modified: time(stat.modified),
            changed: time(stat.changed),
        }
    }
}

/// `wasi:filesystem/types.new-timestamp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum NewTimestamp {
    #[component(name = "no-change")]
    NoChange,
    #[component(name = "now")]
    Now,
    #[component(name = "timestamp")]
    Timestamp(Datetime),
}

/// `wasi:filesystem/types.directory-entry`.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct DirectoryEntry {
    #[component(name = "type")]
    pub(super) descriptor_type: DescriptorType,
    pub(super) name: String,
}

/// `wasi:filesystem/types.advice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub(super) enum Advice {
    #[component(name = "normal")]
    Normal,
    #[component(name = "sequential")]
    Sequential,
    #[component(name = "random")]
    Random,
    #[component(name = "will-need")]
    WillNeed,
    #[component(name = "dont-need")]
    DontNeed,
    #[component(name = "no-reuse")]
    NoReuse,
}

/// `wasi:filesystem/types.metadata-hash-value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct MetadataHash {
    pub(super) lower: u64,
    pub(super) upper: u64,
}

/// `wasi:filesystem/types.error-code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub(super) enum ErrorCode {
    #[component(name = "access")]
    Access,
    #[component(name = "would-block")]
    WouldBlock,
    #[component(name = "already")]
    Already,
    #[component(name = "bad-descriptor")]
    BadDescriptor,
    #[component(name = "busy")]
    Busy,
    #[component(name = "deadlock")]
    Deadlock,
    #[component(name = "quota")]
    Quota,
    #[component(name = "exist")]
    Exist,
    #[component(name = "file-too-large")]
    FileTooLarge,
    #[component(name = "illegal-byte-sequence")]
    IllegalByteSequence,
    #[component(name = "in-progress")]
    InProgress,
    #[component(name = "interrupted")]
    Interrupted,
    #[component(name = "invalid")]
    Invalid,
    #[component(name = "io")]
    Io,
    #[component(name = "is-directory")]
    IsDirectory,
    #[component(name = "loop")]
    Loop,
    #[component(name = "too-many-links")]
    TooManyLinks,
    #[component(name = "message-size")]
    MessageSize,
    #[component(name = "name-too-long")]
    NameTooLong,
    #[component(name = "no-device")]
    NoDevice,
    #[component(name = "no-entry")]
    NoEntry,
    #[component(name = "no-lock")]
    NoLock,
    #[component(name = "insufficient-memory")]
    InsufficientMemory,
    #[component(name = "insufficient-space")]
    InsufficientSpace,
    #[component(name = "not-directory")]
    NotDirectory,
    #[component(name = "not-empty")]
    NotEmpty,
    #[component(name = "not-recoverable")]
    NotRecoverable,
    #[component(name = "unsupported")]
    Unsupported,
    #[component(name = "no-tty")]
    NoTty,
    #[component(name = "no-such-device")]
    NoSuchDevice,
    #[component(name = "overflow")]
    Overflow,
    #[component(name = "not-permitted")]
    NotPermitted,
    #[component(name = "pipe")]
    Pipe,
    #[component(name = "read-only")]
    ReadOnly,
    #[component(name = "invalid-seek")]
    InvalidSeek,
    #[component(name = "text-file-busy")]
    TextFileBusy,
    #[component(name = "cross-device")]
    CrossDevice,
}

impl From<Errno> for ErrorCode {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::Acces => Self::Access,
            Errno::Badf => Self::BadDescriptor,
            Errno::Busy => Self::Busy,
            Errno::Exist => Self::Exist,
            Errno::Fbig => Self::FileTooLarge,
            Errno::Ilseq => Self::IllegalByteSequence,
            Errno::Inval | Errno::Fault => Self::Invalid,
            Errno::Io => Self::Io,
            Errno::Isdir => Self::IsDirectory,
            Errno::Loop => Self::Loop,
            // WASI 0.2 has no code of its own for too many open files.
            Errno::Mfile | Errno::Nfile => Self::Quota,
            Errno::Mlink => Self::TooManyLinks,
            Errno::Nametoolong => Self::NameTooLong,
            Errno::Noent => Self::NoEntry,
            Errno::Nospc => Self::InsufficientSpace,
            Errno::Nosys | Errno::Notsup | Errno::Notsock => Self::Unsupported,
            Errno::Notdir => Self::NotDirectory,
            Errno::Notempty => Self::NotEmpty,
            Errno::Overflow => Self::Overflow,
            Errno::Perm | Errno::Notcapable => Self::NotPermitted,
            Errno::Rofs => Self::ReadOnly,
            Errno::Spipe => Self::InvalidSeek,
        }
    }
}
