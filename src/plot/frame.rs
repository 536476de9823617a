//! Title, axes and coordinates of a plot.

use std::ops::RangeInclusive;

use super::canvas::{Anchor, Canvas, Spot, WIDTH, decimal, number, shortened, text_width};

/// Maximum number of characters in a line of the title, and in a line of the subtitle.
const TITLE: usize = 46;
const LINE: usize = 68;

/// Space around the plot area.
#[derive(Debug, Clone, Copy)]
pub struct Borders {
    /// Space above the y axis name.
    pub top: i32,
    /// Space between the y axis name and the plot area.
    pub above: i32,
    /// Space to the left; `None` makes it as wide as the tick labels need.
    pub left: Option<i32>,
    pub right: i32,
}

impl Borders {
    /// The borders of a plot whose title ends at `top`.
    pub fn below(top: i32) -> Self {
        Self { top, above: 0, left: None, right: 180 }
    }
}

/// How values are mapped to positions on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances represent equal differences.
    Linear,
    /// Equal distances represent equal ratios. Values must be above 0.
    Logarithmic,
}

#[derive(Debug, Clone)]
pub struct Axis {
    /// The name shown in the plot, including the unit of measurement, if any.
    name: String,
    scale: Scale,
    /// On a linear scale, positions are multiplied by this to get values; 0 hides the axis.
    unit: f64,
    /// The lowest and highest position on the axis.
    from: f64,
    to: f64,
    /// Whether all values are whole numbers. If so, ticks are whole numbers too.
    whole: bool,
}

