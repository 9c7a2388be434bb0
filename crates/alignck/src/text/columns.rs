use std::io::{self, Write};

use anstyle::Style;

use super::{HEADING, INDENT};

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    title: &'static str,
    /// Numbers are flushed right.
    right: bool,
    /// Gives way, down to a readable rest, where the table is too wide.
    shrinks: bool,
}

const GAP: &str = "  ";
/// What is left of a column that gives way.
const LEAST: usize = 8;

impl Column {
    pub(super) const fn left(title: &'static str) -> Self {
        Self { title, right: false, shrinks: false }
    }

    pub(super) const fn right(title: &'static str) -> Self {
        Self { title, right: true, shrinks: false }
    }

    pub(super) const fn shrinking(title: &'static str) -> Self {
        Self { title, right: false, shrinks: true }
    }
}

/// Prints rows as a table no wider than `width`, unless the numbers themselves are. `style` is that of a row.
pub(super) fn print(
    out: &mut dyn Write,
    columns: &[Column],
    rows: &[Vec<String>],
    width: usize,
    style: impl Fn(usize) -> Style,
) -> io::Result<()> {
    let widths = widths(columns, rows, width);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    writeln!(out, "{INDENT}{HEADING}{}{HEADING:#}", line(columns, &titles, &widths))?;
    for (index, row) in rows.iter().enumerate() {
        let style = style(index);
        writeln!(out, "{INDENT}{style}{}{style:#}", line(columns, row, &widths))?;
    }
    Ok(())
}

fn widths(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let natural = columns.iter().enumerate().map(|(index, column)| {
        let cells =
            rows.iter().filter_map(|row| row.get(index)).map(|cell| textwrap::core::display_width(cell));
        cells.chain([column.title.len()]).max().unwrap_or(0)
    });
    let mut widths: Vec<usize> = natural.collect();
    let total = INDENT.len() + widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    let mut excess = total.saturating_sub(width);
    // The last gives way first.
    for (cell, _) in widths.iter_mut().zip(columns).rev().filter(|(_, column)| column.shrinks) {
        let spare = cell.saturating_sub(LEAST).min(excess);
        *cell -= spare;
        excess -= spare;
    }
    widths
}

fn line(columns: &[Column], cells: &[String], widths: &[usize]) -> String {
    let padded = columns.iter().zip(cells).zip(widths).map(|((column, cell), width)| {
        let cell = cut(cell, *width);
        let space = " ".repeat(width.saturating_sub(textwrap::core::display_width(&cell)));
        if column.right { space + &cell } else { cell + &space }
    });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

/// The text, or as much of it as fits with `..` at its end.
fn cut(text: &str, width: usize) -> String {
    if textwrap::core::display_width(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        let longer = format!("{short}{letter}");
        if textwrap::core::display_width(&longer) + 2 > width {
            break;
        }
        short = longer;
    }
    short + ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_in_dots_within_their_width() {
        assert_eq!(cut("Linux", 5), "Linux");
        assert_eq!(cut("Microsoft basic data", 12), "Microsoft ..");
        assert_eq!(cut("\u{4e2d}\u{6587}\u{4e2d}\u{6587}", 7), "\u{4e2d}\u{6587}..");
    }
}
