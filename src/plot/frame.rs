//! Title, axes and coordinates of a plot, by `plotters`.

use plotters::chart::ChartBuilder;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::{IntoTextStyle, RGBColor, TRANSPARENT};

use super::canvas::{Anchor, Canvas, Spot, WIDTH, decimal, number, text_width};
use crate::base::{Error, Result};

/// Colors by their number among the classes of the canvas.
const AXIS: RGBColor = RGBColor(0, 0, 0);
const GRID: RGBColor = RGBColor(1, 0, 0);
const LABEL: RGBColor = RGBColor(2, 0, 0);

/// Characters of a line below the title.
const LINE: usize = 62;

/// Space around the area between the axes.
#[derive(Debug, Clone, Copy)]
pub struct Borders {
    /// Above it and above the name of the y axis.
    pub top: i32,
    /// Between the name of the y axis and it.
    pub above: i32,
    /// Left of it; by the labels if not given.
    pub left: Option<i32>,
    /// Right of it.
    pub right: i32,
}

impl Borders {
    /// The borders of a plot whose title ends at `top`.
    pub fn below(top: i32) -> Self {
        Self { top, above: 0, left: None, right: 180 }
    }
}

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal factors. Values must be above 0.
    Logarithmic,
}

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Its name, with the unit if there is one.
    name: String,
    scale: Scale,
    /// What positions are multiplied by.
    unit: f64,
    /// Least and largest position.
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that shows these values. Values that are not finite do not count.
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
        // A single value stands in the middle.
        let wide = (to - from).max(from.abs().max(to.abs()) * 1e-6);
        let pad = if to - from < wide || wide == 0.0 { 0.5 } else { 0.05 * wide };
        Self { name: name.to_owned(), scale, unit, from: from - pad, to: to + pad }
    }

    /// The same axis, beginning at 0 if its values are not below 0.
    pub fn starting_at_zero(mut self) -> Self {
        if self.from > 0.0 || (self.from < 0.0 && self.from > -0.06 * self.to) {
            self.from = 0.0;
        }
        self
    }

    /// The same axis with space at its low end.
    pub fn with_space_below(mut self) -> Self {
        self.from -= 0.18 * (self.to - self.from);
        self
    }

    /// An axis of `count` rows, without labels. Row 0 is the lowest.
    pub fn rows(count: usize) -> Self {
        Self { name: String::new(), scale: Scale::Linear, unit: 0.0, from: 0.0, to: count.max(1) as f64 }
    }

    fn is_hidden(&self) -> bool {
        self.unit == 0.0
    }

    fn position(&self, value: f64) -> f64 {
        match self.scale {
            _ if self.is_hidden() => value,
            Scale::Linear => value / self.unit,
            Scale::Logarithmic => value.log10(),
        }
    }

    /// The label of a position.
    fn label(&self, position: f64, decimals: Option<usize>) -> String {
        match (self.scale, decimals) {
            (Scale::Logarithmic, _) => number(10f64.powf((position * 1e9).round() / 1e9)),
            (Scale::Linear, Some(decimals)) => decimal(position * self.unit, decimals),
            (Scale::Linear, None) => number((position * 1e9).round() / 1e9 * self.unit),
        }
    }

    /// The fewest decimals that write ticks exactly; `None` if scientific numbers are shorter.
    fn decimals(&self, ticks: &[f64]) -> Option<usize> {
        let [first, second, ..] = ticks else { return None };
        let exact = |decimals: &usize| {
            let power = 10f64.powi(*decimals as i32) * self.unit;
            let apart = (second - first) * power > 0.999;
            apart && ticks.iter().all(|tick| (tick * power - (tick * power).round()).abs() < 1e-6)
        };
        let largest = self.from.abs().max(self.to.abs()) * self.unit;
        (0..5).find(exact).filter(|_| largest < 1e6)
    }

    /// The ticks of an axis of this length, with their labels: the largest number that fits.
    fn ticks(&self, length: i32) -> Ticks {
        let ticks = |most: usize| {
            let positions = RangedCoordf64::from(self.from..self.to).key_points(most);
            let decimals = self.decimals(&positions);
            let label = |position: &f64| text_width(&self.label(*position, decimals));
            let widest = positions.iter().map(label).max().unwrap_or(0);
            let fits = (widest + 150).saturating_mul(positions.len() as i32) <= length;
            // Whole powers of ten are easier to read than others.
            let is_round = self.scale == Scale::Linear || positions.iter().all(|tick| tick.fract() == 0.0);
            (Ticks { most, decimals, widest }, fits, is_round && positions.len() > 1)
        };
        let most = if self.is_hidden() { 0 } else { 6 };
        let mut fitting: Vec<_> = (3..=most).rev().map(ticks).filter(|(_, fits, _)| *fits).collect();
        let best = fitting.iter().position(|(.., is_round)| *is_round).unwrap_or(0);
        if fitting.is_empty() { ticks(most.min(2)).0 } else { fitting.swap_remove(best).0 }
    }
}

