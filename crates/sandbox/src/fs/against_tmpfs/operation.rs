//! What can be asked of a filesystem, and random sequences of it.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fs::{Errno, FileType};

/// Descriptors that a sequence can hold.
pub(crate) const SLOTS: usize = 4;
/// Times that a sequence sets start here, in nanoseconds; the clocks never show them.
pub(crate) const TIME_ZERO: u64 = 1_000_000_000_000_000_000;
/// They lie this far apart.
pub(crate) const TIME_STEP: u64 = 1_000_000_001;
/// There are so many of them.
const TIMES: u64 = 16;

/// A time that a sequence has set; `None` for what a clock showed.
pub(crate) fn explicit(time: u64) -> Option<u64> {
    let end = TIME_ZERO.saturating_add(TIME_STEP.saturating_mul(TIMES));
    (TIME_ZERO..end).contains(&time).then_some(time)
}

/// Where a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The root: the folder that holds the granted one. Only looked at, never changed.
    Root,
    /// The granted folder.
    Grant,
    /// An open descriptor.
    Slot(usize),
}

/// What an open descriptor may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
    Both,
}

impl Mode {
    pub(crate) fn reads(self) -> bool {
        self != Self::Write
    }

    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) follow: bool,
    pub(crate) create: bool,
    pub(crate) directory: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) append: bool,
    pub(crate) mode: Mode,
}

impl How {
    /// Looks at what is there.
    pub(crate) const LOOK: Self = Self {
        follow: false,
        create: false,
        directory: false,
        exclusive: false,
        truncate: false,
        append: false,
        mode: Mode::Read,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whence {
    Start,
    Current,
    End,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Open(usize, At, String, How),
    Close(usize),
    Renumber(usize, usize),
    /// Without an offset, at the descriptor's.
    Read(usize, Option<u64>, usize),
    Write(usize, Option<u64>, Vec<u8>),
    Seek(usize, Whence, i64),
    SetAppend(usize, bool),
    SetLen(usize, u64),
    Allocate(usize, u64, u64),
    Stat(usize),
    StatPath(At, String, bool),
    /// Accessed and modified.
    SetTimes(usize, Option<u64>, Option<u64>),
    SetTimesPath(At, String, bool, Option<u64>, Option<u64>),
    List(usize),
    CreateDirectory(At, String),
    RemoveDirectory(At, String),
    Unlink(At, String),
    Rename(At, String, At, String),
    Link(At, String, bool, At, String),
    /// The target first.
    Symlink(String, At, String),
    ReadLink(At, String),
}

impl Operation {
    /// The paths that the call names.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            Self::Open(_, _, path, _)
            | Self::StatPath(_, path, _)
            | Self::SetTimesPath(_, path, ..)
            | Self::CreateDirectory(_, path)
            | Self::RemoveDirectory(_, path)
            | Self::Unlink(_, path)
            | Self::ReadLink(_, path)
            | Self::Symlink(_, _, path) => vec![path],
            Self::Rename(_, path, _, new) | Self::Link(_, path, _, _, new) => vec![path, new],
            Self::Close(_)
            | Self::Renumber(..)
            | Self::Read(..)
            | Self::Write(..)
            | Self::Seek(..)
            | Self::SetAppend(..)
            | Self::SetLen(..)
            | Self::Allocate(..)
            | Self::Stat(_)
            | Self::SetTimes(..)
            | Self::List(_) => Vec::new(),
        }
    }

    /// Whether the call is there to change something.
    pub(crate) fn changes(&self) -> bool {
        match self {
            Self::Open(..)
            | Self::Close(_)
            | Self::Renumber(..)
            | Self::Read(..)
            | Self::Seek(..)
            | Self::SetAppend(..)
            | Self::Stat(_)
            | Self::StatPath(..)
            | Self::List(_)
            | Self::ReadLink(..) => false,
            Self::Write(..)
            | Self::SetLen(..)
            | Self::Allocate(..)
            | Self::SetTimes(..)
            | Self::SetTimesPath(..)
            | Self::CreateDirectory(..)
            | Self::RemoveDirectory(..)
            | Self::Unlink(..)
            | Self::Rename(..)
            | Self::Link(..)
            | Self::Symlink(..) => true,
        }
    }
}

/// What a call yields when it succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Bytes(Vec<u8>),
    Count(u64),
    Seen(Seen),
    Names(Vec<(String, FileType)>),
    Text(String),
    /// The times that were set, as `stat` tells them afterwards.
    Times(Option<u64>, Option<u64>),
}

