//! A tree of 100,000 files: snapshots, one-line patches, digests.

#![allow(clippy::unwrap_used, reason = "a benchmark has nobody to report to")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use probity_core::guard::Guard;
use probity_core::patch::{Format, apply, parse};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};

fn large_tree() -> Repo {
    let mut repo = Repo::new();
    for index in 0..100_000 {
        let path = format!("d{:02}/d{:02}/f{index}.txt", index % 50, index / 50 % 40);
        let path: RepoPath = path.parse().unwrap();
        let text = format!("file {index}\nsecond line\nthird line\n");
        repo.insert(&path, File::regular(text.into_bytes()))
            .unwrap();
    }
    repo
}

fn tree(c: &mut Criterion) {
    let repo = large_tree();
    let patch = br#"{"edits": [{"path": "d07/d03/f157.txt", "old": "second", "new": "2nd"}]}"#;
    let patch = parse(Format::SearchReplace, patch).unwrap();
    let guard = Guard::default();
    c.bench_function("snapshot of 100,000 files", |b| {
        b.iter(|| black_box(repo.snapshot()));
    });
    c.bench_function("one-line edit in 100,000 files", |b| {
        b.iter(|| {
            let mut copy = repo.clone();
            black_box(apply(&mut copy, &patch, &guard).unwrap());
        });
    });
    let _ = repo.digest();
    c.bench_function("digest after a one-line edit in 100,000 files", |b| {
        b.iter(|| {
            let mut copy = repo.clone();
            apply(&mut copy, &patch, &guard).unwrap();
            black_box(copy.digest())
        });
    });
}

criterion_group!(benches, tree);
criterion_main!(benches);
