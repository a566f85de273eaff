//! Heat maps of blocks: reads, programs and erases.
//!
//! Blocks are drawn from left to right, then from top to bottom. The colour of a cell stands for a
//! class of counts. Each class is twice as wide as the previous one: on a linear scale, a few hot
//! blocks would make all others look white. If a chip has more blocks than cells, each cell shows
//! the sum of several blocks.

use std::fmt::Write;

use flysch_charts::Anchor;
use flysch_charts::svg::Svg;

use crate::trace::Tally;

/// Number of cells in a row, and the most rows.
const COLUMN_COUNT: usize = 32;
const ROW_COUNT_MAX: usize = 64;
/// Side length of a cell in pixels.
const CELL: u32 = 10;
const PANEL_TOP: u32 = 66;
const PANEL_LEFT: u32 = 70;
const PANEL_STRIDE: u32 = 380;
const PANEL_WIDTH: u32 = 32 * CELL;
/// The most classes of counts above zero.
const CLASS_COUNT_MAX: u32 = 8;

/// One of the three maps.
struct Panel {
    name: &'static str,
    count: fn(&Tally) -> u64,
    /// Colours of the lowest and the highest class.
    colours: [[u8; 3]; 2],
}

const PANELS: [Panel; 3] = [
    Panel {
        name: "page reads",
        count: |tally| tally.operations.page_reads,
        colours: [[0xc6, 0xdb, 0xef], [0x08, 0x30, 0x6b]],
    },
    Panel {
        name: "page programs",
        count: |tally| tally.operations.page_programs,
        colours: [[0xfd, 0xd0, 0xa2], [0x7f, 0x27, 0x04]],
    },
    Panel {
        name: "block erases",
        count: |tally| tally.operations.block_erases,
        colours: [[0xfc, 0xbb, 0xa1], [0x67, 0x00, 0x0d]],
    },
];

/// The part of the chip that is drawn, and the number of blocks in a cell.
struct Grid {
    first_block: usize,
    blocks_per_cell: usize,
    row_count: usize,
}

/// Draw the counts of each block, from the first block with events to the last.
pub fn blocks(blocks: &[Tally], title: &str) -> String {
    let grid = Grid::new(blocks);
    let height = grid.height() + PANEL_TOP + 120;
    let mut svg = Svg::painted(PANEL_LEFT + 3 * PANEL_STRIDE - 40, height, title);
    let mut left = PANEL_LEFT;
    for panel in &PANELS {
        draw_panel(&mut svg, panel, &grid, blocks, left);
        left += PANEL_STRIDE;
    }
    let note = match grid.blocks_per_cell {
        1 => format!("One cell a block, {COLUMN_COUNT} blocks a row."),
        many => format!("{many} blocks a cell, {} blocks a row.", many * COLUMN_COUNT),
    };
    svg.label((PANEL_LEFT, height - 16), Anchor::Start, &note);
    svg.finish()
}

impl Grid {
    fn new(blocks: &[Tally]) -> Self {
        let is_touched = |tally: &Tally| tally.event_count() > 0;
        let first = blocks.iter().position(is_touched).unwrap_or(0);
        let last = blocks.iter().rposition(is_touched).unwrap_or(0);
        let mut blocks_per_cell = 1;
        let row_count = loop {
            let row = COLUMN_COUNT * blocks_per_cell;
            let row_count = last / row - first / row + 1;
            if row_count <= ROW_COUNT_MAX {
                break row_count;
            }
            blocks_per_cell *= 2;
        };
        let row = COLUMN_COUNT * blocks_per_cell;
        Self { first_block: first / row * row, blocks_per_cell, row_count }
    }

    fn height(&self) -> u32 {
        CELL * pixels(self.row_count)
    }

    /// The sum of each cell, row by row. Cells beyond the end of the chip are missing.
    fn cells(&self, blocks: &[Tally], count: fn(&Tally) -> u64) -> Vec<u64> {
        let cells = blocks[self.first_block..].chunks(self.blocks_per_cell);
        let shown = cells.take(self.row_count * COLUMN_COUNT);
        shown.map(|cell| cell.iter().map(count).sum()).collect()
    }
}

/// Classes of counts. Each is twice as wide as the previous one, or with large counts four times or
/// more, so that there are few classes.
#[derive(Clone, Copy, Debug)]
struct Classes {
    bits: u32,
    class_count: u32,
}

impl Classes {
    fn new(max: u64) -> Self {
        let Some(top_bit) = max.checked_ilog2() else { return Self { bits: 1, class_count: 0 } };
        let bits = (top_bit + 1).div_ceil(CLASS_COUNT_MAX);
        Self { bits, class_count: top_bit / bits + 1 }
    }