/// What `stat` tells.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) file_type: FileType,
    /// Not of a folder: what its entries occupy is the implementation's own business.
    pub(crate) size: Option<u64>,
    /// Not of a folder: see `native.rs`.
    pub(crate) links: Option<u64>,
    /// The last change of the content, where a sequence has set it.
    pub(crate) modified: Option<u64>,
    /// Descriptors on the same node.
    pub(crate) same: Vec<usize>,
    /// The inode number: only comparable with others of the same subject.
    pub(crate) inode: u64,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        (self.file_type, self.size, self.links) == (other.file_type, other.size, other.links)
            && (self.modified, &self.same) == (other.modified, &other.same)
    }
}

impl Eq for Seen {}

/// Something that sequences can be run on.
pub(crate) trait Files {
    fn apply(&mut self, operation: &Operation) -> Result<Answer, Errno>;
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        40 => select(&["a", "b", "c"][..]).prop_map(str::to_owned),
        6 => select(&["d", "g"][..]).prop_map(str::to_owned),
        2 => select(&["...", " ", "-", ".x", "a\\b", "\n", "\u{e9}"][..]).prop_map(str::to_owned),
        1 => select(&[255_usize, 256][..]).prop_map(|length| "n".repeat(length)),
        1 => Just("\u{e9}".repeat(128)),
    ]
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        14 => name(),
        1 => Just(".".to_owned()),
        3 => Just("..".to_owned()),
    ];
    let first = prop_oneof![20 => name(), 1 => part.clone()];
    let slash = prop_oneof![12 => Just("/"), 1 => Just("//"), 1 => Just("/./")];
    let more = prop_oneof![
        10 => Just(0..1_usize),
        5 => Just(1..2_usize),
        2 => Just(2..5_usize),
    ]
    .prop_flat_map(move |count| vec((slash.clone(), part.clone()), count));
    let end = prop_oneof![
        30 => Just(""),
        3 => Just("/"),
        1 => Just("//"),
        1 => Just("/."),
        1 => Just("/.."),
    ];
    let plain = (first, more, end).prop_map(|(mut text, more, end)| {
        for (slash, part) in more {
            text.push_str(slash);
            text.push_str(&part);
        }
        text + end
    });
    prop_oneof![
        60 => plain.clone(),
        1 => plain.clone().prop_map(|path| format!("/{path}")),
        1 => Just(String::new()),
        // Around the longest path that is taken: 4,095 bytes.
        1 => (4092_usize..4098).prop_map(|length| {
            let mut path = "./".repeat(length / 2 - 1);
            while path.len() < length {
                path.push('a');
            }
            path
        }),
        // A path far longer than any folder is nested.
        1 => (2_usize..60).prop_map(|depth| "a/".repeat(depth) + "b"),
    ]
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => path(),
        2 => path().prop_map(|path| format!("../{path}")),
        1 => path().prop_map(|path| format!("/g/{path}")),
    ]
}

fn at() -> impl Strategy<Value = At> {
    prop_oneof![7 => Just(At::Grant), 4 => (0..SLOTS).prop_map(At::Slot)]
}

/// A place to look at, which may be the root.
fn place() -> impl Strategy<Value = (At, String)> {
    prop_oneof![
        6 => (at(), path()),
        1 => path().prop_map(|path| (At::Root, format!("g/{path}"))),
        1 => path().prop_map(|path| (At::Root, path)),
    ]
}

fn often(weight: u32) -> impl Strategy<Value = bool> {
    prop_oneof![weight => Just(true), 10 - weight => Just(false)]
}

fn how() -> impl Strategy<Value = How> {
    let mode = select(&[Mode::Read, Mode::Write, Mode::Both, Mode::Both][..]);
    (
        often(5),
        often(5),
        often(2),
        often(2),
        often(2),
        often(2),
        mode,
    )
        .prop_map(
            |(follow, create, directory, exclusive, truncate, append, mode)| How {
                follow,
                create,
                directory,
                exclusive,
                truncate,
                append,
                mode,
            },
        )
}

fn open() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..SLOTS, at(), path(), how())
            .prop_map(|(slot, at, path, how)| Operation::Open(slot, at, path, how)),
        4 => (0..SLOTS, at(), path(), any::<bool>(), any::<bool>()).prop_map(
            |(slot, at, path, follow, directory)| {
                Operation::Open(slot, at, path, How { follow, directory, ..How::LOOK })
            }
        ),
    ]
}

fn time() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of((0..TIMES).prop_map(|step| TIME_ZERO + TIME_STEP * step))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    (
        prop_oneof![8 => 0_usize..40, 1 => 4000_usize..9000],
        any::<u8>(),
    )
        .prop_map(|(length, fill)| vec![fill; length])
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..50, 1 => 4000_u64..20_000]
}

