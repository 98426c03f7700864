//! Parts of pages in `docs/` that a chore writes: between two marks.

use std::fs;

use anyhow::{Context as _, Result};

use crate::root;

/// Puts `text` between the marks called `name` of a page.
pub(crate) fn replace(page: &str, name: &str, text: &str) -> Result<()> {
    let path = root().join(page);
    let whole = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->\n"),
    );
    let missing = || format!("{page} has no part called `{name}`");
    let (head, rest) = whole.split_once(&begin).with_context(missing)?;
    let (_, tail) = rest.split_once(&end).with_context(missing)?;
    fs::write(&path, format!("{head}{begin}{text}{end}{tail}"))?;
    Ok(())
}
