//! Figure 1 of Dai & Wang (2019): q-SVM and kNN-SVM in Scenario III of Example 1 as query features get
//! noisier. Each box shows the replications; the paper gives no numbers. Whiskers end
//! 1.5 interquartile ranges from the box.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use plotters::prelude::*;

use crate::data::{Example, Scenario, Setting};
use crate::experiment::{MEASURES, METHODS};
use crate::tables::Found;

/// epsilon in tenths.
const NOISE: [u8; 5] = [1, 3, 5, 7, 9];
/// Places of kNN-SVM and q-SVM among the methods, with their colors.
const SERIES: [(usize, RGBColor); 2] = [(2, RGBColor(200, 90, 30)), (3, RGBColor(30, 90, 170))];
/// Width of a box and distance of the two boxes of one noise, pixels.
const WIDTH: u32 = 14;
const APART: f64 = 18.0;
/// Height of a panel, as a multiple of the highest value. The legend is above it.
const HEADROOM: f64 = 1.25;

/// What is simulated.
pub fn settings() -> Vec<Setting> {
    let plain = Setting::new(Example::One, Scenario::FourGroups, 0);
    NOISE.iter().map(|&epsilon| Setting { epsilon, ..plain }).collect()
}

/// Values of one method and measure in every replication.
fn values(found: &Found, setting: Setting, method: usize, measure: usize) -> Vec<f64> {
    found[&setting].iter().map(|replication| replication[method][measure]).collect()
}

/// Draws three panels, one per measure, as an SVG file.
///
/// # Errors
/// A file that cannot be written.
pub fn draw(found: &Found, path: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (1200, 400)).into_drawing_area();
    root.fill(&WHITE)?;
    for (measure, (panel, name)) in root.split_evenly((1, 3)).iter().zip(MEASURES).enumerate() {
        let series = SERIES.iter().flat_map(|(method, _)| {
            settings().into_iter().flat_map(move |setting| values(found, setting, *method, measure))
        });
        let top = series.fold(0.0, f64::max) * HEADROOM;
        let mut chart = ChartBuilder::on(panel)
            .caption(name, ("sans-serif", 20))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(45)
            .build_cartesian_2d(NOISE[..].into_segmented(), 0f32..top as f32)?;
        chart.configure_mesh().disable_x_mesh().max_light_lines(1).x_desc("epsilon, tenths").draw()?;
        for (place, (method, color)) in SERIES.iter().enumerate() {
            let boxes = NOISE.iter().zip(settings()).map(|(noise, setting)| {
                let quartiles = Quartiles::new(&values(found, setting, *method, measure));
                Boxplot::new_vertical(SegmentValue::CenterOf(noise), &quartiles)
                    .width(WIDTH)
                    .offset(APART * (place as f64 - 0.5))
                    .style(*color)
            });
            let color = *color;
            chart
                .draw_series(boxes.collect::<Vec<_>>())?
                .label(METHODS[*method].name())
                .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 12, y + 6)], color.filled()));
        }
        chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).draw()?;
    }
    root.present()?;
    Ok(())
}

/// The medians of the boxes as Markdown.
pub fn text(found: &Found) -> String {
    let mut text =
        "## Figure 1. Example 1, Scenario III, gamma 0: medians by the noise of query features\n\n\
                    | epsilon | measure | kNN-SVM | q-SVM |\n|---|---|---|---|\n"
            .to_owned();
    for (noise, setting) in NOISE.iter().zip(settings()) {
        for (measure, name) in MEASURES.iter().enumerate() {
            let median = |method| Quartiles::new(&values(found, setting, method, measure)).median();
            let _ = writeln!(text, "| 0.{noise} | {name} | {:.3} | {:.3} |", median(2), median(3));
        }
    }
    text
}