fn on_a_slot() -> impl Strategy<Value = Operation> {
    let offset = || proptest::option::of(size());
    let whence = select(&[Whence::Start, Whence::Current, Whence::End][..]);
    prop_oneof![
        1 => (0..SLOTS).prop_map(Operation::Close),
        1 => (0..SLOTS, 0..SLOTS).prop_map(|(from, to)| Operation::Renumber(from, to)),
        3 => (0..SLOTS, offset(), 0_usize..60)
            .prop_map(|(slot, offset, length)| Operation::Read(slot, offset, length)),
        5 => (0..SLOTS, offset(), bytes())
            .prop_map(|(slot, offset, bytes)| Operation::Write(slot, offset, bytes)),
        2 => (0..SLOTS, whence, -30_i64..60)
            .prop_map(|(slot, whence, by)| Operation::Seek(slot, whence, by)),
        1 => (0..SLOTS, any::<bool>()).prop_map(|(slot, append)| Operation::SetAppend(slot, append)),
        2 => (0..SLOTS, size()).prop_map(|(slot, size)| Operation::SetLen(slot, size)),
        1 => (0..SLOTS, size(), size())
            .prop_map(|(slot, offset, length)| Operation::Allocate(slot, offset, length)),
        2 => (0..SLOTS).prop_map(Operation::Stat),
        1 => (0..SLOTS, time(), time())
            .prop_map(|(slot, accessed, modified)| Operation::SetTimes(slot, accessed, modified)),
        3 => (0..SLOTS).prop_map(Operation::List),
    ]
}

fn on_a_path() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (place(), any::<bool>())
            .prop_map(|((at, path), follow)| Operation::StatPath(at, path, follow)),
        1 => (at(), path(), any::<bool>(), time(), time()).prop_map(
            |(at, path, follow, accessed, modified)| {
                Operation::SetTimesPath(at, path, follow, accessed, modified)
            }
        ),
        6 => (at(), path()).prop_map(|(at, path)| Operation::CreateDirectory(at, path)),
        3 => (at(), path()).prop_map(|(at, path)| Operation::RemoveDirectory(at, path)),
        3 => (at(), path()).prop_map(|(at, path)| Operation::Unlink(at, path)),
        6 => (at(), path(), at(), path())
            .prop_map(|(from, path, to, new)| Operation::Rename(from, path, to, new)),
        // A folder around its own tree, and a thing onto itself.
        1 => (path(), path()).prop_map(|(path, below)| {
            let new = format!("{path}/{below}");
            Operation::Rename(At::Grant, path, At::Grant, new)
        }),
        1 => (path(), path()).prop_map(|(path, below)| {
            let old = format!("{path}/{below}");
            Operation::Rename(At::Grant, old, At::Grant, path)
        }),
        1 => path().prop_map(|path| Operation::Rename(At::Grant, path.clone(), At::Grant, path)),
        3 => (at(), path(), any::<bool>(), at(), path())
            .prop_map(|(from, path, follow, to, new)| Operation::Link(from, path, follow, to, new)),
        4 => (target(), at(), path())
            .prop_map(|(target, at, path)| Operation::Symlink(target, at, path)),
        2 => place().prop_map(|(at, path)| Operation::ReadLink(at, path)),
    ]
}

/// A call that most likely succeeds at the start, so that the others find something.
fn first() -> impl Strategy<Value = Operation> {
    const PATHS: &[&str] = &["a", "b", "c", "a/a", "a/b", "b/a", "a/b/c", "a/b/a"];
    let simple = || select(PATHS).prop_map(str::to_owned);
    let create = How {
        create: true,
        mode: Mode::Both,
        ..How::LOOK
    };
    prop_oneof![
        4 => simple().prop_map(|path| Operation::CreateDirectory(At::Grant, path)),
        1 => (simple(), simple())
            .prop_map(|(path, new)| Operation::Link(At::Grant, path, false, At::Grant, new)),
        4 => (0..SLOTS, simple())
            .prop_map(move |(slot, path)| Operation::Open(slot, At::Grant, path, create)),
        2 => (0..SLOTS, simple())
            .prop_map(|(slot, path)| Operation::Open(slot, At::Grant, path, How::LOOK)),
        1 => (target(), simple())
            .prop_map(|(target, path)| Operation::Symlink(target, At::Grant, path)),
        1 => (0..SLOTS, bytes())
            .prop_map(|(slot, bytes)| Operation::Write(slot, None, bytes)),
    ]
}

/// A sequence of calls over few names, so that they meet each other.
pub(super) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    let any = prop_oneof![5 => open(), 10 => on_a_slot(), 12 => on_a_path(), 3 => first()];
    (vec(first(), 0..15), vec(any, 1..45)).prop_map(|(first, more)| {
        // Every descriptor is open at first, on the granted folder.
        let mut all: Vec<Operation> = (0..SLOTS)
            .map(|slot| Operation::Open(slot, At::Grant, ".".to_owned(), How::LOOK))
            .collect();
        all.extend(first);
        all.extend(more);
        all
    })
}
