//! Plain tables for a terminal: columns are two spaces apart, and numbers are right-aligned.

/// A row of cells, and whether it is highlighted.
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// The row is the best of its kind.
    pub(super) is_best: bool,
}

/// Number of spaces between two columns.
const GAP: usize = 2;

/// The width of each column.
pub(super) fn widths(headings: &[String], rows: &[Row]) -> Vec<usize> {
    let width = |place: usize| {
        let cells = rows.iter().map(|row| row.cells[place].chars().count());
        cells.chain([headings[place].chars().count()]).max().unwrap_or(0)
    };
    (0..headings.len()).map(width).collect()
}

/// The width of a line with columns of these widths.
pub(super) fn line_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// The table as text. If `has_colour`, the best rows are coloured.
pub(super) fn draw(headings: &[String], rows: &[Row], has_colour: bool) -> String {
    let widths = widths(headings, rows);
    let is_number = |place: usize| {
        let mut cells =
            rows.iter().map(|row| row.cells[place].as_str()).filter(|it| !it.is_empty());
        cells.all(|cell| cell.starts_with(|letter: char| letter.is_ascii_digit() || letter == '>'))
    };
    let right: Vec<bool> = (0..headings.len()).map(is_number).collect();
    let mut text = line(headings, &widths, &right, has_colour.then_some("1"));
    for row in rows {
        let colour = (has_colour && row.is_best).then_some("32");
        text.push_str(&line(&row.cells, &widths, &right, colour));
    }
    text
}

fn line(cells: &[String], widths: &[usize], right: &[bool], colour: Option<&str>) -> String {
    let padded = cells.iter().zip(widths).zip(right).map(|((cell, &width), &is_right)| {
        if is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    let joined = joined.trim_end();
    match colour {
        Some(code) => format!("\x1b[{code}m{joined}\x1b[0m\n"),
        None => format!("{joined}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_the_best_is_painted() {
        let headings = ["stack", "time"].map(str::to_owned);
        let row = |name: &str, time: &str, is_best| Row {
            cells: vec![name.to_owned(), time.to_owned()],
            is_best,
        };
        let rows = [row("a", "11.7 s", true), row("longer", "9 s", false)];
        let plain = draw(&headings, &rows, false);
        assert_eq!(plain, "stack     time\na       11.7 s\nlonger     9 s\n");
        let painted = draw(&headings, &rows, true);
        assert!(painted.contains("\x1b[32ma       11.7 s\x1b[0m"), "{painted}");
        assert_eq!(line_width(&widths(&headings, &rows)), 14);
    }
}
