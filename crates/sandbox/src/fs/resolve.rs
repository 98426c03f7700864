//! From a path to a node, never outside the folder that a descriptor grants.
//!
//! Resolution starts at a granted folder and goes from folder to folder; `..` leads to the
//! folder above and never above the start. Links are followed with a bound. A link to an
//! absolute path is followed only where the grant is the root itself, since elsewhere it
//! would leave the grant.
//!
//! What a path means follows Linux wherever POSIX leaves a choice: a call that makes,
//! moves or removes a name takes the link of that name, with a slash after it or without.

use std::borrow::Cow;
use std::ops::Range;

use super::errno::Errno;
use super::filesystem::Filesystem;
use super::node::{NodeId, NodeKind};

/// Links followed in one resolution before it is refused, as on Linux.
const MAX_LINKS: u32 = 40;
/// Longest path, in bytes, as on Linux without the NUL at its end.
pub(super) const MAX_PATH: usize = 4095;
/// Fuel for each name of a path, those of followed links included.
const STEP_CHARGE: u64 = 30;
/// Longest name, in bytes.
const MAX_NAME: usize = 255;

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The path means what the link points to.
    Yes,
    /// The path means the link, unless a slash comes after it.
    No,
    /// The path means what the link points to, unless a slash comes after it.
    WithoutSlash,
    /// The path means the name itself.
    Never,
}

/// The end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Last<'a> {
    /// A name.
    Name(Cow<'a, str>),
    /// `.`, or nothing but the root.
    Dot,
    /// `..`.
    DotDot,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved<'a> {
    /// The folder that holds the last name; the folder itself after `.` and `..`.
    pub(crate) parent: NodeId,
    /// How the path ends.
    pub(crate) last: Last<'a>,
    /// The node, if there is one.
    pub(crate) node: Option<NodeId>,
    /// Whether a slash comes after the last name, so that it must be a folder's.
    pub(crate) slash: bool,
}

impl<'a> Resolved<'a> {
    /// The last name; `Err` with `otherwise` after `.` and `..`.
    pub(crate) fn name(self, otherwise: Errno) -> Result<Cow<'a, str>, Errno> {
        match self.last {
            Last::Name(name) => Ok(name),
            Last::Dot | Last::DotDot => Err(otherwise),
        }
    }
}

/// One part of a path.
struct Part {
    name: Range<usize>,
    /// Whether nothing but slashes comes after it.
    last: bool,
}

