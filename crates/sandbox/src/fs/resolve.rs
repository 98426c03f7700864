//! From a path to a node, never outside the folder that a descriptor grants.
//!
//! Resolution starts at a granted folder and keeps the folders passed on a stack; `..`
//! takes one off and never goes below the start. Links are followed with a bound. A link
//! to an absolute path is followed only where the grant is the root itself, since
//! elsewhere it would leave the grant.

use std::collections::VecDeque;

use super::errno::Errno;
use super::filesystem::Filesystem;
use super::node::{NodeId, NodeKind};

/// Links followed in one resolution before it is refused, as on Linux.
const MAX_LINKS: u32 = 40;
/// Longest path, in bytes.
const MAX_PATH: usize = 4096;
/// Longest name, in bytes.
const MAX_NAME: usize = 255;

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The path means what the link points to.
    Yes,
    /// The path means the link.
    No,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The folder that holds the last name.
    pub(crate) parent: NodeId,
    /// The last name; `None` where the path is the granted folder, `.` or `..`.
    pub(crate) name: Option<String>,
    /// The node, if there is one.
    pub(crate) node: Option<NodeId>,
    /// Whether the path's form says that it must be a folder.
    pub(crate) must_be_directory: bool,
}

impl Filesystem {
    /// Resolves `path` below the granted folder `grant`.
    pub(crate) fn resolve(
        &mut self,
        grant: NodeId,
        path: &str,
        follow: Follow,
    ) -> Result<Resolved, Errno> {
        if path.is_empty() {
            return Err(Errno::Noent);
        }
        if path.len() > MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        if path.contains('\0') {
            return Err(Errno::Inval);
        }
        if path.starts_with('/') {
            return Err(Errno::Notcapable);
        }
        let mut stack = vec![grant];
        let mut links = 0_u32;
        let mut rest: VecDeque<String> = split(path);
        let mut must_be_directory = ends_as_directory(path);
        loop {
            let at = stack.last().copied().unwrap_or(grant);
            let Some(part) = rest.pop_front() else {
                return Ok(Resolved {
                    parent: at,
                    name: None,
                    node: Some(at),
                    must_be_directory: true,
                });
            };
            match part.as_str() {
                "." => {
                    self.directory(at)?;
                    continue;
                }
                ".." => {
                    self.directory(at)?;
                    if stack.len() > 1 {
                        stack.pop();
                    } else if grant != NodeId::ROOT {
                        return Err(Errno::Notcapable);
                    }
                    continue;
                }
                name if name.len() > MAX_NAME => return Err(Errno::Nametoolong),
                _ => {}
            }
            let last = rest.is_empty();
            let child = self.child(at, &part)?;
            let Some(node) = child else {
                if self.node(at).origin.is_some() || at == NodeId::ROOT {
                    self.recorder.missed(at, &part);
                }
                if last {
                    return Ok(Resolved {
                        parent: at,
                        name: Some(part),
                        node: None,
                        must_be_directory,
                    });
                }
                return Err(Errno::Noent);
            };
            let target = match &self.node(node).kind {
                NodeKind::Symlink(target)
                    if !last || follow == Follow::Yes || must_be_directory =>
                {
                    Some(std::sync::Arc::clone(target))
                }
                NodeKind::Symlink(_)
                | NodeKind::Directory(_)
                | NodeKind::File(_)
                | NodeKind::Device(_) => None,
            };
            if let Some(target) = target {
                links = links.saturating_add(1);
                if links > MAX_LINKS {
                    return Err(Errno::Loop);
                }
                self.recorder.read(node);
                if target.starts_with('/') {
                    if grant != NodeId::ROOT {
                        return Err(Errno::Notcapable);
                    }
                    stack = vec![NodeId::ROOT];
                }
                if last {
                    must_be_directory |= ends_as_directory(&target);
                }
                for part in split(&target).into_iter().rev() {
                    rest.push_front(part);
                }
                continue;
            }
            if last {
                return Ok(Resolved {
                    parent: at,
                    name: Some(part),
                    node: Some(node),
                    must_be_directory,
                });
            }
            match &self.node(node).kind {
                NodeKind::Directory(_) => stack.push(node),
                NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => {
                    return Err(Errno::Notdir);
                }
            }
        }
    }

    /// Resolves a path that must exist.
    pub(crate) fn existing(
        &mut self,
        grant: NodeId,
        path: &str,
        follow: Follow,
    ) -> Result<NodeId, Errno> {
        let resolved = self.resolve(grant, path, follow)?;
        let node = resolved.node.ok_or(Errno::Noent)?;
        if resolved.must_be_directory && !matches!(self.node(node).kind, NodeKind::Directory(_)) {
            return Err(Errno::Notdir);
        }
        Ok(node)
    }
}

fn split(path: &str) -> VecDeque<String> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn ends_as_directory(path: &str) -> bool {
    path.ends_with('/')
        || path.ends_with("/.")
        || path == "."
        || path.ends_with("/..")
        || path == ".."
}
