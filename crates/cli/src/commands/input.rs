//! What several commands read: the repository, the patch, the spec.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use probity_core::guard::Guard;
use probity_core::patch::{
    Format, FormatChoice, Patch, PatchError, PatchErrorKind, check_patch_size, detect, parse,
};
use probity_core::spec::{CheckKind, Spec, TestsFrom};
use probity_core::verify::SpecSource;
use probity_core::{Digest, Repo, RepoPath};
use probity_sandbox::{SpecFiles, TrustedTests};
use probity_worktree::{Ignored, LoadError, Worktree};

use crate::args::{PatchArgs, RepoArgs};
use crate::failure::Failure;
use crate::report::escape;
use crate::ui::Ui;

/// Largest patch read, before the guard's own bound.
const MAX_PATCH: u64 = 256 << 20;
/// Largest file that a spec may name.
const MAX_SPEC_FILE: u64 = 256 << 20;

/// The name under which a repository keeps its spec.
pub(crate) const SPEC_FILE: &str = "probity.toml";

/// Opens the repository's folder.
pub(crate) fn worktree(args: &RepoArgs) -> Result<Worktree, Failure> {
    Worktree::open(&args.repo).map_err(Failure::request)
}

/// Reads the repository and says what was left out.
pub(crate) fn repository(args: &RepoArgs, ui: &Ui) -> Result<Repo, Failure> {
    let worktree = worktree(args)?;
    let spinner = ui.spinner("reading the repository");
    let loaded = worktree
        .load(ignored(args))
        .map_err(|error| unread(error, args))?;
    spinner.finish_and_clear();
    for skipped in &loaded.skipped {
        let path = escape::line(&skipped.path.to_string_lossy());
        ui.note(&format!(
            "warning: `{path}` is left out: {}",
            skipped.reason
        ));
    }
    Ok(loaded.repo)
}

/// What becomes of files that `.gitignore` excludes.
pub(crate) const fn ignored(args: &RepoArgs) -> Ignored {
    if args.no_ignore {
        Ignored::Include
    } else {
        Ignored::LeaveOut
    }
}

/// A repository that cannot be read, with what to do about it.
pub(crate) fn unread(error: LoadError, args: &RepoArgs) -> Failure {
    let hint = match &error {
        LoadError::Interrupted => format!(
            "run `probity apply --recover --repo {}` to bring it to an end",
            args.repo.display()
        ),
        LoadError::TooLarge { .. } | LoadError::TooManyFiles { .. } => {
            "leave large files out with .gitignore".to_owned()
        }
        LoadError::Special { .. } | LoadError::Unsettled { .. } | LoadError::Io { .. } => {
            return Failure::request(error);
        }
    };
    Failure::Request(anyhow!("{error}; {hint}"))
}

/// Reads the patch from a file or, for `-`, from standard input.
pub(crate) fn patch(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_PATCH).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(MAX_PATCH).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read the patch `{}`", path.display()))
        .map_err(Failure::Request)?;
    Ok(bytes)
}

/// The patch that the flags ask for, and its format; `None` if the format is not clear.
pub(crate) type Parsed = (Option<Format>, Result<Patch, PatchError>);

/// Reads a patch within the guard's limit, and adds the conditions that flags state.
pub(crate) fn parsed(bytes: &[u8], args: &PatchArgs, guard: &Guard) -> Result<Parsed, Failure> {
    let choice = format(&args.format)?;
    let bases = bases(&args.bases)?;
    if let Err(error) = guard
        .check_size(bytes.len())
        .and_then(|()| check_patch_size(bytes))
    {
        return Ok((None, Err(error)));
    }
    let format = match choice {
        FormatChoice::Exactly(format) => format,
        FormatChoice::Auto => match detect(bytes) {
            Ok(format) => format,
            Err(error) => return Ok((None, Err(error))),
        },
    };
    let patch = parse(format, bytes).and_then(|patch| with_bases(patch, bases));
    Ok((Some(format), patch))
}

/// Adds conditions; what the patch itself states of the same file has to agree.
fn with_bases(mut patch: Patch, bases: Vec<(RepoPath, Digest)>) -> Result<Patch, PatchError> {
    for (path, digest) in bases {
        let known = patch.bases.insert(path.clone(), digest);
        if known.is_some_and(|known| known != digest) {
            return Err(PatchError::new(
                PatchErrorKind::Stale,
                format!("the patch was made for another `{path}` than `--base` states"),
            )
            .with_path(&path)
            .with_hint("read the file again and make the patch for its present content"));
        }
    }
    Ok(patch)
}