impl Axis {
    /// Creates an axis that covers these values. Values that are not finite are ignored.
    pub fn of(name: &str, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let places: Vec<f64> = values
            .map(|value| if scale == Scale::Logarithmic { value.log10() } else { value })
            .filter(|value| value.is_finite())
            .collect();
        let largest = places.iter().fold(0.0, |largest: f64, place| largest.max(place.abs()));
        let unit =
            if scale == Scale::Linear && largest > 0.0 { 10f64.powf(largest.log10().floor()) } else { 1.0 };
        let unit = if unit.is_normal() { unit } else { 1.0 };
        let fold = |start: f64, pick: fn(f64, f64) -> f64| places.iter().map(|p| p / unit).fold(start, pick);
        let (from, to) = (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max));
        let (from, to) = if from <= to { (from, to) } else { (0.0, 1.0) };
        // A single value is placed in the middle of the axis.
        let wide = (to - from).max(from.abs().max(to.abs()) * 1e-6);
        let pad = if to - from < wide || wide == 0.0 { 0.5 } else { 0.05 * wide };
        let whole = scale == Scale::Linear && places.iter().all(|place| place.fract() == 0.0);
        Self { name: name.to_owned(), scale, unit, from: from - pad, to: to + pad, whole }
    }

    /// Creates an axis that covers `values`, and `others` as far as `values` still fill at least a third of the axis.
    pub fn around(name: &str, values: &[f64], others: impl Iterator<Item = f64>) -> Self {
        let fold = |start: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
        let (low, high) = (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max));
        let room = match high - low {
            room if room > 0.0 => room,
            _ if high == 0.0 => f64::INFINITY,
            _ => high.abs(),
        };
        let others = others.map(|other| other.max(low - room).min(high + room));
        Self::of(name, Scale::Linear, values.iter().copied().chain(others))
    }

    /// Makes the axis start at 0, unless a value is below 0.
    pub fn starting_at_zero(mut self) -> Self {
        if self.from > 0.0 || (self.from < 0.0 && self.from > -0.06 * self.to) {
            self.from = 0.0;
        }
        self
    }

    /// Creates an axis for `count` rows, without labels. Row 0 is at the bottom.
    pub fn rows(count: usize) -> Self {
        let empty = Self::of("", Scale::Linear, std::iter::empty());
        Self { unit: 0.0, from: 0.0, to: count.max(1) as f64, ..empty }
    }

    fn is_hidden(&self) -> bool {
        self.unit == 0.0
    }

    fn position(&self, value: f64) -> f64 {
        let position = match self.scale {
            _ if self.is_hidden() => value,
            Scale::Linear => value / self.unit,
            Scale::Logarithmic => value.log10(),
        };
        position.max(self.from).min(self.to)
    }

    fn label(&self, position: f64, decimals: Option<usize>) -> String {
        match (self.scale, decimals) {
            (Scale::Logarithmic, _) => number(10f64.powf((position * 1e9).round() / 1e9)),
            (Scale::Linear, Some(decimals)) => decimal(position * self.unit, decimals),
            (Scale::Linear, None) => number((position * 1e9).round() / 1e9 * self.unit),
        }
    }

    /// The smallest number of decimals that shows the ticks exactly; `None` if scientific notation is shorter.
    fn decimals(&self, ticks: &[f64]) -> Option<usize> {
        let [first, second, ..] = ticks else { return None };
        let exact = |decimals: &usize| {
            let power = 10f64.powi(*decimals as i32) * self.unit;
            let apart = (second - first) * power > 0.999;
            apart && ticks.iter().all(|tick| (tick * power - (tick * power).round()).abs() < 1e-6)
        };
        let largest = self.from.abs().max(self.to.abs()) * self.unit;
        (0..9).find(exact).filter(|decimals| largest < 1e6 && (*decimals < 5 || largest > 1e-3))
    }

    /// Returns as many labeled ticks as fit on an axis of this length.
    fn ticks(&self, length: i32) -> Ticks {
        let ticks = |most: usize| {
            let positions = round_positions(self.from, self.to, most);
            let decimals = self.decimals(&positions);
            let labels: Vec<String> = positions.iter().map(|at| self.label(*at, decimals)).collect();
            let widest = labels.iter().map(|label| text_width(label)).max().unwrap_or(0);
            let fits = (widest + 150).saturating_mul(positions.len() as i32) <= length;
            let is_round = match self.scale {
                Scale::Linear => !self.whole || decimals.is_none_or(|decimals| decimals == 0),
                // Ticks at whole powers of ten are easier to read than ticks in between.
                Scale::Logarithmic => positions.iter().all(|tick| tick.fract() == 0.0) && positions.len() > 1,
            };
            (Ticks { labels: positions.into_iter().zip(labels).collect(), widest }, fits, is_round)
        };
        let most = if self.is_hidden() { 0 } else { 6 };
        let mut fitting: Vec<_> =
            (if self.whole { 1 } else { 3 }..=most).rev().map(ticks).filter(|(_, fits, _)| *fits).collect();
        let best = fitting.iter().position(|(.., is_round)| *is_round).unwrap_or(0);
        if fitting.is_empty() { ticks(most.min(2)).0 } else { fitting.swap_remove(best).0 }
    }
}

/// The ticks of an axis.
struct Ticks {
    /// The position and the label of each tick.
    labels: Vec<(f64, String)>,
    /// Width of the widest label.
    widest: i32,
}

/// Returns at most `most` positions between `from` and `to`: the multiples of a step, which is 1, 2 or 5 times a power
/// of ten.
fn round_positions(from: f64, to: f64, most: usize) -> Vec<f64> {
    let largest = 10f64.powi((to - from).log10().floor() as i32 + 1);
    let steps = (0..60).map(|number| largest / 10f64.powi(number / 3) / [1.0, 2.0, 5.0][number as usize % 3]);
    let multiples = |step: f64| (from / step).ceil() as i64..=(to / step).floor() as i64;
    let step = steps.take_while(|step| multiples(*step).count() <= most).last();
    step.map_or_else(Vec::new, |step| multiples(step).map(|multiple| multiple as f64 * step).collect())
}

/// The plot area, bounded by the axes.
pub struct Plane<'a> {
    pub canvas: &'a Canvas,
    axes: [Axis; 2],
    /// The lower left and the upper right corner.
    pub corners: [Spot; 2],
}

