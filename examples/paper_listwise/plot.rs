//! Line plots as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::Outcome;

/// Pixels of a panel.
const PANEL: (u32, u32) = (560, 420);
/// Colors of series, after which they begin again.
const COLOURS: [RGBColor; 5] = [
    RGBColor(30, 90, 170),
    RGBColor(200, 90, 30),
    RGBColor(50, 140, 70),
    RGBColor(140, 60, 150),
    RGBColor(90, 90, 90),
];
/// Margin around the values, as a part of their range. The legend is above them.
const MARGIN: f64 = 0.05;
const LEGEND: f64 = 0.35;

/// One line.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// One set of axes.
pub struct Panel {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// Names of the places 1, 2, ... on the x axis; without names, numbers.
    pub places: Vec<String>,
    pub series: Vec<Series>,
}

/// Draws panels side by side.
///
/// # Errors
/// A file that cannot be written.
pub fn draw(path: &Path, panels: &[Panel]) -> Outcome<()> {
    let size = (PANEL.0 * panels.len() as u32, PANEL.1);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, panel) in root.split_evenly((1, panels.len())).iter().zip(panels) {
        draw_panel(area, panel)?;
    }
    root.present()?;
    Ok(())
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, panel: &Panel) -> Outcome<()> {
    let (left, right) = range(panel, |point| point.0);
    let (bottom, top) = range(panel, |point| point.1);
    let (width, height) = ((right - left) * MARGIN, top - bottom);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(left - width..right + width, bottom - MARGIN * height..top + LEGEND * height)?;
    let place = |x: &f64| match panel.places.get((x.round() as usize).wrapping_sub(1)) {
        _ if panel.places.is_empty() => format!("{x:.0}"),
        Some(name) if (x - x.round()).abs() < 1e-6 => name.clone(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(1)
        .x_labels(panel.places.len().max(10))
        .x_label_formatter(&place)
        .x_desc(panel.x)
        .y_desc(panel.y)
        .draw()?;
    for (series, color) in panel.series.iter().zip(COLOURS.into_iter().cycle()) {
        chart
            .draw_series([PathElement::new(series.points.clone(), color.stroke_width(2))])?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        chart.draw_series(series.points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.filled())
        .draw()?;
    Ok(())
}

/// The least and the largest value, which differ.
fn range(panel: &Panel, value: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let values = panel.series.iter().flat_map(|series| series.points.iter().map(&value));
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if high > low { (low, high) } else { (low - 0.5, low + 0.5) }
}
