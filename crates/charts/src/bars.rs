//! Bar charts: horizontal bars in groups, each followed by its value.

use super::svg::{Svg, series_class, text_width};

const ROW: f64 = 17.0;
const BAR: f64 = 12.0;
const GROUP: f64 = 24.0;
const TOP: f64 = 20.0;
const NAME_MAX: usize = 34;

/// A bar of one or more parts, drawn end to end.
pub struct Bar {
    /// The text in front of the bar.
    pub name: String,
    /// The number of the style, which decides the colour.
    pub style: usize,
    /// Lengths of the parts in the unit of the chart. The first is drawn solid, the second pale and
    /// the third outlined.
    pub parts: Vec<f64>,
    /// The text after the bar.
    pub value: String,
    /// The confidence interval of the length, low and high. None if it is not known.
    pub interval: Option<(f64, f64)>,
}

/// Bars under a common heading.
pub struct Group {
    pub name: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// Draw a bar chart of this width. All groups have the same scale.
pub fn bars(width: f64, title: &str, desc: &str, groups: &[Group]) -> String {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let rows: usize = groups.iter().map(|group| group.bars.len()).sum();
    let height = TOP
        + super::number::real_len(rows) * ROW
        + super::number::real_len(groups.len()) * GROUP
        + 4.0;
    let name_width = all().map(|bar| text_width(&cut(&bar.name))).fold(0.0, f64::max) + 8.0;
    let value_width = all().map(|bar| text_width(&bar.value)).fold(0.0, f64::max) + 8.0;
    let room = width - name_width - value_width;
    let longest = all().map(length).fold(0.0, f64::max);
    let mut svg = Svg::new((width, height), title, desc);
    svg.text("title", (0.0, 13.0), title);
    let mut y = TOP;
    for group in groups {
        svg.text("ink", (0.0, y + 16.0), &group.name);
        y += GROUP;
        for bar in &group.bars {
            draw(&mut svg, bar, (name_width, y), if longest > 0.0 { room / longest } else { 0.0 });
            y += ROW;
        }
    }
    let (start, end) = ((name_width - 0.5, TOP + GROUP - 2.0), (name_width - 0.5, y));
    svg.line("frame", start, end);
    svg.finish()
}

fn draw(svg: &mut Svg, bar: &Bar, (left, y): (f64, f64), scale: f64) {
    svg.text("end", (left - 6.0, y + 10.0), &cut(&bar.name));
    let mut x = left;
    for (part, look) in bar.parts.iter().zip(["bar", "pale", "rest"]) {
        let class = format!("{look} {}", series_class(bar.style));
        if part * scale >= 0.05 {
            svg.rect(&class, (x, y), (part * scale, BAR));
        }
        x += part * scale;
    }
    if let Some((low, high)) = bar.interval {
        let (from, to) = (left + low.max(0.0) * scale, left + high * scale);
        svg.line("interval", (from, y + BAR / 2.0), (to, y + BAR / 2.0));
        for end in [from, to] {
            svg.line("interval", (end, y + 3.0), (end, y + BAR - 3.0));
        }
        x = x.max(to);
    }
    svg.text("ink", (x + 5.0, y + 10.0), &bar.value);
}

fn length(bar: &Bar) -> f64 {
    let high = bar.interval.map_or(0.0, |(_, high)| high);
    bar.parts.iter().sum::<f64>().max(high)
}

/// The name, shortened if it would not leave enough room for the bar.
fn cut(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_MAX - 1).collect();
    kept + "\u{2026}"
}
