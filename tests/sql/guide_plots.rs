//! The plots on the pages of the guide, and what makes plots readable. `LTR_BLESS=1 cargo test --test sql guide_plots` writes the
//! former again.

use std::fmt::Write as _;

use roxmltree::Document;
use rusqlite::Connection;

use crate::plots::{check, hotels, plot, text};

/// Compares an SVG with the file of a page, or writes that.
fn compare(file: &str, svg: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/guide/plots/{file}.svg"));
    if std::env::var_os("LTR_BLESS").is_some() {
        std::fs::write(&path, svg).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == svg, "{file}.svg is not current: LTR_BLESS=1 cargo test --test sql guide_plots");
}

fn trained() -> Connection {
    let connection = hotels();
    for algorithm in ["q_svm", "rank_svm"] {
        text(&connection, &format!("SELECT ltr_train('{algorithm}', 'judgments')"));
    }
    connection
}

#[test]
fn plots_of_the_guide_are_current() {
    let connection = trained();
    for (file, arguments) in [
        ("validation", "'validation', 'q_svm'"),
        ("queries", "'queries', 'q_svm', 'rank_svm', 'candidates'"),
        ("scores", "'scores', 'q_svm', 'candidates'"),
    ] {
        compare(file, &plot(&connection, arguments));
    }
}

/// The hotels of search 90 for two guests, as `q_svm` ranks them: side by side, with a line for each hotel.
#[test]
fn the_rankings_of_two_guests_are_current() {
    let connection = trained();
    let source = "SELECT guest.column1 AS query_id, doc_id, guest.column1 AS q_luxury, price, stars
                    FROM candidates, (VALUES (0.04), (0.98)) AS guest WHERE candidates.query_id = 90";
    // 1. Each hotel with its place for both guests.
    let sql = format!(
        "SELECT min(rank) FILTER (WHERE r.query_id < 0.5), min(rank) FILTER (WHERE r.query_id > 0.5), price, stars
           FROM ltr_rank('q_svm', '{source}') AS r JOIN candidates AS c USING (doc_id)
          WHERE c.query_id = 90 GROUP BY doc_id ORDER BY 1"
    );
    let mut statement = connection.prepare(&sql).unwrap();
    let hotels = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    let hotels: Vec<(i32, i32, f64, i64)> = hotels.unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(hotels.len(), 12);
    // 2. The drawing, in the style of the other plots.
    let styled = plot(&connection, "'queries', 'q_svm', 'rank_svm', 'candidates'");
    let style = styled.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let title = "The same hotels for two guests";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ltr\" role=\"img\" aria-label=\"{title}\" width=\"560\" \
         height=\"354\" viewBox=\"0 0 560 354\" style=\"max-width:100%;height:auto\"><title>{title}</title><style>{style}</style>\
         <rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n<text class=\"h\" x=\"12\" y=\"25\">{title}</text>\n\
         <text class=\"m\" x=\"12\" y=\"44\">Ranked by one model of q_svm. Orange: price above 0.5</text>\n\
         <text x=\"12\" y=\"72\">wants low prices: q_luxury 0.04</text>\n<text x=\"348\" y=\"72\">wants luxury: q_luxury 0.98</text>\n"
    );
    for (left, right, price, stars) in hotels {
        let (from, to) = (72 + 22 * left, 72 + 22 * right);
        let class = if price > 0.5 { "b" } else { "a" };
        let label = format!("price {price:.2}, {stars} {}", if stars == 1 { "star" } else { "stars" });
        for (x, y, place) in [(12, from, left), (348, to, right)] {
            writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{place}. {label}</text>").unwrap();
        }
        let (from, to) = (from - 4, to - 4);
        writeln!(svg, "<path class=\"{class}\" d=\"M160 {from}C250 {from} 250 {to} 340 {to}\"/>").unwrap();
    }
    svg += "</svg>\n";
    check(&svg);
    compare("guests", &svg);
}

