//! The charts: bars, points, ridges and curves.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::canvas::{Anchor, Mark, WIDTH, counted, decimal, number, short_names, text_width};
use super::frame::{Axis, Borders, Plane, Scale, headed};
use crate::math::{sort_ascending, sort_indices};

// Bar charts: a horizontal bar for each name. They show weights, importance and baselines.

/// Largest number of bars.
const MOST_BARS: usize = 20;

/// Height of a bar, including the gap.
const ROW: i32 = 210;

/// Longest name, in characters.
const LONGEST_NAME: usize = 30;

/// Width of the values.
const VALUES: i32 = 760;

#[derive(Debug, Clone)]
pub struct Bar {
    pub name: String,
    /// The length of the bar.
    pub value: f64,
    /// An interval of the value, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// A plot of bars.
#[derive(Debug, Clone)]
pub struct Bars {
    pub title: String,
    /// Details below the title.
    pub subtitle: String,
    /// Label of the value axis.
    pub axis: String,
    /// The bars, in display order. Bars after the first 20 are only counted.
    pub rows: Vec<Bar>,
}

impl Bars {
    /// Sorts the bars by a key of their value, largest first.
    pub fn sort(&mut self, key: fn(f64) -> f64) {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        sort_indices(&mut order, &|a, b| key(self.rows[b].value).total_cmp(&key(self.rows[a].value)));
        self.rows = order.into_iter().map(|index| self.rows[index].clone()).collect();
    }

    pub fn draw(&self) -> String {
        let shown = &self.rows[..self.rows.len().min(MOST_BARS)];
        let more = self.rows.len() - shown.len();
        let rows = shown.len() + usize::from(more > 0);
        let (canvas, top) = headed(&self.title, &self.subtitle, 520 + ROW * rows as i32);
        let values: Vec<f64> = shown.iter().map(|bar| bar.value).chain([0.0]).collect();
        let ends = shown.iter().filter_map(|bar| bar.interval).flat_map(|(low, high)| [low, high]);
        let x = Axis::around(&self.axis, &values, ends).starting_at_zero();
        let names: Vec<&str> = shown.iter().map(|bar| bar.name.as_str()).collect();
        let names = short_names(&names, LONGEST_NAME);
        let others = (more > 0).then(|| format!("and {} more", decimal(more as f64, 0)));
        let left = left_of_names(names.iter().chain(&others).map(String::as_str));
        let borders = Borders { left: Some(left), right: VALUES, ..Borders::below(top) };
        let plane = Plane::new(&canvas, &borders, x, Axis::rows(rows));
        let decimals = decimals(shown);
        for ((row, bar), name) in shown.iter().enumerate().zip(&names) {
            self.draw_bar(&plane, (rows - row) as f64 - 0.5, bar, name, decimals);
        }
        let [low, high] = plane.corners;
        let zero = plane.at(0.0, 0.0).0;
        canvas.line((zero, low.1), (zero, high.1), "axis");
        if let Some(text) = others {
            canvas.text((left - 60, plane.at(0.0, 0.5).1 + 40), Anchor::End, "m", &text, 30);
        }
        canvas.finish(&self.title, &self.subtitle)
    }

    fn draw_bar(&self, plane: &Plane<'_>, row: f64, bar: &Bar, name: &str, decimals: Option<usize>) {
        let (start, end) = (plane.at(0.0, row), plane.at(bar.value, row));
        let half = ROW * 3 / 10;
        let value = number(bar.value);
        let title = match bar.interval {
            None => format!("{}: {} {value}", bar.name, self.axis),
            Some((low, high)) => {
                format!("{}: {} {value}, interval {} to {}", bar.name, self.axis, number(low), number(high))
            }
        };
        let class = if bar.value < 0.0 { "b" } else { "a" };
        let mark = Mark { class, title: &title, data: &[("value", bar.value)] };
        plane.canvas.rect((start.0, start.1 - half), (end.0, end.1 + half), &mark);
        if let Some((low, high)) = bar.interval {
            plane.canvas.line(plane.at(low, row), plane.at(high, row), "e");
        }
        let base = start.1 + 40;
        plane.canvas.text((plane.corners[0].0 - 60, base), Anchor::End, "", name, LONGEST_NAME);
        let value = decimals.map_or(value, |decimals| decimal(bar.value, decimals));
        plane.canvas.text((plane.corners[1].0 + VALUES - 100, base), Anchor::End, "n", &value, 12);
    }
}

/// Left edge of a plot area with such names to its left.
fn left_of_names<'a>(names: impl Iterator<Item = &'a str>) -> i32 {
    names.map(text_width).max().unwrap_or(0) + 180
}

