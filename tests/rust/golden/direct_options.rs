//! The loss of direct optimization that a golden case asks for.

use serde_json::Value;
use sqlite_ltr::internals::cost::loss::list::{Bound, Decoder, Direct, Measure};

/// The measure and decoder of a case, with this bound and the neutral grade of its file.
pub fn direct(case: &Value, bound: Bound, neutral: f64) -> Direct {
    let k = case["k"].as_u64().map(|k| k as usize);
    let eru = |normalized| Measure::Eru { neutral, half_life: 3.0, normalized };
    let measure = match case["measure"].as_str().unwrap() {
        "wta" => Measure::Wta,
        "mrr" => Measure::Mrr(None),
        "dcg" | "dcg@k" => Measure::Dcg(k),
        "ndcg" | "ndcg@k" => Measure::Ndcg(k),
        "prec@k" => Measure::Precision(k.unwrap()),
        "eru" => eru(false),
        "neru" => eru(true),
        other => panic!("unknown measure {other}"),
    };
    let depth = || case.get("c_k").unwrap_or(&case["k"]).as_u64().unwrap() as usize;
    let decoder = match case["c_kind"].as_str().unwrap() {
        "linear@k" => Decoder::Linear(depth()),
        "power" => Decoder::Power(0.25),
        "log" => Decoder::Log,
        "a" => Decoder::Metric,
        other => panic!("unknown decoder {other}"),
    };
    Direct { measure, decoder, bound, diverse: false }
}