impl<'a> Plane<'a> {
    /// Draws the axes inside the borders. Hidden axes ([`Axis::rows`]) get no labels.
    pub fn new(canvas: &'a Canvas, borders: &Borders, x: Axis, y: Axis) -> Self {
        let y_ticks = y.ticks(i32::MAX);
        let left = borders.left.unwrap_or(y_ticks.widest + 160);
        let x_ticks = x.ticks(WIDTH - left - borders.right);
        let low = canvas.height - if x.is_hidden() { 60 } else { 440 };
        let high = borders.top + borders.above + if y.name.is_empty() { 0 } else { 240 };
        let right = WIDTH - borders.right;
        let plane = Self { canvas, axes: [x, y], corners: [(left, low), (right, high)] };
        let [x, y] = &plane.axes;
        let of_x = |at: f64| plane.spot(at, y.from).0;
        let of_y = |at: f64| plane.spot(x.from, at).1;
        // 1. Grid lines for one of the axes.
        if y.is_hidden() {
            let grid = x_ticks.labels.iter().map(|(at, _)| of_x(*at));
            grid.for_each(|x| canvas.line((x, low), (x, high), "grid"));
        } else {
            let grid = y_ticks.labels.iter().map(|(at, _)| of_y(*at));
            grid.for_each(|y| canvas.line((left, y), (right, y), "grid"));
        }
        // 2. The axes, with ticks and labels.
        canvas.line((left, low), (right, low), "axis");
        for (at, label) in &x_ticks.labels {
            let x = of_x(*at);
            canvas.text((x, low + 150), Anchor::Middle, "m", label, usize::MAX);
            canvas.line((x, low), (x, low + 30), "axis");
        }
        if !y.is_hidden() {
            canvas.line((left, low), (left, high), "axis");
        }
        for (at, label) in &y_ticks.labels {
            let y = of_y(*at);
            canvas.text((left - 60, y + 40), Anchor::End, "m", label, usize::MAX);
            canvas.line((left - 30, y), (left, y), "axis");
        }
        canvas.text((120, borders.top + 130), Anchor::Start, "m", &y.name, 64);
        let middle = i32::midpoint(left, right);
        canvas.text((middle, canvas.height - 110), Anchor::Middle, "m", &x.name, 60);
        plane
    }

    /// The range of values on a linear y axis.
    pub fn heights(&self) -> RangeInclusive<f64> {
        let Axis { from, to, unit, .. } = &self.axes[1];
        from * unit..=to * unit
    }

    /// The point at which these values are drawn; values beyond an axis are moved to its end.
    pub fn at(&self, x: f64, y: f64) -> Spot {
        self.spot(self.axes[0].position(x), self.axes[1].position(y))
    }

    /// The point at these positions on the axes.
    fn spot(&self, x: f64, y: f64) -> Spot {
        let ([x_axis, y_axis], [low, high]) = (&self.axes, self.corners);
        let place = |axis: &Axis, at: f64, from: i32, to: i32| {
            let share = (at - axis.from) / (axis.to - axis.from);
            from + (f64::from(to - from) * share).round() as i32
        };
        (place(x_axis, x, low.0, high.0), place(y_axis, y, low.1, high.1))
    }
}

/// Creates a canvas with a title and a subtitle, and `height` units of free space below them. Also returns the y
/// coordinate at which the subtitle ends.
pub fn headed(title: &str, subtitle: &str, height: i32) -> (Canvas, i32) {
    // A line must not break inside "(version 1)".
    let title = shortened(&title.replace("(version ", "(version\u{a0}"), 2 * TITLE);
    let (title, subtitle) = (lines(&title, TITLE), lines(subtitle, LINE));
    let top = 330 + 200 * (title.len().max(1) - 1) as i32;
    let bottom = top + 60 + 160 * subtitle.len() as i32;
    let canvas = Canvas::new(bottom + height);
    for (base, line) in (250..).step_by(200).zip(&title) {
        canvas.text((120, base), Anchor::Start, "h", line, TITLE);
    }
    for (base, line) in (top + 110..).step_by(160).zip(&subtitle) {
        canvas.text((120, base), Anchor::Start, "m", line, LINE);
    }
    (canvas, bottom)
}

/// Breaks text at spaces into lines that are at most as wide as `width` letters "n".
fn lines(text: &str, width: usize) -> Vec<String> {
    let room = text_width(&"n".repeat(width));
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width("n") + text_width(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