/// Number of decimals for all values, unless they are very small or large.
fn decimals(bars: &[Bar]) -> Option<usize> {
    let largest = bars.iter().fold(0.0, |largest: f64, bar| largest.max(bar.value.abs()));
    let whole = bars.iter().all(|bar| bar.value.fract() == 0.0);
    match largest {
        _ if whole && largest < 1e9 => Some(0),
        0.01..0.1 => Some(4),
        0.1..10.0 => Some(3),
        10.0..1e4 => Some(1),
        _ => None,
    }
}

// Line charts: lines through points. They show validation and training curves.

/// Largest number of points drawn as marks; more are thinned out.
const MOST_MARKS: usize = 120;

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// A line joins them.
    Line,
    /// Separate points.
    No,
}

/// One series of points.
#[derive(Debug, Clone)]
pub struct Series {
    /// The name, written above the area; empty if there is only one series.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
    /// Whether a line joins them.
    pub joined: Joined,
    /// For each point, the interval of y, if any, and a note. May be empty.
    pub intervals: Vec<(Option<(f64, f64)>, String)>,
}

impl Series {
    /// A series without intervals.
    pub fn new(name: &str, points: Vec<(f64, f64)>, joined: Joined) -> Self {
        Self { name: name.to_owned(), points, joined, intervals: Vec::new() }
    }
}

/// A plot of one or two series.
#[derive(Debug, Clone)]
pub struct Curve {
    pub title: String,
    /// Details below the title.
    pub subtitle: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// The scale of the x axis.
    pub scale: Scale,
    /// The series. The first one sets the y axis; other series and intervals are clipped far from it.
    pub series: Vec<Series>,
    /// A point to highlight, and its label.
    pub chosen: Option<((f64, f64), String)>,
}

impl Curve {
    pub fn draw(&self) -> String {
        let (canvas, top) = headed(&self.title, &self.subtitle, 2600);
        let points = |from| self.series.iter().skip(from).flat_map(|series| &series.points);
        let x = Axis::of(&self.axes[0], self.scale, points(0).map(|point| point.0));
        let intervals = self.series.iter().flat_map(|series| &series.intervals);
        let ends = intervals.filter_map(|(interval, _)| *interval).flat_map(|(low, high)| [low, high]);
        let first: Vec<f64> =
            self.series.iter().take(1).flat_map(|series| &series.points).map(|point| point.1).collect();
        let y = Axis::around(&self.axes[1], &first, points(1).map(|point| point.1).chain(ends));
        // The label of the chosen point is on a separate line.
        let above = if self.chosen.is_some() { 150 } else { 0 };
        let plane = Plane::new(&canvas, &Borders { above, ..Borders::below(top) }, x, y);
        if let Some((point, label)) = &self.chosen {
            draw_chosen(&plane, *point, label);
        }
        // The first series covers the others.
        let mut right = plane.corners[1].0;
        for (series, class) in self.series.iter().zip(["a", "b"]).rev() {
            self.draw_series(&plane, series, class);
            if !series.name.is_empty() {
                canvas.text((right, top + 130), Anchor::End, class, &series.name, 40);
                right -= text_width(&series.name) + 200;
            }
        }
        canvas.finish(&self.title, &self.subtitle)
    }

