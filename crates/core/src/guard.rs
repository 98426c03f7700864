//! What a patch may touch, checked before any write.
//!
//! A path has to match an `allow` pattern and no `protect` pattern; `protect` always wins.
//! Patterns are globs in which `*` and `?` stop at `/` and `**` does not. They are matched
//! against whole paths from the repository's root. So that nothing slips past by spelling,
//! a `protect` pattern ignores case and Unicode normalisation, and covers everything
//! below a folder that it names; an `allow` pattern is taken to the letter.
//!
//! Deliberately absent: exceptions to `protect`. Who wants to open a protected path gives
//! the whole list anew.

mod pattern;

pub use pattern::GuardError;

pub(crate) use pattern::Patterns;

use crate::patch::{Patch, PatchError, PatchErrorKind, Plan, ordinal};
use crate::quantity::ByteSize;
use crate::repo::RepoPath;

/// What is allowed by default: everything that is not protected.
pub const DEFAULT_ALLOW: [&str; 1] = ["**"];

/// What is protected by default: what steers continuous integration, hooks, how git reads
/// the tree, and this verifier. `.gitignore` is left open; it hides nothing from a verdict.
pub const DEFAULT_PROTECT: [&str; 29] = [
    "probity.toml",
    "probity.json",
    ".probity/**",
    ".ci/**",
    ".github/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".gitea/**",
    ".forgejo/**",
    ".circleci/**",
    ".buildkite/**",
    ".woodpecker/**",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".drone.yml",
    ".drone.yaml",
    ".travis.yml",
    ".appveyor.yml",
    "appveyor.yml",
    ".azure-pipelines/**",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    ".pre-commit-config.yaml",
    ".husky/**",
    ".githooks/**",
    "**/.gitmodules",
    "**/.gitattributes",
];

/// How large a patch and its result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files created, changed or taken away. Default: 100.
    pub max_files: u64,
    /// Lines added and removed, together. Default: 10,000.
    pub max_changed_lines: u64,
    /// Bytes of the patch. Default: 4 MiB.
    pub max_patch_bytes: ByteSize,
    /// Bytes of each file that the patch writes. Default: 16 MiB.
    pub max_file_bytes: ByteSize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_files: 100,
            max_changed_lines: 10_000,
            max_patch_bytes: ByteSize::mib(4),
            max_file_bytes: ByteSize::mib(16),
        }
    }
}

/// What a patch may touch.
///
/// The default allows [`DEFAULT_ALLOW`], protects [`DEFAULT_PROTECT`] and has the default
/// [`Limits`].
#[derive(Debug, Clone)]
pub struct Guard {
    allow: Patterns,
    protect: Patterns,
    limits: Limits,
}

impl Default for Guard {
    fn default() -> Self {
        // Cannot fail (a test shows it); if it did, nothing would be allowed.
        Self::new(&DEFAULT_ALLOW, &DEFAULT_PROTECT, Limits::default()).unwrap_or_else(|_| Self {
            allow: Patterns::none(),
            protect: Patterns::none(),
            limits: Limits::default(),
        })
    }
}

impl Guard {
    /// Makes a guard. With an empty `allow` every patch is refused; an empty `protect`
    /// protects nothing.
    ///
    /// # Errors
    /// Names the first pattern that is not a relative glob.
    pub fn new<S: AsRef<str>>(
        allow: &[S],
        protect: &[S],
        limits: Limits,
    ) -> Result<Self, GuardError> {
        Ok(Self {
            allow: Patterns::exact(allow)?,
            protect: Patterns::wide(protect)?,
            limits,
        })
    }

    /// The `allow` patterns, as given.
    #[must_use]
    pub fn allow(&self) -> &[String] {
        self.allow.texts()
    }