/// `PATH=sha256:HEX`, as given by flags.
fn bases(texts: &[String]) -> Result<Vec<(RepoPath, Digest)>, Failure> {
    let base = |text: &String| {
        let (path, digest) = text
            .rsplit_once('=')
            .ok_or_else(|| anyhow!("`--base {text}` is not `PATH=sha256:HEX`"))?;
        let path = RepoPath::new(path)?;
        let digest: Digest = digest
            .parse()
            .with_context(|| format!("`--base {text}` states no digest"))?;
        Ok((path, digest))
    };
    texts
        .iter()
        .map(base)
        .collect::<anyhow::Result<_>>()
        .map_err(Failure::Request)
}

/// The format that a flag asks for.
fn format(text: &str) -> Result<FormatChoice, Failure> {
    if text == "auto" {
        return Ok(FormatChoice::Auto);
    }
    text.parse()
        .map(FormatChoice::Exactly)
        .map_err(Failure::request)
}

/// A spec with its source and the files that it may name.
pub(crate) struct SpecInput {
    pub(crate) spec: Spec,
    pub(crate) source: SpecSource,
    pub(crate) files: Arc<SpecFiles>,
    /// Where the spec lies, and what it names.
    pub(crate) folder: PathBuf,
}

/// Reads the spec that a flag names, or the repository's own. `None` if there is neither.
/// The files that it names are read by what `reading` makes of the usual way.
///
/// The spec is read from disk and never from the patched tree: a patch cannot change what
/// judges it.
pub(crate) fn spec(
    given: Option<&Path>,
    repo: &Path,
    reading: &dyn Fn(Arc<SpecFiles>) -> Arc<SpecFiles>,
) -> Result<Option<SpecInput>, Failure> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => {
            let own = repo.join(SPEC_FILE);
            if !own.is_file() {
                return Ok(None);
            }
            own
        }
    };
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read the spec `{}`", path.display()))
        .map_err(Failure::Request)?;
    // A spec is named as the request names it, so that a verdict holds no path of this machine.
    let name = match given {
        Some(path) => path.display().to_string(),
        None => SPEC_FILE.to_owned(),
    };
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let files = reading(spec_files(folder.clone()));
    let spec = Spec::parse(&name, &text, &|path| files(path))
        .map_err(|errors| Failure::Request(anyhow!("{errors}")))?;
    Ok(Some(SpecInput {
        spec,
        source: SpecSource::File(name),
        files,
        folder,
    }))
}

/// Reads the folders of trusted tests that the spec names or, for all its suites, the one
/// that a flag names.
pub(crate) fn trusted_tests(
    spec: &mut Spec,
    folder: &Path,
    given: Option<&Path>,
    ui: &Ui,
) -> Result<TrustedTests, Failure> {
    let mut trusted = TrustedTests::new();
    for check in &mut spec.checks {
        let CheckKind::Suite(suite) = &mut check.kind else {
            continue;
        };
        let from = &mut suite.trust.tests_from;
        let path = match (given, &*from) {
            (Some(path), _) => {
                *from = TestsFrom::Given;
                path.to_owned()
            }
            (None, TestsFrom::Folder(name)) => folder.join(name),
            (None, TestsFrom::Base | TestsFrom::Patched | TestsFrom::Given) => continue,
        };
        if !trusted.contains_key(from) {
            let tree = tests_in(&path, ui)
                .with_context(|| format!("cannot read the trusted tests `{}`", path.display()))
                .map_err(Failure::Request)?;
            trusted.insert(from.clone(), tree);
        }
    }
    Ok(trusted)
}

/// A folder of trusted tests, whole: what git ignores counts, too.
fn tests_in(path: &Path, ui: &Ui) -> anyhow::Result<Repo> {
    let loaded = Worktree::open(path)?.load(Ignored::Include)?;
    anyhow::ensure!(
        !loaded.repo.is_empty(),
        "it holds no file; give a folder whose files have the paths that they have in the repository"
    );
    for skipped in &loaded.skipped {
        let path = escape::line(&skipped.path.to_string_lossy());
        ui.note(&format!(
            "warning: `{path}` of the trusted tests is left out: {}",
            skipped.reason
        ));
    }
    Ok(loaded.repo)
}

/// Reads files below the spec's folder.
pub(crate) fn spec_files(folder: PathBuf) -> Arc<SpecFiles> {
    Arc::new(move |path: &str| {
        let path = folder.join(path);
        let file = fs::File::open(&path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(MAX_SPEC_FILE.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_SPEC_FILE {
            return Err("it is larger than 256 MiB".to_owned());
        }
        Ok(bytes)
    })
}
