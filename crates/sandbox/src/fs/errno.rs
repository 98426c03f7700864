//! Error numbers of WASI 0.1 (`errno` in `wasi_snapshot_preview1`).

/// Why a filesystem or host call was refused, by WASI's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[repr(u16)]
pub enum Errno {
    /// Permission denied.
    #[error("permission denied")]
    Acces = 2,
    /// Bad file descriptor.
    #[error("bad file descriptor")]
    Badf = 8,
    /// The resource is busy (a mount point).
    #[error("resource busy")]
    Busy = 10,
    /// The file exists.
    #[error("file exists")]
    Exist = 20,
    /// A pointer of the guest leads outside its memory.
    #[error("bad address")]
    Fault = 21,
    /// The file is too large.
    #[error("file too large")]
    Fbig = 22,
    /// Byte sequence is not UTF-8.
    #[error("illegal byte sequence")]
    Ilseq = 25,
    /// Invalid argument.
    #[error("invalid argument")]
    Inval = 28,
    /// Input or output error.
    #[error("input/output error")]
    Io = 29,
    /// Is a folder.
    #[error("is a directory")]
    Isdir = 31,
    /// Too many levels of symbolic links.
    #[error("too many levels of symbolic links")]
    Loop = 32,
    /// Too many open descriptors.
    #[error("too many open files")]
    Mfile = 33,
    /// Too many hard links.
    #[error("too many links")]
    Mlink = 34,
    /// A name or path is too long.
    #[error("name too long")]
    Nametoolong = 37,
    /// Too many files open in the sandbox.
    #[error("too many files open in system")]
    Nfile = 41,
    /// No such file or folder.
    #[error("no such file or directory")]
    Noent = 44,
    /// The quota of bytes or inodes is used up.
    #[error("no space left")]
    Nospc = 51,
    /// The function is not offered.
    #[error("function not supported")]
    Nosys = 52,
    /// Not a folder.
    #[error("not a directory")]
    Notdir = 54,
    /// The folder is not empty.
    #[error("directory not empty")]
    Notempty = 55,
    /// Not a socket.
    #[error("not a socket")]
    Notsock = 57,
    /// Not supported.
    #[error("not supported")]
    Notsup = 58,
    /// A value is too large for its type.
    #[error("value too large")]
    Overflow = 61,
    /// Operation not permitted.
    #[error("operation not permitted")]
    Perm = 63,
    /// The filesystem is read-only here.
    #[error("read-only file system")]
    Rofs = 69,
    /// Cannot seek here.
    #[error("invalid seek")]
    Spipe = 70,
    /// The path leads outside the folder that the descriptor grants.
    #[error("capabilities insufficient")]
    Notcapable = 76,
}

impl Errno {
    /// WASI's number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }
}
