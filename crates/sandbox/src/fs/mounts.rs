//! What a guest's filesystem is made of, before the guest runs: a description that a
//! filesystem is built from, here or in a worker process.

use std::sync::Arc;

use probity_core::repo::{Directory, File};

use super::content::Content;
use super::filesystem::{Access, Filesystem, MountError};
use super::image::ImageFolder;
use super::node::Device;
use super::quota::Quota;
use super::seals::FileSeals;

/// What is mounted at a path.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Folder(LowerDirectory),
    Empty,
    File(Content),
    Device(Device),
}

/// A folder of a layer.
#[derive(Clone)]
pub(crate) enum LowerDirectory {
    /// Of a tree in this process.
    Tree(Arc<Directory>),
    /// Of a mapped image.
    Image(ImageFolder),
}

impl std::fmt::Debug for LowerDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tree(_) => "LowerDirectory::Tree",
            Self::Image(_) => "LowerDirectory::Image",
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Mount {
    pub(crate) path: String,
    pub(crate) source: Source,
    pub(crate) access: Access,
    pub(crate) seals: Option<FileSeals>,
}

/// The mounts of a guest's filesystem, in the order in which they are placed. The root is
/// a read-only folder; missing parents of a mount are made read-only.
#[derive(Debug, Clone, Default)]
pub struct Mounts {
    rows: Vec<Mount>,
}

/// The devices that programs expect, by the names that they have everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Devices {
    /// None.
    None,
    /// `/dev/null`, `/dev/zero` and `/dev/urandom`.
    Usual,
}

impl Mounts {
    /// No mounts but these devices.
    #[must_use]
    pub fn new(devices: Devices) -> Self {
        let mut mounts = Self::default();
        match devices {
            Devices::None => {}
            Devices::Usual => {
                mounts.device("/dev/null", Device::Null);
                mounts.device("/dev/zero", Device::Zero);
                mounts.device("/dev/urandom", Device::Random);
            }
        }
        mounts
    }

    /// Mounts a folder of a tree at `path` (absolute, canonical). Costs nothing: the guest
    /// sees what it enters. At `/` it becomes the root itself, and has to come first.
    pub fn folder(&mut self, path: &str, folder: &Arc<Directory>, access: Access) {
        let lower = LowerDirectory::Tree(Arc::clone(folder));
        self.add(path, Source::Folder(lower), access);
    }

    /// The same, with files and names that are sealed. Only one mount of a filesystem can
    /// have names that nothing may get.
    pub fn sealed_folder(&mut self, path: &str, folder: &Arc<Directory>, seals: FileSeals) {
        let lower = LowerDirectory::Tree(Arc::clone(folder));
        self.add_sealed(path, Source::Folder(lower), Access::Writable, Some(seals));
    }

    /// Mounts a folder of a mapped image at `path`.
    pub(crate) fn image(&mut self, path: &str, folder: &ImageFolder, access: Access) {
        self.add(
            path,
            Source::Folder(LowerDirectory::Image(folder.clone())),
            access,
        );
    }

    /// Makes an empty folder at `path`.
    pub fn empty(&mut self, path: &str, access: Access) {
        self.add(path, Source::Empty, access);
    }

    /// Puts one file at `path`.
    pub fn file(&mut self, path: &str, content: Content, access: Access) {
        self.add(path, Source::File(content), access);
    }

    /// Puts a read-only file with these bytes at `path`.
    pub fn bytes(&mut self, path: &str, bytes: Vec<u8>) {
        let content = Content::Shared(File::regular(bytes));
        self.add(path, Source::File(content), Access::ReadOnly);
    }

    /// Puts a device at `path`.
    pub fn device(&mut self, path: &str, device: Device) {
        self.add(path, Source::Device(device), Access::ReadOnly);
    }

    pub(crate) fn add(&mut self, path: &str, source: Source, access: Access) {
        self.add_sealed(path, source, access, None);
    }

    pub(crate) fn add_sealed(
        &mut self,
        path: &str,
        source: Source,
        access: Access,
        seals: Option<FileSeals>,
    ) {
        self.rows.push(Mount {
            path: path.to_owned(),
            source,
            access,
            seals,
        });
    }

    pub(crate) fn rows(&self) -> &[Mount] {
        &self.rows
    }

    /// Builds the filesystem. `now` stamps what the layers hold, in nanoseconds since the
    /// Unix epoch.
    ///
    /// # Errors
    /// When a path is not canonical or something is already there.
    pub fn build(&self, quota: Quota, now: u64) -> Result<Filesystem, MountError> {
        let mut fs = Filesystem::new(quota, now);
        for mount in &self.rows {
            let source = mount.source.clone();
            fs.mount(&mount.path, source, mount.access, mount.seals.as_ref())?;
        }
        Ok(fs)
    }
}