    /// The `protect` patterns, as given.
    #[must_use]
    pub fn protect(&self) -> &[String] {
        self.protect.texts()
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks one path.
    ///
    /// # Errors
    /// `path_denied`, naming the pattern that protects it.
    pub fn check_path(&self, path: &RepoPath) -> Result<(), PatchError> {
        let denied = |why: String, hint: &str| {
            Err(PatchError::new(
                PatchErrorKind::PathDenied,
                format!("path `{path}` is refused: {why}"),
            )
            .with_path(path)
            .with_hint(hint))
        };
        if let Some(pattern) = self.protect.find(path) {
            return denied(
                format!("it is protected by `{pattern}`"),
                "leave this file out of the patch; only the owner of the guard can open it",
            );
        }
        if self.allow.find(path).is_none() {
            let allowed = match self.allow.texts() {
                [] => "nothing is allowed".to_owned(),
                patterns => format!("only `{}` is allowed", patterns.join("`, `")),
            };
            return denied(allowed, "change only files that match an allowed pattern");
        }
        Ok(())
    }

    /// Checks the size of a patch, before it is parsed.
    ///
    /// # Errors
    /// `budget` when it has more than [`Limits::max_patch_bytes`].
    pub fn check_size(&self, bytes: usize) -> Result<(), PatchError> {
        let limit = self.limits.max_patch_bytes;
        if bytes <= limit.as_usize() {
            return Ok(());
        }
        Err(over(
            format!("the patch has {bytes} bytes, more than `max-patch-bytes` = {limit}"),
            "send smaller patches, or only the changed parts of large files",
        ))
    }

    /// Checks the paths that a patch would write or take away, and the bytes it carries,
    /// before anything is placed.
    ///
    /// # Errors
    /// `path_denied` or `budget`.
    pub fn check_request(&self, patch: &Patch) -> Result<(), PatchError> {
        self.check_size(patch.payload_bytes())?;
        let files = u64::try_from(patch.touched().len()).unwrap_or(u64::MAX);
        self.check_files(files)?;
        for (index, operation) in patch.operations.iter().enumerate() {
            for path in [operation.removed(), operation.written()]
                .into_iter()
                .flatten()
            {
                self.check_path(path)
                    .map_err(|error| error.with_operation(ordinal(index)))?;
            }
        }
        Ok(())
    }

    fn check_files(&self, files: u64) -> Result<(), PatchError> {
        if files <= self.limits.max_files {
            return Ok(());
        }
        Err(over(
            format!(
                "the patch changes {files} files, more than `max-files` = {}",
                self.limits.max_files
            ),
            SMALLER,
        ))
    }

    /// Checks the size of the result, before it is committed.
    ///
    /// # Errors
    /// `budget`, naming the limit; `path_denied` when the plan touches a path that the
    /// request did not name.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), PatchError> {
        let stat = plan.stat();
        let hint = SMALLER;
        self.check_files(stat.files)?;
        if stat.lines_changed() > self.limits.max_changed_lines {
            return Err(over(
                format!(
                    "the patch adds {} and removes {} lines, more than `max-changed-lines` = {}",
                    stat.lines_added, stat.lines_removed, self.limits.max_changed_lines
                ),
                hint,
            ));
        }
        for change in plan.changes() {
            self.check_path(&change.path)?;
            let bytes = change.after.as_ref().map_or(0, |file| file.bytes().len());
            if bytes > self.limits.max_file_bytes.as_usize() {
                return Err(over(
                    format!(
                        "`{}` would have {bytes} bytes, more than `max-file-bytes` = {}",
                        change.path, self.limits.max_file_bytes
                    ),
                    "keep large data out of the patch",
                )
                .with_path(&change.path));
            }
        }
        Ok(())
    }
}

const SMALLER: &str = "make a smaller change, in several patches if need be";

fn over(message: String, hint: &str) -> PatchError {
    PatchError::new(PatchErrorKind::Budget, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow: &[&str], protect: &[&str]) -> Guard {
        Guard::new(allow, protect, Limits::default()).unwrap()
    }

    fn allows(guard: &Guard, path: &str) -> bool {
        guard.check_path(&path.parse().unwrap()).is_ok()
    }

    #[test]
    fn the_default_protects_what_steers_verification() {
        let guard = Guard::default();
        assert_eq!(guard.allow(), DEFAULT_ALLOW);
        assert_eq!(guard.protect(), DEFAULT_PROTECT);
        for path in [
            "probity.toml",
            "Probity.TOML",
            ".github/workflows/ci.yml",
            ".GitHub/workflows/ci.yml",
            "sub/.gitattributes",
            ".gitmodules",
            ".drone.yaml",
            ".ci/run",
        ] {
            assert!(!allows(&guard, path), "{path}");
        }
        for path in ["src/lib.rs", ".gitignore", "docs/probity.toml", ".githubx"] {
            assert!(allows(&guard, path), "{path}");
        }
    }

    #[test]
    fn stars_stop_at_slashes_in_allow() {
        let guard = guard(&["src/*.rs", "docs/**"], &[]);
        assert!(allows(&guard, "src/lib.rs"));
        assert!(!allows(&guard, "src/a/lib.rs"));
        assert!(allows(&guard, "docs/a/b.md"));
        assert!(!allows(&guard, "SRC/lib.rs"));
        assert!(!allows(&guard, "docs"));
    }

    #[test]
    fn protect_wins_and_ignores_spelling() {
        let guard = guard(&["**"], &["tests", "caf\u{e9}/*.py", "*.Lock"]);
        for path in [
            "tests/a/b.py",
            "Tests/x",
            "cafe\u{301}/x.py",
            "CAF\u{c9}/x.py",
            "a.lock",
        ] {
            assert!(!allows(&guard, path), "{path}");
        }
        assert!(allows(&guard, "sub/a.lock"));
    }

    #[test]
    fn an_empty_allow_list_denies_everything() {
        let guard = guard(&[], &[]);
        let error = guard.check_path(&"a".parse().unwrap()).unwrap_err();
        assert_eq!(error.kind, PatchErrorKind::PathDenied);
        assert!(error.message.contains("nothing is allowed"));
    }
}
