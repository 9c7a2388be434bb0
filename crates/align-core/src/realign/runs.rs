use std::ops::Range;

/// Ranges in their order, those that touch as one.
pub(super) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut runs: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match runs.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => runs.push(range),
        }
    }
    runs
}

/// A range in parts that are not longer than `most` bytes.
pub(super) fn pieces(range: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let piece = at..range.end.min(at.saturating_add(most.max(1)));
        at = piece.end;
        (piece.start < piece.end).then_some(piece)
    })
}

/// How many bytes it has, as far as memory can hold them.
pub(super) fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_runs_and_runs_become_pieces() {
        assert_eq!(merged(vec![7..9, 0..3, 5..5, 3..4, 8..12, 8..9]), [0..4, 7..12]);
        assert_eq!(pieces(3..10, 4).collect::<Vec<_>>(), [3..7, 7..10]);
        assert_eq!(pieces(3..3, 4).count(), 0);
        assert_eq!(pieces(u64::MAX - 1..u64::MAX, 4).count(), 1);
    }
}
