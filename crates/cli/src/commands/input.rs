//! What several commands read: the repository, the patch, the spec.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use probity_core::guard::Guard;
use probity_core::patch::{Format, FormatChoice, Patch, PatchError, detect, parse};
use probity_core::spec::Spec;
use probity_core::verify::SpecSource;
use probity_sandbox::SpecFiles;

use crate::args::RepoArgs;
use crate::failure::Failure;
use crate::report::escape;
use crate::tree::{Loaded, load};
use crate::ui::Ui;

/// Largest patch read, before the guard's own bound.
const MAX_PATCH: u64 = 256 << 20;
/// Largest file that a spec may name.
const MAX_SPEC_FILE: u64 = 256 << 20;

/// The name under which a repository keeps its spec.
pub(crate) const SPEC_FILE: &str = "probity.toml";

/// Reads the repository and says what was left out.
pub(crate) fn repository(args: &RepoArgs, ui: &Ui) -> Result<Loaded, Failure> {
    let spinner = ui.spinner("reading the repository");
    let loaded = load(&args.repo, args.no_ignore).map_err(Failure::Request)?;
    spinner.finish_and_clear();
    for (path, reason) in &loaded.skipped {
        let path = escape::line(&path.to_string_lossy());
        ui.note(&format!("warning: `{path}` is left out: {reason}"));
    }
    Ok(loaded)
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

/// The format that a flag asks for.
pub(crate) fn format(text: &str) -> Result<FormatChoice, Failure> {
    if text == "auto" {
        return Ok(FormatChoice::Auto);
    }
    text.parse()
        .map(FormatChoice::Exactly)
        .map_err(Failure::request)
}

/// Reads a patch, with the format that it turned out to have.
pub(crate) fn parsed(
    choice: FormatChoice,
    bytes: &[u8],
    guard: &Guard,
) -> Result<(Format, Patch), PatchError> {
    guard.check_size(bytes.len())?;
    let format = match choice {
        FormatChoice::Exactly(format) => format,
        FormatChoice::Auto => detect(bytes)?,
    };
    Ok((format, parse(format, bytes)?))
}

/// A spec with its source and the files that it may name.
pub(crate) struct SpecInput {
    pub(crate) spec: Spec,
    pub(crate) source: SpecSource,
    pub(crate) files: Arc<SpecFiles>,
}

/// Reads the spec that a flag names, or the repository's own. `None` if there is neither.
///
/// The spec is read from disk and never from the patched tree: a patch cannot change what
/// judges it.
pub(crate) fn spec(given: Option<&Path>, repo: &Path) -> Result<Option<SpecInput>, Failure> {
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
    let files = spec_files(folder);
    let spec = Spec::parse(&name, &text, &|path| files(path))
        .map_err(|errors| Failure::Request(anyhow!("{errors}")))?;
    Ok(Some(SpecInput {
        spec,
        source: SpecSource::File(name),
        files,
    }))
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
