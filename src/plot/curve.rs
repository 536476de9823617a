//! Lines through points: validation and training curves.

use super::canvas::{Anchor, Canvas, Mark, WIDTH, text_width};
use super::frame::{Axis, Borders, Plane, Scale, heading, heading_height};
use super::text::number;
use crate::base::error::Result;

/// Most points that are drawn as marks; of more, some are drawn.
const MOST_MARKS: usize = 120;

/// Whether the points of a series are steps of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// A line joins them.
    Line,
    /// They stand alone.
    No,
}

/// One series of points.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name, written beside it; empty for the only one.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
    /// Whether a line joins them.
    pub joined: Joined,
    /// For each point an interval of y, if it has one, and a note; or empty.
    pub intervals: Vec<(Option<(f64, f64)>, String)>,
}

/// A plot of one or two series.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Title.
    pub title: String,
    /// What the title leaves open.
    pub subtitle: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// The scale of the x axis.
    pub scale: Scale,
    /// The series. The second one is below the first.
    pub series: Vec<Series>,
    /// A point to point out, and its label.
    pub chosen: Option<((f64, f64), String)>,
}

impl Curve {
    /// The SVG.
    ///
    /// # Errors
    /// As [`Plane::new`].
    pub fn draw(&self) -> Result<String> {
        let canvas = Canvas::new(2600 + heading_height(&self.subtitle));
        let top = heading(&canvas, &self.title, &self.subtitle);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::of(&self.axes[0], self.scale, points().map(|point| point.0));
        let intervals = self.series.iter().flat_map(|series| &series.intervals);
        let ends = intervals.filter_map(|(interval, _)| *interval).flat_map(|(low, high)| [low, high]);
        let y = Axis::of(&self.axes[1], Scale::Linear, points().map(|point| point.1).chain(ends));
        let y = if self.series.len() > 1 { y.with_space_below() } else { y };
        // The label of the chosen point has a line of its own.
        let above = if self.chosen.is_some() { 150 } else { 0 };
        let plane = Plane::new(&canvas, &Borders { above, ..Borders::below(top) }, x, y)?;
        if let Some((point, label)) = &self.chosen {
            draw_chosen(&plane, *point, label);
        }
        // The first series covers the others.
        for (number, series) in self.series.iter().enumerate().rev() {
            self.draw_series(&plane, series, if number == 0 { "a" } else { "b" });
        }
        Ok(canvas.finish(&self.title, &self.subtitle))
    }

    fn draw_series(&self, plane: &Plane, series: &Series, class: &str) {
        let spots: Vec<_> = series.points.iter().map(|(x, y)| plane.at(*x, *y)).collect();
        if series.joined == Joined::Line && spots.len() > 1 {
            plane.canvas.path(&spots, class);
        }
        let step = series.points.len().div_ceil(MOST_MARKS).max(1);
        let radius = if series.points.len() > 30 { 20 } else { 35 };
        for (index, (x, y)) in series.points.iter().enumerate().step_by(step) {
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
            plane.canvas.circle(spots[index], radius, &mark);
        }
        let Some((x, y)) = spots.last().filter(|_| !series.name.is_empty()) else { return };
        let y = if class == "a" { y - 80 } else { y + 170 };
        plane.canvas.text((*x, y), Anchor::End, class, (&series.name, 40));
    }
}

/// A vertical line through the point, with its label above the area.
fn draw_chosen(plane: &Plane, (x, y): (f64, f64), label: &str) {
    let spot = plane.at(x, y);
    let [low, high] = plane.corners;
    plane.canvas.line((spot.0, low.1), (spot.0, high.1), "guide");
    // Beside the line, unless there is no space for it.
    let width = text_width(label) * 11 / 10 + 60;
    let (x, anchor) = if spot.0 + width < WIDTH {
        (spot.0 + 60, Anchor::Start)
    } else {
        (spot.0.min(high.0) - 60, Anchor::End)
    };
    let x = if anchor == Anchor::End { x.max(width) } else { x };
    plane.canvas.text((x, high.1 - 60), anchor, "", (label, 50));
}
