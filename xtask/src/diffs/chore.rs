//! The chore itself: fetch, make the diffs, try them, report.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::archive;
use super::catalog::{self, Package};
use super::download::Archives;
use super::features::{self, Feature};
use super::history::History;
use super::plan::{self, Direction, Planned};
use super::tree::Tree;
use super::trial::{Case, Trial};
use crate::{probity, root, say};

/// Which diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    Sample(usize),
}

/// What all diffs came to.
#[derive(Debug, Default)]
struct Tally {
    pairs: BTreeSet<(usize, usize)>,
    forward: usize,
    backward: usize,
    bytes: usize,
    shown: BTreeMap<Feature, usize>,
    must_refuse: usize,
    not_counted: usize,
    disagreements: usize,
}

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let extent = extent(arguments)?;
    let packages = catalog::load(&root().join("tests/release-diffs/releases.json"))?;
    let all = plan::all(&packages);
    let planned = match extent {
        Extent::All => all,
        Extent::Sample(size) => plan::sample(all, &packages, size),
    };
    let probity = probity::build()?;
    let started = Instant::now();
    let archives = Archives::open(crate::cache()?.join("release-diffs"))?;
    let wanted = planned
        .iter()
        .flat_map(|diff| [(diff.package, diff.older), (diff.package, diff.older + 1)])
        .collect();
    let fetched = archives.fetch(&packages, &wanted)?;
    say(&format!(
        "{} releases, {fetched} of them fetched in {:.1} s",
        wanted.len(),
        started.elapsed().as_secs_f64()
    ));
    let started = Instant::now();
    let tally = try_all(&packages, &planned, &archives, probity)?;
    say(&summary(&tally, started.elapsed()));
    let lacking: Vec<&str> = Feature::ALL
        .into_iter()
        .filter(|feature| !tally.shown.contains_key(feature))
        .map(Feature::name)
        .collect();
    if extent == Extent::All && !lacking.is_empty() {
        say(&format!("NO DIFF SHOWS: {}", lacking.join(", ")));
        return Ok(false);
    }
    Ok(tally.disagreements == 0 && tally.forward > 0)
}

fn extent(arguments: &[String]) -> Result<Extent> {
    match arguments {
        [] => Ok(Extent::All),
        [flag, size] if flag == "--sample" => {
            let size = size.parse().ok().filter(|size| *size > 0);
            Ok(Extent::Sample(
                size.context("--sample takes a number above zero")?,
            ))
        }
        _ => bail!("usage: cargo xtask diffs [--sample N]"),
    }
}

/// What trying diffs takes.
struct Bench<'a> {
    archives: &'a Archives,
    trial: Trial,
    scratch: &'a Path,
    progress: ProgressBar,
}

fn try_all(
    packages: &[Package],
    planned: &[Planned],
    archives: &Archives,
    probity: PathBuf,
) -> Result<Tally> {
    let scratch = tempfile::tempdir()?;
    // Hidden where there is no terminal.
    let style = ProgressStyle::with_template("{pos}/{len} diffs [{elapsed}] {wide_msg}")?;
    let bench = Bench {
        archives,
        trial: Trial::prepare(scratch.path(), probity)?,
        scratch: scratch.path(),
        progress: ProgressBar::new(planned.len().try_into()?).with_style(style),
    };
    let mut tally = Tally::default();
    for of_package in planned.chunk_by(|one, next| one.package == next.package) {
        let package = of_package
            .first()
            .and_then(|diff| packages.get(diff.package))
            .context("no such package")?;
        bench.progress.set_message(package.name.clone());
        bench
            .package(package, of_package, &mut tally)
            .with_context(|| format!("package `{}`", package.name))?;
    }
    bench.progress.finish_and_clear();
    Ok(tally)
}

impl Bench<'_> {
    /// Tries the diffs of one package.
    fn package(&self, package: &Package, planned: &[Planned], tally: &mut Tally) -> Result<()> {
        let mut trees: BTreeMap<usize, Tree> = BTreeMap::new();
        for index in planned
            .iter()
            .flat_map(|diff| <[usize; 2]>::from(diff.ends()))
        {
            if let Entry::Vacant(place) = trees.entry(index) {
                let release = package.releases.get(index).context("no such release")?;
                let unpacked = archive::unpack(&self.archives.read(release)?);
                place.insert(unpacked.with_context(|| format!("release {}", release.version))?);
            }
        }
        let folder = self.scratch.join("history");
        let history = History::import(
            folder.clone(),
            trees.iter().map(|(index, tree)| (*index, tree)),
        )?;
        for diff in planned {
            let (from, to) = diff.ends();
            let ends = trees.get(&from).zip(trees.get(&to));
            let (base, target) = ends.context("a release is not unpacked")?;
            self.diff(package, diff, &history, (base, target), tally)?;
            self.progress.inc(1);
        }
        std::fs::remove_dir_all(folder)?;
        Ok(())
    }

    fn diff(
        &self,
        package: &Package,
        planned: &Planned,
        history: &History,
        (base, target): (&Tree, &Tree),
        tally: &mut Tally,
    ) -> Result<()> {
        let (from, to) = planned.ends();
        let version = |index: usize| package.releases.get(index).map_or("?", |r| &r.version);
        let name = format!("{} {} to {}", package.name, version(from), version(to));
        let diff = history.diff(from, to, planned.style)?;
        anyhow::ensure!(!diff.bytes.is_empty(), "{name}: nothing changes");
        let sections = features::sections(&diff).with_context(|| name.clone())?;
        let case = Case {
            diff: &diff.bytes,
            sections: &sections,
            base,
            target,
            turn: tally.diffs(),
        };
        let outcome = self.trial.run(&case).with_context(|| name.clone())?;
        for problem in &outcome.problems {
            let line = format!("{name} ({:?}): {problem}", planned.style);
            self.progress.suspend(|| say(&line));
        }
        tally.pairs.insert((planned.package, planned.older));
        match planned.direction {
            Direction::OldToNew => tally.forward += 1,
            Direction::NewToOld => tally.backward += 1,
        }
        for feature in features::features(&sections) {
            *tally.shown.entry(feature).or_default() += 1;
        }
        tally.bytes += diff.bytes.len();
        tally.must_refuse += outcome.must_refuse;
        tally.not_counted += outcome.not_counted;
        tally.disagreements += usize::from(!outcome.problems.is_empty());
        Ok(())
    }
}

impl Tally {
    const fn diffs(&self) -> usize {
        self.forward + self.backward
    }
}

fn summary(tally: &Tally, elapsed: Duration) -> String {
    let mut lines = vec![format!(
        "{} pairs of releases, {} diffs: {} from old to new, {} of the same pairs back; {:.1} MB",
        tally.pairs.len(),
        tally.diffs(),
        tally.forward,
        tally.backward,
        tally.bytes as f64 / 1e6
    )];
    for (feature, count) in &tally.shown {
        lines.push(format!("  {count:4} diffs show {}", feature.name()));
    }
    lines.push(format!(
        "{} times a diff must not apply because git refuses it; {} times git applies it all the same, not counted",
        tally.must_refuse, tally.not_counted
    ));
    lines.push(format!(
        "{} of {} diffs: Probity does as git does; {} disagreements, {:.1} s",
        tally.diffs() - tally.disagreements,
        tally.diffs(),
        tally.disagreements,
        elapsed.as_secs_f64()
    ));
    lines.join("\n")
}