    fn draw_series(&self, plane: &Plane<'_>, series: &Series, class: &str) {
        let range = plane.heights();
        if series.joined == Joined::Line && series.points.len() > 1 {
            let lines = series.points.windows(2).filter_map(|pair| cut(pair[0], pair[1], &range));
            plane.canvas.path(lines.map(|ends| ends.map(|(x, y)| plane.at(x, y))), class);
        }
        let step = series.points.len().div_ceil(MOST_MARKS).max(1);
        let radius = if series.points.len() > 30 { 20 } else { 35 };
        let marks = series.points.iter().enumerate().step_by(step);
        for (index, (x, y)) in marks.filter(|(_, (_, y))| range.contains(y)) {
            let name = if series.name.is_empty() { self.axes[1].as_str() } else { &series.name };
            let mut title = format!("{} {}: {name} {}", self.axes[0], number(*x), number(*y));
            if let Some((interval, note)) = series.intervals.get(index) {
                if let Some((low, high)) = interval {
                    plane.canvas.line(plane.at(*x, *low), plane.at(*x, *high), "e");
                    title = format!("{title} ({} to {})", number(*low), number(*high));
                }
                title = format!("{title}, {note}");
            }
            let mark = Mark { class, title: &title, data: &[("x", *x), ("y", *y)] };
            plane.canvas.circle(plane.at(*x, *y), radius, &mark);
        }
    }
}

/// The part of a straight line whose y is in a range.
fn cut(a: (f64, f64), b: (f64, f64), range: &RangeInclusive<f64>) -> Option<[(f64, f64); 2]> {
    let (low, high) = (*range.start(), *range.end());
    let end = |(x, y): (f64, f64), other: (f64, f64)| {
        if range.contains(&y) {
            return (x, y);
        }
        let inside = y.clamp(low, high);
        (x + (other.0 - x) * ((inside - y) / (other.1 - y)), inside)
    };
    (a.1.min(b.1) <= high && a.1.max(b.1) >= low).then(|| [end(a, b), end(b, a)])
}

/// A vertical line through the point, with its label above the area.
fn draw_chosen(plane: &Plane<'_>, (x, y): (f64, f64), label: &str) {
    let spot = plane.at(x, y);
    let [low, high] = plane.corners;
    plane.canvas.line((spot.0, low.1), (spot.0, high.1), "guide");
    // Next to the line if there is room.
    let width = text_width(label) * 11 / 10 + 60;
    let (x, anchor) = if spot.0 + width < WIDTH {
        (spot.0 + 60, Anchor::Start)
    } else {
        (spot.0.min(high.0) - 60, Anchor::End)
    };
    let x = if anchor == Anchor::End { x.max(width) } else { x };
    plane.canvas.text((x, high.1 - 60), anchor, "", label, 50);
}

// Histograms, one above the other on one axis: the distribution of a value in several groups.

/// Number of bins of the axis.
const BINS: usize = 40;

/// Height of a histogram.
const RIDGE_HEIGHT: i32 = 430;

/// One group of values.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub values: Vec<f64>,
}

/// A plot of groups.
#[derive(Debug, Clone)]
pub struct Ridges {
    pub title: String,
    /// Details below the title.
    pub subtitle: String,
    /// Label of the value axis.
    pub axis: String,
    /// The groups from the top.
    pub groups: Vec<Group>,
    /// The noun for a value, as in `document` and `documents`.
    pub noun: [&'static str; 2],
}

impl Ridges {
    /// The SVG. Heights are fractions of each group; a line marks its median.
    pub fn draw(&self) -> String {
        let rows = self.groups.len();
        let (canvas, top) = headed(&self.title, &self.subtitle, 520 + RIDGE_HEIGHT * rows as i32);
        let values = || self.groups.iter().flat_map(|group| group.values.iter().copied());
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let x = Axis::of(&self.axis, Scale::Linear, values());
        let names = self.groups.iter().map(|group| group.name.as_str());
        let left = left_of_names(names.chain(["1,234,567 documents"]));
        let borders = Borders { left: Some(left), ..Borders::below(top) };
        let plane = Plane::new(&canvas, &borders, x, Axis::rows(rows));
        for (row, group) in self.groups.iter().enumerate() {
            self.draw_group(&plane, (rows - row - 1) as f64, group, low, high);
        }
        canvas.finish(&self.title, &self.subtitle)
    }

