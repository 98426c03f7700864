//! The filesystem that guests see: in memory, layered, bounded, deterministic.

#[cfg(test)]
mod accounts;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod against_tmpfs;
mod content;
mod errno;
mod filesystem;
mod image;
mod mapping;
mod mounts;
mod node;
mod operations;
mod quota;
mod read_set;
mod resolve;
#[cfg(test)]
mod sealing;
mod seals;
#[cfg(test)]
mod tests;

pub use content::Content;
pub use errno::Errno;
pub use filesystem::{Access, Filesystem, MountError};
pub use mapping::{Mapped, Mapping};
pub use mounts::{Devices, Mounts};
pub use node::{Device, FileType, Stat};
pub use quota::{Quota, QuotaUse};
pub use read_set::ReadSet;
pub use seals::{Attempt, Attempted, FileSeals};

pub(crate) use image::{ImageChild, ImageFolder, write_image};
pub(crate) use mapping::fresh_id;
pub(crate) use mounts::{LowerDirectory, Source};
pub(crate) use node::NodeId;
pub(crate) use node::NodeKind;
pub(crate) use operations::{NewTimes, OpenFlags};
pub(crate) use resolve::Follow;
#[cfg(target_os = "linux")]
pub(crate) use seals::MAX_ATTEMPT_PATH;
#[cfg(any(test, target_os = "linux"))]
pub(crate) use seals::MAX_ATTEMPTS;
