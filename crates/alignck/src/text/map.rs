use std::io::{self, Write};

use align_core::units::ByteCount;

use super::INDENT;

/// Cells of a map, within the width of the terminal.
const MOST_CELLS: usize = 100;
const FREE: u8 = b'.';
const CONTAINER: u8 = b'-';

/// A partition on the map, in bytes.
pub(super) struct Stretch {
    pub(super) number: u32,
    pub(super) is_container: bool,
    pub(super) start: u128,
    pub(super) end: u128,
}

/// Draws a disk of `size` bytes to scale: each cell is the partition that holds most of it, a dot where it is free.
pub(super) fn write(out: &mut dyn Write, stretches: &[Stretch], size: u128, width: usize) -> io::Result<()> {
    if size == 0 {
        return Ok(());
    }
    let end = ByteCount::new(size).to_string();
    let frame = INDENT.len() + "0 [] ".len() + end.len();
    let cells = width.saturating_sub(frame).clamp(10, MOST_CELLS);
    writeln!(out, "{INDENT}0 [{}] {end}", String::from_utf8_lossy(&draw(stretches, size, cells)))
}

fn draw(stretches: &[Stretch], size: u128, cells: usize) -> Vec<u8> {
    let mut map = vec![FREE; cells];
    let containers = stretches.iter().filter(|stretch| stretch.is_container);
    let others = stretches.iter().filter(|stretch| !stretch.is_container);
    for stretch in containers.chain(others) {
        let start = stretch.start.min(size);
        let end = stretch.end.clamp(start, size);
        // Rounded, and never less than the cell in which it begins.
        let cell =
            |position: u128| usize::try_from((position * cells as u128 + size / 2) / size).unwrap_or(cells);
        let from = cell(start).min(cells - 1);
        let to = cell(end).clamp(from + 1, cells);
        map[from..to].fill(mark(stretch));
    }
    map
}

/// The last digit of the number tells neighbours apart.
fn mark(stretch: &Stretch) -> u8 {
    if stretch.is_container {
        return CONTAINER;
    }
    b'0' + u8::try_from(stretch.number % 10).expect("a digit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_drawn_to_scale_and_none_is_lost() {
        let stretch = |number, is_container, start, end| Stretch { number, is_container, start, end };
        let stretches = [
            stretch(1, false, 0, 10),
            stretch(2, true, 30, 100),
            stretch(5, false, 40, 41),
            stretch(16, false, 50, 100),
        ];
        assert_eq!(draw(&stretches, 100, 10), b"1..-566666");
    }
}
