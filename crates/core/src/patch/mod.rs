//! Untrusted edits: formats, one planner, one commit, rendering as a diff.

mod apply;
mod base85;
mod blob_id;
mod claims;
mod collision;
mod delta;
mod elsewhere;
mod error;
mod format;
mod line_diff;
mod line_ends;
mod near_miss;
mod operation;
mod place_chunk;
mod place_edit;
mod place_hunk;
mod place_insert;
mod place_operation;
mod plan;
mod quoted_name;
mod render;
mod search;
mod splice;
mod text_view;

pub use apply::{FormatChoice, apply, apply_bytes, read_patch};
pub use blob_id::BlobId;
pub use elsewhere::look_elsewhere;
pub(crate) use error::ordinal;
pub use error::{PatchError, PatchErrorKind};
pub use format::{Format, ParseFormatError, check_patch_size, detect, parse};
pub(crate) use line_diff::{DiffBudget, common_lines, split_lines};
pub use near_miss::{Difference, NearMiss};
pub use operation::{
    Action, BinaryData, BinaryDiff, Chunk, Content, Edit, Expected, FileDiff, Hunk, Insert,
    Occurrence, Operation, Origin, Patch, Tail, Unit, Update,
};
pub use plan::{Change, ChangeStatus, DiffStat, Plan, Source, plan};
pub use render::{render_diff, render_plan};