    /// The class of a count, numbered from 0. None for a count of zero.
    fn class(self, count: u64) -> Option<u32> {
        count.checked_ilog2().map(|top_bit| top_bit / self.bits)
    }

    fn name(self, class: u32, max: u64) -> String {
        let first = 1_u64 << (class * self.bits);
        let last = first.checked_shl(self.bits).map_or(max, |end| max.min(end.wrapping_sub(1)));
        if first >= last { first.to_string() } else { format!("{first}-{last}") }
    }

    /// The colour of a class, mixed from the two colours of the panel.
    fn colour(self, class: u32, [light, dark]: [[u8; 3]; 2]) -> String {
        let steps = (self.class_count - 1).max(1);
        let mut colour = String::from("#");
        for (light, dark) in light.into_iter().zip(dark) {
            let mixed = (u32::from(light) * (steps - class) + u32::from(dark) * class) / steps;
            write!(colour, "{mixed:02x}").expect("memory takes what is written");
        }
        colour
    }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, grid: &Grid, blocks: &[Tally], left: u32) {
    let cells = grid.cells(blocks, panel.count);
    let max = cells.iter().copied().max().unwrap_or(0);
    let classes = Classes::new(max);
    svg.label((left + PANEL_WIDTH / 2, PANEL_TOP - 12), Anchor::Middle, panel.name);
    svg.painted_rect((left, PANEL_TOP), (PANEL_WIDTH, grid.height()), "#f7f7f7");
    for class in 0..classes.class_count {
        let colour = classes.colour(class, panel.colours);
        svg.painted_path(&cells_of_class(&cells, classes, class, left), &colour);
    }
    svg.frame((left, PANEL_TOP), (PANEL_WIDTH, grid.height()));
    row_labels(svg, grid, left);
    draw_legend(svg, panel, classes, max, (left, PANEL_TOP + grid.height() + 14));
}

fn cells_of_class(cells: &[u64], classes: Classes, class: u32, left: u32) -> String {
    let mut data = String::new();
    for (place, &count) in cells.iter().enumerate() {
        if classes.class(count) == Some(class) {
            let x = left + CELL * pixels(place % COLUMN_COUNT);
            let y = PANEL_TOP + CELL * pixels(place / COLUMN_COUNT);
            write!(data, "M{x} {y}h{CELL}v{CELL}h-{CELL}z").expect("memory takes what is written");
        }
    }
    data
}

fn row_labels(svg: &mut Svg, grid: &Grid, left: u32) {
    svg.label((left - 6, PANEL_TOP - 6), Anchor::End, "block");
    // A label for every row would be too dense to read.
    let stride = grid.row_count.div_ceil(16).max(2);
    for row in (0..grid.row_count).step_by(stride) {
        let block = grid.first_block + row * COLUMN_COUNT * grid.blocks_per_cell;
        let y = PANEL_TOP + CELL * pixels(row) + CELL;
        svg.label((left - 6, y), Anchor::End, &block.to_string());
    }
}

fn draw_legend(svg: &mut Svg, panel: &Panel, classes: Classes, max: u64, place: (u32, u32)) {
    let (left, top) = place;
    let names = (0..classes.class_count)
        .map(|class| (classes.name(class, max), classes.colour(class, panel.colours)));
    let zero = [("0".to_owned(), "#f7f7f7".to_owned())];
    for (number, (name, colour)) in (0..).zip(zero.into_iter().chain(names)) {
        let (x, y) = (left + number % 3 * 104, top + number / 3 * 18);
        svg.painted_rect((x, y), (12, 12), &colour);
        svg.frame((x, y), (12, 12));
        svg.label((x + 18, y + 11), Anchor::Start, &name);
    }
}

fn pixels(count: usize) -> u32 {
    u32::try_from(count).expect("a drawing is small")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_every_count() {
        for max in [1, 2, 3, 255, 256, 1_000_000, u64::MAX] {
            let classes = Classes::new(max);
            assert!((1..=CLASS_COUNT_MAX).contains(&classes.class_count));
            assert_eq!(classes.class(1), Some(0));
            assert_eq!(classes.class(max), Some(classes.class_count - 1));
            assert_eq!(classes.class(0), None);
        }
        let classes = Classes::new(5);
        let names: Vec<String> = (0..3).map(|class| classes.name(class, 5)).collect();
        assert_eq!(names, ["1", "2-3", "4-5"]);
        assert_eq!(Classes::new(1_000_000).name(1, 1_000_000), "8-63");
    }
}