/// Ticks of an axis.
struct Ticks {
    most: usize,
    decimals: Option<usize>,
    /// Width of the widest label.
    widest: i32,
}

/// The area between the axes.
pub struct Plane {
    /// The drawing.
    pub canvas: Canvas,
    area: DrawingArea<Canvas, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    axes: [Axis; 2],
    /// Spots of the lower left and the upper right corner.
    pub corners: [Spot; 2],
}

impl Plane {
    /// Draws axes below `top`. An axis whose name is empty has no labels.
    ///
    /// # Errors
    /// [`Error::Internal`] of the drawing.
    pub fn new(canvas: &Canvas, borders: &Borders, x: Axis, y: Axis) -> Result<Self> {
        let root = canvas.clone().into_drawing_area();
        let y_ticks = y.ticks(i32::MAX);
        let left = borders.left.unwrap_or(y_ticks.widest + 160);
        let x_ticks = x.ticks(WIDTH - left - borders.right);
        let bottom = if x.is_hidden() { 60 } else { 440 };
        let top = borders.top + borders.above + if y.name.is_empty() { 0 } else { 240 };
        let mut chart = ChartBuilder::on(&root)
            .margin_top(top)
            .margin_right(borders.right)
            .x_label_area_size(bottom)
            .y_label_area_size(left)
            .build_cartesian_2d(x.from..x.to, y.from..y.to)
            .map_err(internal)?;
        let (x_label, y_label) =
            (|at: &f64| x.label(*at, x_ticks.decimals), |at: &f64| y.label(*at, y_ticks.decimals));
        let mut mesh = chart.configure_mesh();
        mesh.x_labels(x_ticks.most)
            .y_labels(y_ticks.most)
            .x_label_formatter(&x_label)
            .y_label_formatter(&y_label)
            .label_style(("sans-serif", 120, &LABEL).into_text_style(&root))
            .axis_style(AXIS)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(30);
        if y.is_hidden() {
            mesh.disable_y_mesh().disable_y_axis();
        } else {
            mesh.disable_x_mesh();
        }
        mesh.draw().map_err(internal)?;
        let area = chart.plotting_area().clone();
        let corners = [(left, canvas.height() - bottom), (WIDTH - borders.right, top)];
        canvas.text((120, borders.top + 130), Anchor::Start, "m", (&y.name, 64));
        let middle = i32::midpoint(corners[0].0, corners[1].0);
        canvas.text((middle, canvas.height() - 110), Anchor::Middle, "m", (&x.name, 60));
        Ok(Self { canvas: canvas.clone(), area, axes: [x, y], corners })
    }

    /// The spot of values.
    pub fn at(&self, x: f64, y: f64) -> Spot {
        self.area.map_coordinate(&(self.axes[0].position(x), self.axes[1].position(y)))
    }
}

fn internal(problem: impl std::fmt::Display) -> Error {
    Error::Internal(format!("a plot could not be drawn: {problem}"))
}

/// Draws a title and lines below it; returns where they end.
pub fn heading(canvas: &Canvas, title: &str, subtitle: &str) -> i32 {
    canvas.text((120, 250), Anchor::Start, "h", (title, 44));
    let mut bottom = 330;
    for line in lines(subtitle, LINE) {
        bottom += 160;
        canvas.text((120, bottom - 50), Anchor::Start, "m", (&line, 72));
    }
    bottom + 60
}

/// The height of [`heading`].
pub fn heading_height(subtitle: &str) -> i32 {
    390 + 160 * lines(subtitle, LINE).len() as i32
}

/// A text in lines of `width` characters, broken at spaces.
fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
