//! Files that are kept between runs, and proof that they are the files that were kept.
//!
//! An entry is two files: the content, and a seal with a keyed hash (BLAKE3) over the entry's
//! name and its bytes. The key is made once and lies outside the folder, so that a folder
//! that was copied from elsewhere, or restored by a build service, proves nothing. Whatever
//! does not match its seal — damaged, cut off, foreign, put in place of another — is as good
//! as absent; its owner makes it again.
//!
//! Hashing hundreds of megabytes at each start would cost more than it is worth, so a seal
//! also notes the file's device, inode, size and times of change. An entry whose notes still
//! hold has not been written to since its bytes were last checked: the time of change of an
//! inode cannot be set. Notes younger than two seconds are not trusted, since a file system's
//! clock may be that coarse. What this does not see is a disk that returns other bytes than
//! were written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of the key.
const KEY: usize = 32;
/// Largest entry, in bytes: what is larger is not ours, and is not even hashed.
const MAX_ENTRY: u64 = 8 << 30;
/// How old a change must be before the notes on it are trusted.
const SETTLED: Duration = Duration::from_secs(2);
/// Bytes of a seal: the hash of the entry, the notes, the hash of the notes.
const SEAL: usize = 32 + NOTES + 32;
/// Bytes of the notes: when they were made, device, inode, size, times of change and
/// modification, each in seconds and nanoseconds where it is a time.
const NOTES: usize = 9 * 8;
/// What the name of a seal ends in.
const SUFFIX: &str = ".seal";

/// Files cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}` of the cache: {reason}", path.display())]
pub struct SealError {
    /// The folder or file.
    pub path: PathBuf,
    /// What is wrong with it, and what to do.
    pub reason: String,
}

impl SealError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self {
            path,
            reason: error.to_string(),
        }
    }
}

/// What proves files to be this user's own: a secret key. Cloning is cheap.
#[derive(Clone)]
pub struct Seals {
    key: Arc<[u8; KEY]>,
}

impl std::fmt::Debug for Seals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is nobody's business.
        f.debug_struct("Seals").finish_non_exhaustive()
    }
}

impl Seals {
    /// Seals with the key in the file `key`, which is made if there is none.
    ///
    /// # Errors
    /// When the key cannot be made, or belongs to or can be read by others.
    pub fn open(key: &Path) -> Result<Self, SealError> {
        Ok(Self {
            key: Arc::new(read_or_make_key(key)?),
        })
    }

    /// The folder of sealed files at `path`. It is made when something is kept in it.
    #[must_use]
    pub fn folder(&self, path: impl Into<PathBuf>) -> SealedFolder {
        SealedFolder {
            path: path.into(),
            seals: self.clone(),
        }
    }
}

/// A folder of files that are proven to be what was kept under their names.
#[derive(Debug, Clone)]
pub struct SealedFolder {
    path: PathBuf,
    seals: Seals,
}