/// Attributes of all elements of a kind and class.
fn values(svg: &str, tag: &str, class: &str, key: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let marks = document.descendants().filter(|node| node.tag_name().name() == tag);
    let marks = marks.filter(|node| node.attribute("class") == Some(class));
    marks.filter_map(|node| node.attribute(key)).map(str::to_owned).collect()
}

/// Texts of a class, joined.
fn texts(svg: &str, class: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let marks = document.descendants().filter(|node| node.tag_name().name() == "text");
    let marks = marks.filter(|node| node.attribute("class").unwrap_or_default() == class);
    marks.filter_map(|node| node.text()).map(str::to_owned).collect()
}

/// The share of the height of a line chart that the circles of the first series have.
fn share(svg: &str) -> f64 {
    let range = |values: Vec<f64>| {
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let number = |value: String| value.parse::<f64>().unwrap();
    let circles = values(svg, "circle", "a", "cy").into_iter().map(number).collect();
    range(circles) / 178.0
}

/// Rule 14.1: bounds and intervals that are far away do not press a curve flat.
#[test]
fn bounds_and_intervals_do_not_hide_curves() {
    let connection = hotels();
    for (algorithm, lambda) in [("list_net", "0.001"), ("list_mle", "0.00001"), ("rank_svm", "0.00001")] {
        text(
            &connection,
            &format!("SELECT ltr_train('{algorithm}', 'judgments', '{{\"lambda\": {lambda}}}')"),
        );
        let svg = plot(&connection, &format!("'training', '{algorithm}'"));
        assert!(share(&svg) > 0.3, "{algorithm}: {}", share(&svg));
        assert_eq!(values(&svg, "path", "b", "d").len(), 1, "{algorithm}: the line of the bounds");
        let labels = texts(&svg, "m");
        assert!(
            labels.iter().all(|label| labels.iter().filter(|other| *other == label).count() == 1),
            "{labels:?}"
        );
    }
    // Two queries: intervals of Student's t with one degree of freedom.
    let two = "SELECT * FROM candidates WHERE query_id IN (81, 82)";
    let svg = plot(&connection, &format!("'calibration', 'rank_svm', '{two}'"));
    assert!(share(&svg) > 0.3, "{}", share(&svg));
    let svg = plot(&connection, &format!("'importance', 'rank_svm', '{two}'"));
    let widest =
        values(&svg, "rect", "a", "width").iter().map(|width| width.parse().unwrap()).fold(0.0, f64::max);
    assert!(widest > 50.0, "{svg}");
}

/// Names are complete where there is room. Steps are whole numbers.
#[test]
fn names_are_complete_and_steps_are_whole() {
    let connection = hotels();
    let feature = "number_of_stars_of_hotel";
    let source = format!("SELECT query_id, doc_id, relevance, price, stars AS {feature} FROM judgments");
    let options = r#"{"name": "hotel_ranking_of_november", "lambda": [0.1, 1]}"#;
    text(&connection, &format!("SELECT ltr_train('list_net', '{source}', '{options}')"));
    let model = "'hotel_ranking_of_november'";
    for (kind, arguments, title) in [
        ("weights", String::new(), "Weights of"),
        ("importance", format!(", '{source}'"), "Importance of features in"),
        ("training", String::new(), "Training of"),
        ("validation", String::new(), "Validation of"),
        ("calibration", format!(", '{source}'"), "Grades by score of"),
    ] {
        let svg = plot(&connection, &format!("'{kind}', {model}{arguments}"));
        let title = format!("{title} hotel_ranking_of_november (version 1)");
        assert_eq!(texts(&svg, "h").join(" ").replace('\u{a0}', " "), title, "{kind}");
        if ["weights", "importance"].contains(&kind) {
            assert!(texts(&svg, "").contains(&feature.to_owned()), "{kind}: {:?}", texts(&svg, ""));
        }
        if kind == "training" {
            let steps =
                texts(&svg, "m").into_iter().filter(|label| label.contains("0.5") || label.contains("1.0"));
            assert_eq!(steps.count(), 0, "{svg}");
        }
    }
}
