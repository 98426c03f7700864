//! The patch engine in memory: parse, place, prove, commit.
//!
//! Whole processes beside `git apply` are timed by `cargo xtask bench`.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot set up its input may stop"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use probity_core::guard::{Guard, Limits};
use probity_core::patch::{Format, FormatChoice, apply_bytes, render_diff};
use probity_core::quantity::ByteSize;
use probity_core::repo::{File, Repo, RepoPath};

fn guard() -> Guard {
    let limits = Limits {
        max_files: 100_000,
        max_changed_lines: 100_000_000,
        max_patch_bytes: ByteSize::mib(64),
        max_file_bytes: ByteSize::mib(256),
    };
    Guard::new(&["**"], &[], limits).unwrap()
}

fn tree(files: usize) -> Repo {
    let mut repo = Repo::new();
    for n in 0..files {
        let path = format!("d{}/e{}/f{n}.txt", n / 500, n / 20 % 25);
        let text = format!("first {n}\nsecond\nthird\nfourth\nfifth\nsixth\n");
        repo.insert(
            &RepoPath::new(&path).unwrap(),
            File::regular(text.into_bytes()),
        )
        .unwrap();
    }
    repo
}

fn large() -> Repo {
    let mut text = String::with_capacity(52 << 20);
    let mut n = 0_u64;
    while text.len() < 50 << 20 {
        text.push_str(&format!(
            "line {n} of a large file, {:x}\n",
            n.wrapping_mul(0x9e37_79b9)
        ));
        n += 1;
    }
    let mut repo = Repo::new();
    repo.insert(
        &RepoPath::new("large.txt").unwrap(),
        File::regular(text.into_bytes()),
    )
    .unwrap();
    repo
}

fn measure(
    c: &mut Criterion,
    name: &str,
    repo: &Repo,
    format: Format,
    patch: &[u8],
    applies: bool,
) {
    let guard = guard();
    c.bench_function(name, |bencher| {
        bencher.iter(|| {
            let mut repo = repo.clone();
            let choice = FormatChoice::Exactly(format);
            let outcome = apply_bytes(&mut repo, choice, black_box(patch), &guard);
            assert_eq!(outcome.is_ok(), applies, "{outcome:?}");
        });
    });
}

fn benches(c: &mut Criterion) {
    let many = tree(100_000);
    let one = br#"{"edits":[{"path":"d1/e1/f101.txt","old":"third","new":"3rd"}]}"#;
    measure(
        c,
        "one line in 100,000 files",
        &many,
        Format::SearchReplace,
        one,
        true,
    );

    let before = tree(5_000);
    let mut after = before.clone();
    for (path, file) in before.files() {
        let text = String::from_utf8_lossy(file.bytes()).replace("third", "3rd");
        after
            .insert(&path, File::regular(text.into_bytes()))
            .unwrap();
    }
    let diff = render_diff(&before, &after);
    measure(c, "5,000 files", &before, Format::UnifiedDiff, &diff, true);

    let large = large();
    let edit = br#"{"edits":[{"path":"large.txt","old":"line 700000 of","new":"LINE 700000 of"}]}"#;
    measure(
        c,
        "50 MB, one edit",
        &large,
        Format::SearchReplace,
        edit,
        true,
    );
    let mut changed = large.clone();
    let choice = FormatChoice::Exactly(Format::SearchReplace);
    apply_bytes(&mut changed, choice, edit, &guard()).unwrap();
    let diff = render_diff(&large, &changed);
    measure(
        c,
        "50 MB, one hunk",
        &large,
        Format::UnifiedDiff,
        &diff,
        true,
    );
    let miss = br#"{"edits":[{"path":"large.txt","old":"line 700000 off","new":"x"}]}"#;
    measure(
        c,
        "50 MB, an edit that misses",
        &large,
        Format::SearchReplace,
        miss,
        false,
    );
    let diff = String::from_utf8(diff)
        .unwrap()
        .replace("700000", "700000 x");
    measure(
        c,
        "50 MB, a hunk that misses",
        &large,
        Format::UnifiedDiff,
        diff.as_bytes(),
        false,
    );
}

criterion_group! {
    name = patch;
    config = Criterion::default().sample_size(10);
    targets = benches
}
criterion_main!(patch);