impl SealedFolder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that was kept as `name`, if it is what was kept.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<File> {
        let path = self.path.join(name);
        let file = open_own(&path).ok()?;
        let seal = read_bounded(open_own(&seal_path(&path)).ok()?, SEAL).ok()?;
        let (hash, rest) = seal.split_first_chunk::<32>()?;
        let notes = Notes::of(&file).ok()?;
        if self.notes_hold(name, hash, rest, &notes) {
            return Some(file);
        }
        if file.metadata().ok()?.len() > MAX_ENTRY {
            return None;
        }
        let found = self.hash(name, &file).ok()?;
        if found != blake3::Hash::from_bytes(*hash) {
            return None;
        }
        // Nobody wrote to the file while it was read.
        if Notes::of(&file).ok()?.stamp != notes.stamp {
            return None;
        }
        // Seals are an aid to the next start; this one has its answer.
        let _ = self.write_seal(&path, name, &found, &notes);
        Some(file)
    }

    /// The same as bytes; `None` also if there are more than `most`.
    #[must_use]
    pub fn read(&self, name: &str, most: usize) -> Option<Vec<u8>> {
        let bytes = read_bounded(self.find(name)?, most).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }

    /// Keeps what `content` yields as `name`, in place of what was kept before, and returns
    /// the file that holds it.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn keep(&self, name: &str, content: &mut dyn Read) -> Result<File, SealError> {
        let path = self.path.join(name);
        let fail = || SealError::io(&path);
        private_folder(&self.path).map_err(SealError::io(&self.path))?;
        let mut staged = tempfile::NamedTempFile::new_in(&self.path).map_err(fail())?;
        let hash = self.hash_of(name, content, &mut staged).map_err(fail())?;
        let ours = Notes::of(staged.as_file()).map_err(fail())?;
        drop(staged.persist(&path).map_err(|error| fail()(error.error))?);
        let file = open_own(&path).map_err(fail())?;
        let notes = Notes::of(&file).map_err(fail())?;
        // Another build of the same may have put its file there meanwhile.
        if !notes.is_of_the_file_of(&ours) && self.hash(name, &file).map_err(fail())? != hash {
            return Err(fail()(io::Error::other(
                "another file was put in its place meanwhile; try again",
            )));
        }
        self.write_seal(&path, name, &hash, &notes)
            .map_err(fail())?;
        Ok(file)
    }

    /// The names under which something lies here, sorted, whether or not it proves to be
    /// ours.
    ///
    /// # Errors
    /// When the folder cannot be listed; one that does not exist is empty.
    pub fn names(&self) -> Result<Vec<String>, SealError> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SealError::io(&self.path)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(SealError::io(&self.path))?;
            // Names of ours are ASCII.
            if let Ok(name) = entry.file_name().into_string()
                && !name.ends_with(SUFFIX)
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Takes away what is kept as `name`, if anything is.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), SealError> {
        let path = self.path.join(name);
        for path in [seal_path(&path), path] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SealError::io(&path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn hash(&self, name: &str, file: &File) -> io::Result<blake3::Hash> {
        let mut file = file.try_clone()?;
        io::Seek::rewind(&mut file)?;
        let hash = self.hash_of(name, &mut file, &mut io::sink())?;
        io::Seek::rewind(&mut file)?;
        Ok(hash)
    }

    /// The hash of what `from` yields, which goes to `to`.
    fn hash_of(
        &self,
        name: &str,
        from: &mut dyn Read,
        to: &mut dyn Write,
    ) -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new_keyed(&self.seals.key);
        hasher.update(b"probity sealed file 1\0");
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
        let mut buffer = vec![0_u8; 1 << 20];
        loop {
            let count = from.read(&mut buffer)?;
            match buffer.get(..count) {
                Some([]) | None => break,
                Some(bytes) => {
                    hasher.update(bytes);
                    to.write_all(bytes)?;
                }
            }
        }
        Ok(hasher.finalize())
    }

    fn notes_hash(&self, name: &str, hash: &[u8; 32], notes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.seals.key);
        hasher.update(b"probity notes on a sealed file 1\0");
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
        hasher.update(hash);
        hasher.update(notes);
        hasher.finalize()
    }

    fn notes_hold(&self, name: &str, hash: &[u8; 32], rest: &[u8], now: &Notes) -> bool {
        let Some((noted, mac)) = rest.split_first_chunk::<NOTES>() else {
            return false;
        };
        let Ok(mac) = <[u8; 32]>::try_from(mac) else {
            return false;
        };
        if self.notes_hash(name, hash, noted) != blake3::Hash::from_bytes(mac) {
            return false;
        }
        let noted = Notes::from_bytes(noted);
        noted.stamp == now.stamp && noted.is_settled()
    }

    fn write_seal(
        &self,
        path: &Path,
        name: &str,
        hash: &blake3::Hash,
        notes: &Notes,
    ) -> io::Result<()> {
        let notes = notes.to_bytes();
        let mut seal = Vec::with_capacity(SEAL);
        seal.extend_from_slice(hash.as_bytes());
        seal.extend_from_slice(&notes);
        seal.extend_from_slice(self.notes_hash(name, hash.as_bytes(), &notes).as_bytes());
        write_atomically(&seal_path(path), &seal)
    }
}

fn seal_path(entry: &Path) -> PathBuf {
    let mut name = entry.as_os_str().to_owned();
    name.push(SUFFIX);
    PathBuf::from(name)
}

/// What a file looked like when its bytes were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Notes {
    /// When they were made, in nanoseconds since the Unix epoch.
    made: u64,
    stamp: [u64; 8],
}

