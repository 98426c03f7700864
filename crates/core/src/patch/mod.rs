//! Untrusted edits: formats, one planner, one commit, rendering as a diff.

mod apply;
mod claims;
mod collision;
mod error;
mod format;
mod line_diff;
mod near_miss;
mod operation;
mod place_edit;
mod place_hunk;
mod place_operation;
mod plan;
mod quoted_name;
mod render;
mod search;
mod splice;
mod text_view;

pub use apply::{FormatChoice, apply, apply_bytes, read_patch};
pub(crate) use error::ordinal;
pub use error::{PatchError, PatchErrorKind};
pub use format::{Format, ParseFormatError, detect, parse};
pub(crate) use line_diff::{DiffBudget, common_lines, split_lines};
pub use operation::{Action, Edit, FileDiff, Hunk, Occurrence, Operation, Origin, Patch, Tail};
pub use plan::{Change, DiffStat, Plan, plan};
pub use render::{render_diff, render_plan};
