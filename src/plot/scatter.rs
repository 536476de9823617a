//! Points of two values with the line where both are equal.

use std::collections::BTreeMap;

use super::canvas::{Canvas, Mark};
use super::frame::{Axis, Borders, Plane, Scale, heading, heading_height};
use super::text::{counted, number};
use crate::base::error::Result;
use crate::math::order::sort_indices;

/// Most points that are drawn one by one. More are drawn by cells of a grid.
const MOST_POINTS: usize = 600;

/// Sides of the cells.
const CELL: i32 = 150;

/// Two values and a name.
type Point = (f64, f64, String);

/// A plot of pairs.
#[derive(Debug, Clone)]
pub struct Scatter {
    /// Title.
    pub title: String,
    /// What the title leaves open.
    pub subtitle: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// The points, at least one, each with its name.
    pub points: Vec<Point>,
    /// What a point is, as in `query` and `queries`.
    pub noun: [&'static str; 2],
}

impl Scatter {
    /// The SVG. The area of a circle is proportional to its number of points.
    ///
    /// # Errors
    /// As [`Plane::new`].
    pub fn draw(&self) -> Result<String> {
        let canvas = Canvas::new(3900 + heading_height(&self.subtitle));
        let top = heading(&canvas, &self.title, &self.subtitle);
        let values = || self.points.iter().flat_map(|(x, y, _)| [*x, *y]);
        let [x, y] = [0, 1].map(|axis| Axis::of(&self.axes[axis], Scale::Linear, values()));
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let plane = Plane::new(&canvas, &Borders::below(top), x, y)?;
        canvas.line(plane.at(low, low), plane.at(high, high), "guide");
        // 1. Points at one spot, or in one cell, are one circle.
        let cell = if self.points.len() > MOST_POINTS { CELL } else { 1 };
        let mut groups: BTreeMap<(i32, i32), Vec<&Point>> = BTreeMap::new();
        for point in &self.points {
            let spot = plane.at(point.0, point.1);
            groups.entry((spot.0 / cell, spot.1 / cell)).or_default().push(point);
        }
        // 2. Large circles first, so that they hide none.
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
        Ok(canvas.finish(&self.title, &self.subtitle))
    }
}
