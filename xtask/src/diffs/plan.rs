//! Which diffs are made of the releases, and how.
//!
//! Every two consecutive releases give one diff from old to new; every third pair gives one
//! from new to old as well. The ways of making a diff take turns.

use super::catalog::Package;

/// From which release to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    OldToNew,
    NewToOld,
}

/// How git makes a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Renames and copies found, three lines of context.
    Plain,
    /// A rename is a deletion and a creation.
    NoRenames,
    /// One line of context.
    Narrow,
    /// Ten lines of context.
    Wide,
    /// Copies of unchanged files found, too.
    CopiesOfAll,
    /// Another algorithm, and names written as they are instead of quoted.
    HistogramRawNames,
}

/// The styles in turn.
const STYLES: [Style; 6] = [
    Style::Plain,
    Style::NoRenames,
    Style::Narrow,
    Style::Wide,
    Style::CopiesOfAll,
    Style::HistogramRawNames,
];

impl Style {
    /// How `git diff` finds out what changed.
    pub(super) const fn detection(self) -> &'static [&'static str] {
        match self {
            Self::NoRenames => &["--no-renames"],
            Self::CopiesOfAll => &["-M", "-C", "--find-copies-harder"],
            Self::Plain | Self::Narrow | Self::Wide | Self::HistogramRawNames => &["-M", "-C"],
        }
    }

    /// How `git diff` shows it.
    pub(super) const fn presentation(self) -> &'static [&'static str] {
        match self {
            Self::Narrow => &["-U1"],
            Self::Wide => &["-U10"],
            Self::HistogramRawNames => &["--histogram"],
            Self::Plain | Self::NoRenames | Self::CopiesOfAll => &[],
        }
    }

    /// Whether git writes names outside of ASCII in octal, in quotation marks.
    pub(super) const fn quote_path(self) -> &'static str {
        match self {
            Self::HistogramRawNames => "core.quotePath=false",
            Self::Plain | Self::NoRenames | Self::Narrow | Self::Wide | Self::CopiesOfAll => {
                "core.quotePath=true"
            }
        }
    }
}

/// One diff to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Planned {
    /// Index of the package.
    pub(super) package: usize,
    /// Index of the older release in its package; the newer one follows it.
    pub(super) older: usize,
    pub(super) direction: Direction,
    pub(super) style: Style,
}

impl Planned {
    /// Indices of the releases that the diff leads from and to.
    pub(super) const fn ends(&self) -> (usize, usize) {
        let newer = self.older.saturating_add(1);
        match self.direction {
            Direction::OldToNew => (self.older, newer),
            Direction::NewToOld => (newer, self.older),
        }
    }
}

/// All diffs, package by package.
pub(super) fn all(packages: &[Package]) -> Vec<Planned> {
    let pairs = packages.iter().enumerate().flat_map(|(index, package)| {
        (0..package.releases.len().saturating_sub(1)).map(move |older| (index, older))
    });
    let style = |turn: usize| {
        let index = turn.checked_rem(STYLES.len()).unwrap_or(0);
        STYLES.get(index).copied().unwrap_or(Style::Plain)
    };
    let mut planned = Vec::new();
    for (turn, (package, older)) in pairs.enumerate() {
        planned.push(Planned {
            package,
            older,
            direction: Direction::OldToNew,
            style: style(turn),
        });
        if turn.is_multiple_of(3) {
            planned.push(Planned {
                package,
                older,
                direction: Direction::NewToOld,
                style: style(turn.wrapping_div(3)),
            });
        }
    }
    planned
}

/// At most `size` diffs: first those that are part of every sample, then an even spread of
/// the others. Always the same for the same list.
pub(super) fn sample(planned: Vec<Planned>, packages: &[Package], size: usize) -> Vec<Planned> {
    let always = |diff: &Planned| {
        diff.direction == Direction::OldToNew
            && packages.get(diff.package).is_some_and(|package| {
                package
                    .releases
                    .get(diff.older.saturating_add(1))
                    .is_some_and(|newer| package.in_every_sample.contains(&newer.version))
            })
    };
    let (mut chosen, others): (Vec<Planned>, Vec<Planned>) = planned.into_iter().partition(always);
    chosen.truncate(size);
    let room = size.saturating_sub(chosen.len()).min(others.len());
    let spread = (0..room).filter_map(|turn| {
        let index = turn.saturating_mul(others.len()).checked_div(room)?;
        others.get(index).copied()
    });
    chosen.extend(spread);
    chosen.sort_by_key(|diff| (diff.package, diff.older));
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::catalog::{Kind, Release};
    use super::*;

    fn package(versions: &[&str], always: &[&str]) -> Package {
        Package {
            kind: Kind::Crate,
            name: "x".to_owned(),
            releases: versions
                .iter()
                .map(|version| Release {
                    version: (*version).to_owned(),
                    sha256: String::new(),
                })
                .collect(),
            in_every_sample: always.iter().map(|version| (*version).to_owned()).collect(),
        }
    }

    #[test]
    fn every_pair_is_planned_and_every_third_backwards_too() {
        let packages = [
            package(&["1", "2", "3"], &[]),
            package(&["1", "2", "3"], &[]),
        ];
        let planned = all(&packages);
        let forward = |diff: &&Planned| diff.direction == Direction::OldToNew;
        assert_eq!(planned.iter().filter(forward).count(), 4);
        assert_eq!(planned.len(), 6);
        assert_eq!(planned[1].ends(), (1, 0));
    }

    #[test]
    fn a_sample_holds_the_rare_ones_and_spreads() {
        let packages = [
            package(&["1", "2", "3", "4", "5"], &[]),
            package(&["1", "2", "3", "4", "5"], &["4"]),
        ];
        let planned = all(&packages);
        let chosen = sample(planned.clone(), &packages, 4);
        assert_eq!(chosen.len(), 4);
        assert!(
            chosen
                .iter()
                .any(|diff| diff.package == 1 && diff.older == 2)
        );
        assert!(chosen.iter().any(|diff| diff.package == 0));
        assert_eq!(sample(planned.clone(), &packages, 1).len(), 1);
        assert_eq!(sample(planned.clone(), &packages, 999).len(), planned.len());
    }
}
