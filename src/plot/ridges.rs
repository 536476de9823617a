//! Histograms above each other on one axis: the distribution of a value in several groups.

use super::canvas::{Anchor, Canvas, Mark};
use super::frame::{Axis, Borders, Plane, Scale, heading, heading_height};
use super::text::{counted, number};
use crate::base::error::Result;
use crate::math::order::sort_ascending;

/// Number of bins of the axis.
const BINS: usize = 40;

/// Height of a histogram.
const ROW: i32 = 430;

/// Width of the names.
const NAMES: i32 = 1150;

/// One group of values.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// A plot of groups.
#[derive(Debug, Clone)]
pub struct Ridges {
    /// Title.
    pub title: String,
    /// What the title leaves open.
    pub subtitle: String,
    /// What the values are.
    pub axis: String,
    /// The groups from the top.
    pub groups: Vec<Group>,
    /// What is counted, as in `document` and `documents`.
    pub noun: [&'static str; 2],
}

impl Ridges {
    /// The SVG. Heights are shares of each group; a line marks its median.
    ///
    /// # Errors
    /// As [`Plane::new`].
    pub fn draw(&self) -> Result<String> {
        let rows = self.groups.len();
        let canvas = Canvas::new(heading_height(&self.subtitle) + 520 + ROW * rows as i32);
        let top = heading(&canvas, &self.title, &self.subtitle);
        let values = || self.groups.iter().flat_map(|group| group.values.iter().copied());
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let x = Axis::of(&self.axis, Scale::Linear, values());
        let borders = Borders { left: Some(NAMES + 180), ..Borders::below(top) };
        let plane = Plane::new(&canvas, &borders, x, Axis::rows(rows))?;
        for (row, group) in self.groups.iter().enumerate() {
            self.draw_group(&plane, (rows - row - 1) as f64, group, (low, high));
        }
        Ok(canvas.finish(&self.title, &self.subtitle))
    }

    fn draw_group(&self, plane: &Plane, base: f64, group: &Group, (low, high): (f64, f64)) {
        // 1. Counts of the bins; all values are in the first one if they are equal.
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
        plane.canvas.text((NAMES + 120, y - 190), Anchor::End, "", (&group.name, 16));
        let size = counted(group.values.len(), one, many);
        plane.canvas.text((NAMES + 120, y - 40), Anchor::End, "m", (&size, 18));
    }
}
