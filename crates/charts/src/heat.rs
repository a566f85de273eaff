//! Heat maps: one cell for each block. The greater its number, the darker the cell.

use super::number::{real, real_len, thousands};
use super::svg::{Svg, step};

/// Number of shades for values greater than zero.
const SHADES: u64 = 6;
/// The most cells. If there are more blocks, a cell shows several of them.
const CELLS_MAX: usize = 4096;
const TOP: f64 = 36.0;

/// Draw a map of one number for each block, from left to right and from top to bottom. Zero has a
/// shade of its own.
pub fn heat(width: f64, title: &str, what: &str, values: &[u64]) -> String {
    let blocks_per_cell = values.len().div_ceil(CELLS_MAX).max(1);
    let cells: Vec<u64> = values
        .chunks(blocks_per_cell)
        .map(|blocks| blocks.iter().copied().max().unwrap_or(0))
        .collect();
    let columns = columns(cells.len());
    let pitch = (width / real_len(columns)).min(24.0);
    let rows = cells.len().div_ceil(columns);
    let map_height = pitch * real_len(rows);
    let desc = format!("{what} of each block of the partition");
    let mut svg = Svg::new((width, TOP + map_height + 34.0), title, &desc);
    svg.text("title", (0.0, 13.0), title);
    svg.text("", (0.0, 28.0), what);
    let max = cells.iter().copied().max().unwrap_or(0);
    for shade in 0..=SHADES {
        let commands = runs(&cells, columns, pitch, |value| shade_of(value, max) == shade);
        if !commands.is_empty() {
            svg.path(&format!("h{shade}"), &commands);
        }
    }
    if pitch > 4.0 {
        gaps(&mut svg, columns, rows, pitch);
    }
    key(&mut svg, max, (width, TOP + map_height + 8.0));
    if blocks_per_cell > 1 {
        let note = format!("greatest of {blocks_per_cell} blocks");
        svg.text("end", (width, 28.0), &note);
    }
    svg.finish()
}

/// Number of cells in a row. The map is wide, and its last row is full if possible.
fn columns(cells: usize) -> usize {
    let wanted = (cells * 2).isqrt().max(1);
    let fits = (wanted..=wanted + wanted / 2).find(|columns| cells.is_multiple_of(*columns));
    fits.unwrap_or(wanted).max(8).min(cells.max(1))
}

/// The shade of a value: 0 for zero, the last one for the greatest value.
fn shade_of(value: u64, max: u64) -> u64 {
    if value == 0 { 0 } else { (value * SHADES).div_ceil(max) }
}

/// Outlines of the cells for which `belongs` is true. Neighbours in a row are joined.
fn runs(cells: &[u64], columns: usize, pitch: f64, belongs: impl Fn(u64) -> bool) -> String {
    let mut commands = String::new();
    for (row, values) in cells.chunks(columns).enumerate() {
        let mut column = 0;
        while column < values.len() {
            let len = values[column..].iter().take_while(|value| belongs(**value)).count();
            if len > 0 {
                let at = (real_len(column) * pitch, TOP + real_len(row) * pitch);
                commands.push_str(&step('M', at));
                let run = real_len(len) * pitch;
                commands.push_str(&format!("h{run:.1}v{pitch:.1}h-{run:.1}z"));
            }
            column += len.max(1);
        }
    }
    commands
}

/// Draw the gaps between cells.
fn gaps(svg: &mut Svg, columns: usize, rows: usize, pitch: f64) {
    let (right, floor) = (real_len(columns) * pitch, TOP + real_len(rows) * pitch);
    let mut commands = String::new();
    for column in 0..=columns {
        commands.push_str(&step('M', (real_len(column) * pitch, TOP)));
        commands.push_str(&format!("V{floor:.1}"));
    }
    for row in 0..=rows {
        commands.push_str(&step('M', (0.0, TOP + real_len(row) * pitch)));
        commands.push_str(&format!("H{right:.1}"));
    }
    svg.path("gap", &commands);
}

/// Draw a legend of the shades.
fn key(svg: &mut Svg, max: u64, (width, y): (f64, f64)) {
    let is_used = |shade: &u64| *shade == 0 || low_of(*shade, max) <= *shade * max / SHADES;
    let used: Vec<u64> = (0..=SHADES).filter(is_used).collect();
    let pitch = width / real(SHADES + 1);
    for (place, &shade) in used.iter().enumerate() {
        let x = real_len(place) * pitch;
        svg.rect(&format!("h{shade}"), (x, y), (pitch - 2.0, 8.0));
        svg.text("", (x, y + 20.0), &range(shade, max));
    }
}

/// The least value that has this shade.
fn low_of(shade: u64, max: u64) -> u64 {
    (shade - 1) * max / SHADES + 1
}

/// The range of values that have this shade, as text.
fn range(shade: u64, max: u64) -> String {
    if shade == 0 {
        return "0".to_owned();
    }
    let (low, high) = (low_of(shade, max), shade * max / SHADES);
    let low_text = thousands(low);
    if low == high { low_text } else { format!("{low_text}\u{2013}{}", thousands(high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_range_of_its_shade() {
        for max in [1, 2, 5, 6, 7, 64, 1000] {
            for value in 1..=max {
                let shade = shade_of(value, max);
                let (low, high) = (low_of(shade, max), shade * max / SHADES);
                assert!((low..=high).contains(&value), "{value} of {max}");
            }
            assert_eq!(shade_of(max, max), SHADES);
        }
        assert_eq!(shade_of(0, 0), 0);
    }

    #[test]
    fn rows_are_full_where_they_can_be() {
        assert_eq!(columns(400), 40);
        assert_eq!(columns(1), 1);
        assert_eq!(columns(0), 1);
        assert_eq!(columns(4096), 128);
    }
}