impl Filesystem {
    /// Resolves `path` below the granted folder `grant`, for a call whose answer depends on
    /// whether there is something.
    pub(crate) fn resolve<'a>(
        &mut self,
        grant: NodeId,
        path: &'a str,
        follow: Follow,
    ) -> Result<Resolved<'a>, Errno> {
        let resolved = self.walk(grant, path, follow)?;
        if let Some(node) = resolved.node {
            self.record_read(node);
        }
        Ok(resolved)
    }

    /// What `path` leads to, links followed, without noting that anybody looked.
    pub(crate) fn find(&mut self, grant: NodeId, path: &str) -> Option<NodeId> {
        self.walk(grant, path, Follow::Yes).ok()?.node
    }

    /// Goes along `path` from the granted folder `grant`.
    fn walk<'a>(
        &mut self,
        grant: NodeId,
        path: &'a str,
        follow: Follow,
    ) -> Result<Resolved<'a>, Errno> {
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
        self.directory(grant)?;
        let mut at = grant;
        let mut links = 0_u32;
        // What is left of the path starts at `done`; following a link puts its target there.
        let mut text = Cow::Borrowed(path);
        let mut done = 0;
        loop {
            self.walked = self.walked.saturating_add(STEP_CHARGE);
            let Some(part) = next_part(&text, done) else {
                return Ok(Resolved::folder(at, Last::Dot));
            };
            let name = text.get(part.name.clone()).unwrap_or_default();
            done = part.name.end;
            match name {
                "." if part.last => return Ok(Resolved::folder(at, Last::Dot)),
                "." => continue,
                ".." => {
                    if at != grant {
                        at = self.node(at).parent;
                    } else if grant != NodeId::ROOT {
                        return Err(Errno::Notcapable);
                    }
                    if part.last {
                        return Ok(Resolved::folder(at, Last::DotDot));
                    }
                    continue;
                }
                name if name.len() > MAX_NAME => return Err(Errno::Nametoolong),
                _ => {}
            }
            let slash = part.last && done < text.len();
            let Some(node) = self.child(at, name)? else {
                if self.node(at).origin.is_some() || at == NodeId::ROOT {
                    let path = self.origin_length(at);
                    self.recorder.missed(at, name, path);
                }
                if !part.last {
                    return Err(Errno::Noent);
                }
                return Ok(Resolved {
                    parent: at,
                    last: Last::Name(cut(text, part.name)),
                    node: None,
                    slash,
                });
            };
            let follows = !part.last
                || match follow {
                    Follow::Yes => true,
                    Follow::No => slash,
                    Follow::WithoutSlash => !slash,
                    Follow::Never => false,
                };
            match &self.node(node).kind {
                NodeKind::Symlink(target) if follows => {
                    if target.is_empty() {
                        return Err(Errno::Noent);
                    }
                    links = links.saturating_add(1);
                    if links > MAX_LINKS {
                        return Err(Errno::Loop);
                    }
                    let rest = text.get(done..).unwrap_or_default();
                    let next = format!("{target}{rest}");
                    let copied = u64::try_from(next.len()).unwrap_or(u64::MAX);
                    self.walked = self.walked.saturating_add(copied / 4);
                    self.record_read(node);
                    if next.starts_with('/') {
                        if grant != NodeId::ROOT {
                            return Err(Errno::Notcapable);
                        }
                        at = NodeId::ROOT;
                    }
                    (text, done) = (Cow::Owned(next), 0);
                }
                _ if part.last => {
                    return Ok(Resolved {
                        parent: at,
                        last: Last::Name(cut(text, part.name)),
                        node: Some(node),
                        slash,
                    });
                }
                NodeKind::Directory(_) => at = node,
                NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => {
                    self.record_read(node);
                    return Err(Errno::Notdir);
                }
            }
        }
    }

    /// Resolves a path that must exist, for a caller that goes on with the node.
    pub(crate) fn existing(
        &mut self,
        grant: NodeId,
        path: &str,
        follow: Follow,
    ) -> Result<NodeId, Errno> {
        let resolved = self.walk(grant, path, follow)?;
        let node = resolved.node.ok_or(Errno::Noent)?;
        if resolved.slash && !matches!(self.node(node).kind, NodeKind::Directory(_)) {
            self.record_read(node);
            return Err(Errno::Notdir);
        }
        Ok(node)
    }
}

impl Resolved<'_> {
    const fn folder(node: NodeId, last: Last<'static>) -> Self {
        Self {
            parent: node,
            last,
            node: Some(node),
            slash: false,
        }
    }
}

/// The part of a path that starts at `from` or after the slashes there.
fn next_part(text: &str, from: usize) -> Option<Part> {
    let bytes = text.as_bytes();
    let slashes = |from: usize| {
        bytes
            .get(from..)
            .and_then(|rest| rest.iter().position(|byte| *byte != b'/'))
            .map(|skipped| from.saturating_add(skipped))
    };
    let start = slashes(from)?;
    let length = bytes
        .get(start..)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'/'));
    let end = length.map_or(bytes.len(), |length| start.saturating_add(length));
    Some(Part {
        name: start..end,
        last: slashes(end).is_none(),
    })
}

/// A piece of a path, borrowed if the path is.
fn cut(text: Cow<'_, str>, range: Range<usize>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(range).unwrap_or_default()),
        Cow::Owned(text) => Cow::Owned(text.get(range).unwrap_or_default().to_owned()),
    }
}
