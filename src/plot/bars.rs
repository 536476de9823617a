//! Horizontal bars, one for each name: weights, importance, baselines.

use super::canvas::{Anchor, Canvas, Mark};
use super::frame::{Axis, Borders, Plane, Scale, heading, heading_height};
use super::text::{decimal, number, short_names};
use crate::base::error::Result;
use crate::math::order::sort_indices;

/// Most bars that are drawn.
const MOST_BARS: usize = 20;

/// Height of a bar with its space.
const ROW: i32 = 210;

/// Most characters of a name.
const LONGEST_NAME: usize = 20;

/// Width of the names and of the values.
const NAMES: i32 = 1520;
const VALUES: i32 = 760;

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// An interval of the value, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// A plot of bars.
#[derive(Debug, Clone)]
pub struct Bars {
    /// Title.
    pub title: String,
    /// What the title leaves open.
    pub subtitle: String,
    /// What the values are.
    pub axis: String,
    /// The bars, in their order. Those after the first 20 are only counted.
    pub rows: Vec<Bar>,
}

impl Bars {
    /// Puts the bars with the largest key of their value first.
    pub fn sort(&mut self, key: fn(f64) -> f64) {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        sort_indices(&mut order, &|a, b| key(self.rows[b].value).total_cmp(&key(self.rows[a].value)));
        self.rows = order.into_iter().map(|index| self.rows[index].clone()).collect();
    }

    /// The SVG.
    ///
    /// # Errors
    /// As [`Plane::new`].
    pub fn draw(&self) -> Result<String> {
        let shown = &self.rows[..self.rows.len().min(MOST_BARS)];
        let more = self.rows.len() - shown.len();
        let rows = shown.len() + usize::from(more > 0);
        let canvas = Canvas::new(heading_height(&self.subtitle) + 520 + ROW * rows as i32);
        let top = heading(&canvas, &self.title, &self.subtitle);
        let ends = shown.iter().flat_map(|bar| {
            let (low, high) = bar.interval.unwrap_or((bar.value, bar.value));
            [0.0, bar.value, low, high]
        });
        let x = Axis::of(&self.axis, Scale::Linear, ends).starting_at_zero();
        let borders = Borders { left: Some(NAMES + 180), right: VALUES, ..Borders::below(top) };
        let plane = Plane::new(&canvas, &borders, x, Axis::rows(rows))?;
        let decimals = decimals(shown);
        let names: Vec<&str> = shown.iter().map(|bar| bar.name.as_str()).collect();
        for ((row, bar), name) in shown.iter().enumerate().zip(short_names(&names, LONGEST_NAME)) {
            self.draw_bar(&plane, (rows - row) as f64 - 0.5, (bar, &name), decimals);
        }
        let [low, high] = plane.corners;
        let zero = plane.at(0.0, 0.0).0;
        canvas.line((zero, low.1), (zero, high.1), "axis");
        if more > 0 {
            let text = format!("and {} more", decimal(more as f64, 0));
            canvas.text((NAMES + 120, plane.at(0.0, 0.5).1 + 40), Anchor::End, "m", (&text, 30));
        }
        Ok(canvas.finish(&self.title, &self.subtitle))
    }

    fn draw_bar(&self, plane: &Plane, row: f64, (bar, name): (&Bar, &str), decimals: Option<usize>) {
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
        plane.canvas.text((NAMES + 120, base), Anchor::End, "", (name, LONGEST_NAME));
        let value = decimals.map_or(value, |decimals| decimal(bar.value, decimals));
        plane.canvas.text((plane.corners[1].0 + VALUES - 100, base), Anchor::End, "n", (&value, 12));
    }
}

/// Decimals that all values have, unless they are very small or large.
fn decimals(bars: &[Bar]) -> Option<usize> {
    let largest = bars.iter().fold(0.0, |largest: f64, bar| largest.max(bar.value.abs()));
    let whole = bars.iter().all(|bar| bar.value.fract() == 0.0);
    match largest {
        _ if whole && largest < 1e9 => Some(0),
        0.1..10.0 => Some(3),
        10.0..1e4 => Some(1),
        _ => None,
    }
}
