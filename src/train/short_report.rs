//! Summary of a training in one line.

use serde_json::Value;

use crate::base::named;
use crate::train::select::significant;

/// How much `ltr_train` and `ltr_update` return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportLength {
    /// The report in JSON.
    Full,
    /// One line of text.
    Short,
}

named!(ReportLength { Full = "full", Short = "short" });

/// One line: name, version and algorithm of the model, whether it is not active, counts, what validation chose, its value, seconds, warnings, advice.
pub fn short_report(report: &Value) -> String {
    let text = |key: &str| report[key].as_str().unwrap_or_default();
    // Counts, including the rows of an update.
    let count = |key: &str| {
        let added = report["added"][key].as_u64().map(|added| format!(" ({added} added)"));
        format!("{} {key}{}", report[key], added.unwrap_or_default())
    };
    let evidence = &report["evidence"];
    let informative =
        evidence["informative_queries"].as_u64().filter(|n| report["queries"].as_u64() > Some(*n));
    let informative = informative.map_or_else(String::new, |n| format!(", {n} of them informative"));
    let mut parts = vec![count("queries") + &informative, count("documents")];
    let features = report["features"].as_u64().filter(|features| *features > 0);
    parts.extend(features.map(|features| counted(features, "feature", "")));
    let ignored = report["roles"]["ignored"].as_array().map_or(0, Vec::len) as u64;
    parts.extend((ignored > 0).then(|| counted(ignored, "column", " ignored")));
    // 2. What validation chose.
    let chosen = ["lambda", "components", "radius"].iter().find_map(|key| Some((key, report[key].as_f64()?)));
    parts.extend(chosen.map(|(key, value)| format!("{key} {}", significant(value))));
    let validation = &report["validation"];
    let value = validation["best"].as_f64().zip(validation["metric"].as_str());
    let interval = evidence["interval"][0].as_f64().zip(evidence["interval"][1].as_f64());
    let own = interval.map_or_else(String::new, |(low, high)| format!(" [{low:.4}, {high:.4}]"));
    parts.extend(value.map(|(value, metric)| format!("{metric} {value:.4}{own} on validation")));
    let warnings: Vec<&str> =
        report["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A warning may begin with the line that compares.
    let lines = evidence["lines"].as_array().filter(|_| !evidence["compared_with"].is_null());
    let compared = lines.and_then(|lines| lines.last()?.as_str());
    let is_new = |line: &&str| !warnings.iter().any(|warning| warning.starts_with(*line));
    parts.extend(compared.filter(is_new).map(str::to_owned));
    parts.push(format!("{:.1} s", report["seconds"]["all"].as_f64().unwrap_or_default()));
    // 3. Warnings.
    parts.push(match warnings[..] {
        [] => "no warnings".to_owned(),
        [only] => format!("1 warning: {only}"),
        _ => {
            let numbered = (1..).zip(&warnings).map(|(number, warning)| format!(" ({number}) {warning}"));
            format!("{} warnings:{}", warnings.len(), numbered.collect::<String>())
        }
    });
    parts.extend(report["advice"].as_str().map(|advice| format!("advice: {advice}")));
    let (name, version, algorithm) = (text("name"), &report["version"], text("algorithm"));
    // 4. The model. One named after its algorithm says so once.
    let model = if name == algorithm {
        format!("{name}@{version}")
    } else {
        format!("{name}@{version} ({algorithm})")
    };
    let state = if report["active"] == false { ", not active" } else { "" };
    format!("{model}{state}: {}", parts.join(", ")).replace(['\n', '\r'], " ")
}

/// A counted noun, such as `2 columns ignored`.
fn counted(count: u64, thing: &str, rest: &str) -> String {
    format!("{count} {thing}{}{rest}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_line_says_what_was_trained_and_how_well() {
        let mut report = json!({
            "name": "hotels", "version": 3, "algorithm": "rank_svm", "queries": 80, "documents": 960,
            "lambda": libm::exp10(-2.0), "validation": {"metric": "ndcg@10", "best": 0.87654}, "warnings": [],
            "seconds": {"all": 1.234},
        });
        assert_eq!(
            short_report(&report),
            "hotels@3 (rank_svm): 80 queries, 960 documents, lambda 0.01, ndcg@10 0.8765 on validation, 1.2 s, no warnings"
        );
        report["evidence"] = json!({
            "informative_queries": 62, "interval": [0.81, 0.94], "compared_with": "ORDER BY \"price\"",
            "lines": ["62 of 80 queries", "not shown to be better than ORDER BY \"price\": +0.0123"],
        });
        assert_eq!(
            short_report(&report),
            "hotels@3 (rank_svm): 80 queries, 62 of them informative, 960 documents, lambda 0.01, ndcg@10 0.8765 [0.8100, 0.9400] \
             on validation, not shown to be better than ORDER BY \"price\": +0.0123, 1.2 s, no warnings"
        );
        // A warning that begins with the line replaces it.
        report["warnings"] = json!([
            "not shown to be better than ORDER BY \"price\": +0.0123; more judged queries may show a gain"
        ]);
        assert_eq!(short_report(&report).matches("not shown").count(), 1);
        report["warnings"] = json!([]);
        report["evidence"] = Value::Null;
        report["active"] = json!(false);
        report["features"] = json!(5);
        report["roles"] = json!({"ignored": ["price"]});
        report["added"] = json!({"queries": 8, "documents": 96});
        assert!(
            short_report(&report).starts_with(
                "hotels@3 (rank_svm), not active: 80 queries (8 added), 960 documents (96 added), 5 features, 1 column \
                 ignored, lambda"
            ),
            "{}",
            short_report(&report)
        );
        for key in ["active", "features", "roles", "added"] {
            report[key] = Value::Null;
        }
        report["name"] = json!("rank_svm");
        report["validation"] = Value::Null;
        report["lambda"] = Value::Null;
        report["radius"] = json!(10.0);
        report["warnings"] = json!(["a\nb", "c"]);
        assert_eq!(
            short_report(&report),
            "rank_svm@3: 80 queries, 960 documents, radius 10, 1.2 s, 2 warnings: (1) a b (2) c"
        );
    }
}