    fn draw_group(&self, plane: &Plane<'_>, base: f64, group: &Group, low: f64, high: f64) {
        // 1. Bin counts. If all values are equal, they are in the first bin.
        let width = (high / BINS as f64 - low / BINS as f64).max(0.0);
        let mut counts = [0_usize; BINS];
        for value in &group.values {
            let bin = if width > 0.0 { ((value - low) / width) as usize } else { 0 };
            counts[bin.min(BINS - 1)] += 1;
        }
        // 2. A bar for each bin that has values.
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let [one, many] = self.noun;
        for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (from, to) = (low + width * bin as f64, low + width * (bin + 1) as f64);
            let range = format!("{} {} to {}", self.axis, number(from), number(to));
            let title = format!("{}, {range}: {}", group.name, counted(*count, one, many));
            let data = [("from", from), ("to", to), ("count", *count as f64)];
            let mut corner = plane.at(to, base + 0.82 * *count as f64 / most);
            let start = plane.at(from, base);
            corner.0 = corner.0.max(start.0 + 30);
            plane.canvas.rect(start, corner, &Mark { class: "a", title: &title, data: &data });
        }
        // 3. The median, the name and the number of values.
        let mut sorted = group.values.clone();
        sort_ascending(&mut sorted);
        if let Some(median) = sorted.get(sorted.len() / 2) {
            let (from, to) = (plane.at(*median, base), plane.at(*median, base + 0.9));
            plane.canvas.line(from, to, "o");
        }
        let (_, y) = plane.at(low, base);
        plane.canvas.line((plane.corners[0].0, y), (plane.corners[1].0, y), "axis");
        let right = plane.corners[0].0 - 60;
        plane.canvas.text((right, y - 190), Anchor::End, "", &group.name, LONGEST_NAME);
        let size = counted(group.values.len(), one, many);
        plane.canvas.text((right, y - 40), Anchor::End, "m", &size, 20);
    }
}

// Scatter plots: points of two values, and the line where both are equal.

/// Largest number of points drawn one by one. More are binned in a grid.
const MOST_POINTS: usize = 600;

/// Sides of the cells.
const CELL: i32 = 150;

/// Two values and a name.
type Point = (f64, f64, String);

/// A plot of pairs.
#[derive(Debug, Clone)]
pub struct Scatter {
    pub title: String,
    /// Details below the title.
    pub subtitle: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// The points, at least one, each with its name.
    pub points: Vec<Point>,
    /// The noun for a point, as in `query` and `queries`.
    pub noun: [&'static str; 2],
}

impl Scatter {
    /// The SVG. The area of a circle is proportional to its number of points.
    pub fn draw(&self) -> String {
        let (canvas, top) = headed(&self.title, &self.subtitle, 3900);
        let values = || self.points.iter().flat_map(|(x, y, _)| [*x, *y]);
        let [x, y] = [0, 1].map(|axis| Axis::of(&self.axes[axis], Scale::Linear, values()));
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let plane = Plane::new(&canvas, &Borders::below(top), x, y);
        canvas.line(plane.at(low, low), plane.at(high, high), "guide");
        // 1. Points at one spot, or in one cell, are one circle.
        let cell = if self.points.len() > MOST_POINTS { CELL } else { 1 };
        let mut groups: BTreeMap<(i32, i32), Vec<&Point>> = BTreeMap::new();
        for point in &self.points {
            let spot = plane.at(point.0, point.1);
            groups.entry((spot.0 / cell, spot.1 / cell)).or_default().push(point);
        }
        // 2. Large circles first, so they do not hide small ones.
        let groups: Vec<Vec<&Point>> = groups.into_values().collect();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        sort_indices(&mut order, &|a, b| groups[b].len().cmp(&groups[a].len()));
        let most = order.first().map_or(1, |index| groups[*index].len()) as f64;
        let unit = (120.0 / most.sqrt()).min(35.0);
        for group in order.into_iter().map(|index| &groups[index]) {
            let (x, y, name) = group[0];
            let count = group.len() as f64;
            let [one, many] = self.noun;
            let values = format!("{} {}, {} {}", self.axes[0], number(*x), self.axes[1], number(*y));
            let title = match group.len() {
                1 => format!("{one} {name}: {values}"),
                count => format!("{}, such as {name}: {values}", counted(count, one, many)),
            };
            let radius = (unit * count.sqrt()).max(15.0) as i32;
            let mark = Mark { class: "f", title: &title, data: &[("x", *x), ("y", *y), ("count", count)] };
            canvas.circle(plane.at(*x, *y), radius, &mark);
        }
        canvas.finish(&self.title, &self.subtitle)
    }
}
