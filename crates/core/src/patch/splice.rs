//! Putting placed texts into a file, and proving that nothing else changed.

use super::{PatchError, PatchErrorKind};

/// How many bytes the changed files of one plan may have together: 256 MiB.
pub(super) const MAX_RESULT_BYTES: usize = 256 << 20;

/// A run of bytes of the original file and what takes its place.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) new: Vec<u8>,
}

/// What is left of [`MAX_RESULT_BYTES`].
pub(super) struct ResultBudget(usize);

impl ResultBudget {
    pub(super) const fn new() -> Self {
        Self(MAX_RESULT_BYTES)
    }

    /// Pays for `bytes` of a changed file, before they are made.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), PatchError> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            PatchError::new(
                PatchErrorKind::Budget,
                "the changed files would have more than 256 MiB together",
            )
            .with_hint("split the patch, or insert less text")
        })?;
        Ok(())
    }
}

/// Replaces `spans`, which are sorted and disjoint, and checks the result.
pub(super) fn splice(original: &[u8], spans: &[Span]) -> Result<Vec<u8>, PatchError> {
    let mut out = Vec::with_capacity(original.len());
    let mut at = 0;
    for span in spans {
        let kept = original.get(at..span.start).ok_or_else(unproved)?;
        out.extend_from_slice(kept);
        out.extend_from_slice(&span.new);
        at = span.end;
    }
    out.extend_from_slice(original.get(at..).ok_or_else(unproved)?);
    prove(original, &out, spans)?;
    Ok(out)
}

/// Checks from both ends of every span that the bytes around it are those of the original.
fn prove(original: &[u8], result: &[u8], spans: &[Span]) -> Result<(), PatchError> {
    let (mut old, mut new) = (original, result);
    for span in spans.iter().rev() {
        let kept = old.get(span.end..).ok_or_else(unproved)?;
        new = new
            .strip_suffix(kept)
            .and_then(|rest| rest.strip_suffix(span.new.as_slice()))
            .ok_or_else(unproved)?;
        old = old.get(..span.start).ok_or_else(unproved)?;
    }
    if old == new { Ok(()) } else { Err(unproved()) }
}

pub(super) fn unproved() -> PatchError {
    PatchError::new(
        PatchErrorKind::Internal,
        "the planned result does not have the shape that was asked for",
    )
    .with_hint("this is a defect of the patch engine; please report the patch")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize, new: &str) -> Span {
        Span {
            start,
            end,
            new: new.into(),
        }
    }

    #[test]
    fn spans_are_replaced_and_the_rest_stays() {
        let spans = [span(0, 1, "xy"), span(2, 2, "+"), span(4, 6, "")];
        assert_eq!(splice(b"abcdefg", &spans).unwrap(), b"xyb+cdg");
        assert_eq!(splice(b"abc", &[]).unwrap(), b"abc");
    }

    #[test]
    fn impossible_spans_are_refused() {
        for spans in [
            vec![span(2, 9, "x")],
            vec![span(2, 3, ""), span(1, 2, "")],
            vec![span(9, 9, "")],
        ] {
            let error = splice(b"abc", &spans).unwrap_err();
            assert_eq!(error.kind, PatchErrorKind::Internal);
        }
    }

    #[test]
    fn a_result_that_changes_other_bytes_is_refused() {
        let spans = [span(1, 2, "X")];
        assert!(prove(b"abc", b"aXc", &spans).is_ok());
        assert!(prove(b"abc", b"aXd", &spans).is_err());
        assert!(prove(b"abc", b"bXc", &spans).is_err());
        assert!(prove(b"abc", b"aXcc", &spans).is_err());
    }
}
