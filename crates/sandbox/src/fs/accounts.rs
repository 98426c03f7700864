//! What the filesystem thinks is in use, against a count of what is there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::node::NodeKind;
use super::{
    Access, Errno, FileType, Filesystem, Follow, LowerDirectory, NewTimes, NodeId, OpenFlags,
    Quota, Source,
};

impl Filesystem {
    /// Counts everything anew; `Err` says what does not add up. `open` are the nodes that
    /// descriptors hold, each as often as it is held.
    pub(crate) fn check_accounts(&self, open: &[NodeId]) -> Result<(), String> {
        let mut names = vec![0_u32; self.nodes.len()];
        names[NodeId::ROOT.index()] = 1;
        let mut opens = vec![0_u32; self.nodes.len()];
        let mut free = vec![false; self.nodes.len()];
        for node in &self.free {
            if std::mem::replace(&mut free[node.index()], true) {
                return Err(format!("{node:?} is free twice"));
            }
        }
        for node in open {
            opens[node.index()] += 1;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let NodeKind::Directory(directory) = &node.kind else {
                continue;
            };
            if node.links == 0 && !directory.entries.is_empty() {
                return Err(format!("the removed folder {index} has entries"));
            }
            for (name, child) in &directory.entries {
                names[child.index()] += 1;
                if free[child.index()] {
                    return Err(format!("{name} in {index} is free"));
                }
                let is_directory = matches!(self.node(*child).kind, NodeKind::Directory(_));
                if is_directory && self.node(*child).parent.index() != index {
                    return Err(format!("{name} in {index} has another folder above it"));
                }
            }
        }
        let (mut bytes, mut inodes) = (0, 0);
        for (index, node) in self.nodes.iter().enumerate() {
            if (node.links, node.opens) != (names[index], opens[index]) {
                return Err(format!(
                    "node {index} has {} links and {} descriptors, counted {} and {}",
                    node.links, node.opens, names[index], opens[index]
                ));
            }
            match &node.kind {
                NodeKind::File(content) => bytes += content.charged(),
                NodeKind::Symlink(_) if node.own => bytes += node.size(),
                NodeKind::Directory(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => {}
            }
            let held = node.links > 0 || node.opens > 0;
            if free[index] && held {
                return Err(format!("node {index} is held and free"));
            }
            if node.own && !held && !free[index] {
                return Err(format!("node {index} is lost"));
            }
            inodes += u64::from(node.own && !free[index]);
            inodes += u64::from(node.links.saturating_sub(1));
        }
        if (bytes, inodes) != (self.used.bytes, self.used.inodes) {
            return Err(format!(
                "{} bytes and {} inodes in use, counted {bytes} and {inodes}",
                self.used.bytes, self.used.inodes
            ));
        }
        if bytes > self.quota.bytes || inodes > self.quota.inodes {
            return Err(format!("{bytes} bytes and {inodes} inodes are too many"));
        }
        Ok(())
    }
}

const SMALL: Quota = Quota {
    bytes: 100_000,
    inodes: 300,
    depth: 6,
};

/// A path of up to three of few names.
fn path(random: &mut ChaCha8Rng) -> String {
    let length = 1 + random.next_u32() % 3;
    let names = (0..length).map(|_| {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", ".."];
        let at = random.next_u32() as usize % names.len();
        names[at]
    });
    names.collect::<Vec<_>>().join("/")
}

fn one_in(random: &mut ChaCha8Rng, times: u32) -> bool {
    random.next_u32().is_multiple_of(times)
}

/// One random call; what it refuses is no concern here.
fn step(fs: &mut Filesystem, open: &mut Vec<NodeId>, random: &mut ChaCha8Rng) -> Result<(), Errno> {
    let grant = fs.existing(NodeId::ROOT, "g", Follow::No)?;
    let kind = random.next_u32() % 16;
    let (one, other) = (path(random), path(random));
    let place = random.next_u32() as usize % open.len().max(1);
    let held = open.get(place).copied().unwrap_or(grant);
    let size = u64::from(random.next_u32() % 4000);
    match kind {
        0..=2 => {
            let flags = OpenFlags {
                create: !one_in(random, 4),
                directory: one_in(random, 8),
                exclusive: one_in(random, 8),
                truncate: one_in(random, 4),
                write: one_in(random, 2),
            };
            let node = fs.open(grant, &one, Follow::Yes, flags)?;
            open.push(node);
            if open.len() > 20 {
                fs.close(open.swap_remove(0));
            }
        }
        3 if !open.is_empty() => fs.close(open.swap_remove(place)),
        4 | 5 => drop(fs.write_at(held, size, &[1; 200])?),
        6 => fs.set_len(held, size)?,
        7 => fs.allocate(held, size, 100)?,
        8 => fs.make_directory(grant, &one)?,
        9 => fs.remove_directory(grant, &one)?,
        10 => fs.unlink(grant, &one)?,
        11 | 12 => fs.rename((grant, &one), (grant, &other))?,
        13 => fs.hard_link((grant, &one), Follow::No, (grant, &other))?,
        14 => fs.symlink(&other, grant, &one)?,
        _ => {
            fs.set_times(held, NewTimes::default())?;
            if fs.stat(held).file_type == FileType::Directory {
                let most = usize::try_from(SMALL.inodes).unwrap() + 12;
                assert!(
                    fs.list(held)?.len() <= most,
                    "a listing grows without bound"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_million_operations_keep_within_the_quota() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut fs = Filesystem::new(SMALL, 7);
    let repo = super::tests::repo();
    let layer = Source::Folder(LowerDirectory::Tree(Arc::clone(repo.root())));
    fs.mount("/g", layer, Access::Writable, None).unwrap();
    let mut open = Vec::new();
    let (mut done, mut refused) = (0_u32, 0_u32);
    // Nodes of the layer are made once; whatever else is made takes a freed one's place.
    let most = 20 + usize::try_from(SMALL.inodes).unwrap();
    for batch in 0..200 {
        for _ in 0..5000 {
            match step(&mut fs, &mut open, &mut random) {
                Ok(()) => done += 1,
                Err(Errno::Nospc) => refused += 1,
                Err(_) => {}
            }
        }
        if let Err(problem) = fs.check_accounts(&open) {
            panic!("batch {batch}: {problem}");
        }
        assert!(fs.nodes.len() <= most, "{} nodes", fs.nodes.len());
        // Now and then everything goes, so that freed nodes serve again.
        if batch % 10 == 9 {
            for node in open.drain(..) {
                fs.close(node);
            }
            let grant = fs.existing(NodeId::ROOT, "g", Follow::No).unwrap();
            clear(&mut fs, grant);
            fs.check_accounts(&[]).unwrap();
            assert_eq!((fs.used.bytes, fs.used.inodes), (0, 0));
        }
    }
    assert!(done > 100_000, "only {done} calls succeeded");
    assert!(refused > 1000, "the quota was met only {refused} times");
}

/// Removes everything below a folder.
fn clear(fs: &mut Filesystem, folder: NodeId) {
    for (name, node) in fs.list(folder).unwrap().into_iter().skip(2) {
        if fs.stat(node).file_type == FileType::Directory {
            clear(fs, node);
            fs.remove_directory(folder, &name).unwrap();
        } else {
            fs.unlink(folder, &name).unwrap();
        }
    }
}
