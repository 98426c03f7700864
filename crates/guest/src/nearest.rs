//! The known name that is closest to a misspelt one, for messages.
//!
//! Plain edit distance over characters. A suggestion is made only when it is close
//! enough to be a likely slip; a wrong suggestion costs more than none.

/// Longest name that is compared; longer input gets no suggestion.
const MAX_LEN: usize = 128;

/// Finds the candidate that `name` is most likely a slip of.
///
/// Returns nothing when no candidate is within a third of the name's length (at least
/// two edits). On a tie the first candidate wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > MAX_LEN {
        return None;
    }
    let allowed = (length / 3).max(2);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_LEN)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, l) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut previous = index.saturating_add(1);
        let mut next = Vec::with_capacity(row.len());
        next.push(previous);
        for (r, above) in right.iter().zip(row.iter().skip(1)) {
            let replace = diagonal.saturating_add(usize::from(l != *r));
            let insert_or_delete = previous.min(*above).saturating_add(1);
            diagonal = *above;
            previous = replace.min(insert_or_delete);
            next.push(previous);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("path", "path"), 0);
        assert_eq!(distance("äöü", "aöü"), 1);
    }

    #[test]
    fn suggests_only_likely_slips() {
        let known = ["file-exists", "file-contains", "line-endings"];
        assert_eq!(nearest("file-exsts", known), Some("file-exists"));
        assert_eq!(nearest("final-newline", known), None);
        assert_eq!(nearest(&"x".repeat(200), known), None);
    }
}
