//! From an untrusted request to a changed tree, with the guard in front.
//!
//! Guard (size, paths), plan, guard (budgets), commit. Whatever fails, the tree is as it
//! was.

use super::{Format, Patch, PatchError, Plan, detect, parse, plan};
use crate::guard::Guard;
use crate::repo::Repo;

/// In which format a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormatChoice {
    /// Find out; doubt is an error.
    #[default]
    Auto,
    /// This one.
    Exactly(Format),
}

/// Parses `bytes`, within the guard's limit for patches.
///
/// # Errors
/// `budget` when the patch is too large, else as [`detect`] and [`parse`].
pub fn read_patch(format: FormatChoice, bytes: &[u8], guard: &Guard) -> Result<Patch, PatchError> {
    guard.check_size(bytes.len())?;
    let format = match format {
        FormatChoice::Auto => detect(bytes)?,
        FormatChoice::Exactly(format) => format,
    };
    parse(format, bytes)
}

/// Changes `repo` as `patch` asks, if `guard` allows it: all of it or nothing.
///
/// # Errors
/// Why the patch was refused; `repo` is then unchanged.
pub fn apply(repo: &mut Repo, patch: &Patch, guard: &Guard) -> Result<Plan, PatchError> {
    guard.check_request(patch)?;
    let plan = plan(repo, patch)?;
    guard.check_plan(&plan)?;
    plan.commit(repo)?;
    Ok(plan)
}

/// Parses `bytes` and changes `repo` as they ask: [`read_patch`], then [`apply`].
///
/// # Errors
/// Why the patch was refused; `repo` is then unchanged.
pub fn apply_bytes(
    repo: &mut Repo,
    format: FormatChoice,
    bytes: &[u8],
    guard: &Guard,
) -> Result<Plan, PatchError> {
    let patch = read_patch(format, bytes, guard)?;
    apply(repo, &patch, guard)
}