impl Notes {
    #[cfg(unix)]
    fn of(file: &File) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let meta = file.metadata()?;
        let nanos = |seconds: i64, nanos: i64| [seconds.cast_unsigned(), nanos.cast_unsigned()];
        let [changed, changed_nanos] = nanos(meta.ctime(), meta.ctime_nsec());
        let [modified, modified_nanos] = nanos(meta.mtime(), meta.mtime_nsec());
        Ok(Self {
            made: nanos_now(),
            stamp: [
                meta.dev(),
                meta.ino(),
                meta.len(),
                changed,
                changed_nanos,
                modified,
                modified_nanos,
                u64::from(meta.uid()),
            ],
        })
    }

    #[cfg(not(unix))]
    fn of(_file: &File) -> io::Result<Self> {
        // Never settled: every load checks the bytes.
        Ok(Self {
            made: 0,
            stamp: [u64::MAX; 8],
        })
    }

    /// Whether both are of one file: device and inode.
    fn is_of_the_file_of(&self, other: &Self) -> bool {
        let ([device, inode, ..], [its_device, its_inode, ..]) = (self.stamp, other.stamp);
        (device, inode) == (its_device, its_inode)
    }

    /// Whether the last change lies far enough before the check that a later one would show.
    fn is_settled(&self) -> bool {
        let [_, _, _, changed, changed_nanos, ..] = self.stamp;
        let changed = u128::from(changed) * 1_000_000_000 + u128::from(changed_nanos);
        changed.saturating_add(SETTLED.as_nanos()) <= u128::from(self.made)
    }

    fn to_bytes(self) -> [u8; NOTES] {
        let mut bytes = [0; NOTES];
        let numbers = std::iter::once(self.made).chain(self.stamp);
        for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; NOTES]) -> Self {
        let mut numbers = bytes
            .chunks_exact(8)
            .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or([0xff; 8])));
        let mut next = || numbers.next().unwrap_or(u64::MAX);
        Self {
            made: next(),
            stamp: std::array::from_fn(|_| next()),
        }
    }
}

fn nanos_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|span| u64::try_from(span.as_nanos()).ok())
        .unwrap_or(0)
}

/// Opens a file that is the user's own and that nobody else may write, following no link and
/// waiting for no writer of a pipe.
fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    check_own(&file)?;
    Ok(file)
}

/// Reads a file that is `size` bytes long; of one that is longer, one byte more.
fn read_bounded(file: File, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    file.take(u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Refuses what is not a plain file of this user that only they may write.
fn check_own(file: &File) -> io::Result<()> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(io::Error::other("others may write to it"));
        }
    }
    Ok(())
}

/// Refuses what others may read: who knows the key can make entries.
fn only_mine(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if file.metadata()?.mode() & 0o077 != 0 {
            return Err(io::Error::other(
                "others may read it; delete it, and everything is made again",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

fn read_or_make_key(path: &Path) -> Result<[u8; KEY], SealError> {
    let refuse = |reason: String| SealError {
        path: path.to_owned(),
        reason,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            refuse(format!(
                "the folder of its key cannot be made ({error}); set PROBITY_STATE to a folder that can be written"
            ))
        })?;
    }
    // Two that start at once must end with one key: it appears whole or not at all, and is
    // never replaced.
    for _ in 0..2 {
        match open_own(path) {
            Ok(file) => {
                only_mine(&file).map_err(|error| refuse(format!("the key cannot be used: {error}")))?;
                let key = read_bounded(file, KEY).map_err(|error| refuse(error.to_string()))?;
                return key.try_into().map_err(|_| {
                    refuse(
                        "the key is not 32 bytes long; delete it, and everything is made again"
                            .to_owned(),
                    )
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_key(path)
                .map_err(|error| {
                    refuse(format!(
                        "the key cannot be made ({error}); set PROBITY_STATE to a folder that can be written"
                    ))
                })?,
            Err(error) => return Err(refuse(format!("the key cannot be used: {error}"))),
        }
    }
    Err(refuse("the key vanishes as it is made".to_owned()))
}

fn make_key(path: &Path) -> io::Result<()> {
    let mut key = [0_u8; KEY];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let mut staged = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    staged.write_all(&key)?;
    // An empty key after a crash would stop everything.
    staged.as_file().sync_all()?;
    match staged.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Writes a file so that readers see the old or the new one, never a part.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes a folder that only its owner can enter.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        if fs::metadata(path)?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("the folder belongs to another user"));
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}
