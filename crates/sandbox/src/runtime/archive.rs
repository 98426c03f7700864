//! Members of the archives that packages come in.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Finds the members `wanted` of the archive at `path`, a zip archive unless it is called
/// `.tgz`, and hands each to `take` with its place in `wanted`, in the archive's order.
///
/// # Errors
/// When the archive cannot be read, or `take` fails. A member that is not there is not
/// handed over.
pub(super) fn members(
    path: &Path,
    wanted: &[&str],
    take: &mut dyn FnMut(usize, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let file = File::open(path)?;
    if path.extension().is_some_and(|extension| extension == "tgz") {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        for entry in archive.entries()? {
            let mut entry = entry?;
            let place = entry
                .path()?
                .to_str()
                .and_then(|name| wanted.iter().position(|wanted| *wanted == name));
            if let Some(place) = place {
                take(place, &mut entry)?;
            }
        }
        return Ok(());
    }
    let mut archive = zip::ZipArchive::new(file)?;
    for (place, name) in wanted.iter().enumerate() {
        match archive.by_name(name) {
            Ok(mut entry) => take(place, &mut entry)?,
            Err(zip::result::ZipError::FileNotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies at most `most` bytes; more are an error.
pub(super) fn copy_bounded(from: &mut dyn Read, to: &mut dyn Write, most: u64) -> io::Result<()> {
    let copied = io::copy(&mut from.take(most.saturating_add(1)), to)?;
    if copied > most {
        return Err(io::Error::other("a member of the archive is too large"));
    }
    Ok(())
}
