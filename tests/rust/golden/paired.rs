//! Paired tests against SciPy (`paired/paired.py`), and by simulation.

use serde_json::Value;
use sqlite_ltr::internals::apply::{PairedTest, TestKind, t_quantile, two_sided_t};
use sqlite_ltr::internals::math::normal;
use sqlite_ltr::internals::math::random::Random;

fn golden() -> Value {
    serde_json::from_str(include_str!("paired/paired.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[test]
fn students_distribution_matches_scipy() {
    let golden = golden();
    for row in golden["tails"].as_array().unwrap() {
        let actual = two_sided_t(number(&row["t"]), number(&row["degrees"]));
        let expected = number(&row["p"]);
        assert!((actual - expected).abs() <= 1e-10 * expected, "{row}: {actual:e}");
    }
    for row in golden["quantiles"].as_array().unwrap() {
        let actual = t_quantile(number(&row["tail"]), number(&row["degrees"]));
        let expected = number(&row["t"]);
        assert!((actual - expected).abs() <= 1e-10 * expected, "{row}: {actual}");
    }
}

/// Exact figures to 1e-10; sampled ones within 5 standard errors of two samples.
#[test]
fn tests_agree_with_scipy() {
    let golden = golden();
    let samples = number(&golden["samples"]);
    for case in golden["cases"].as_array().unwrap() {
        let (a, b) = (numbers(&case["a"]), numbers(&case["b"]));
        let what = format!("{} n = {}", case["name"], a.len());
        let actual = |kind| {
            let test = PairedTest { samples: 100_000, ..PairedTest::new(kind, 0.95) };
            test.compare(&a, &b)
        };
        let near = |actual: f64, expected: &Value, tolerance: f64, which: &str| {
            let expected = number(expected);
            assert!((actual - expected).abs() <= tolerance, "{what}, {which}: {actual}, SciPy {expected}");
        };
        let t = actual(TestKind::T);
        near(t.p_value.unwrap(), &case["t"]["p"], 1e-10, "p of t");
        near(t.interval.unwrap().0, &case["t"]["low"], 1e-10, "low of t");
        near(t.interval.unwrap().1, &case["t"]["high"], 1e-10, "high of t");
        let p = number(&case["randomization"]["p"]);
        let error = if a.len() <= 12 { 1e-10 } else { 5.0 * (2.0 * p * (1.0 - p) / samples).sqrt() + 1e-5 };
        near(
            actual(TestKind::Randomization).p_value.unwrap(),
            &case["randomization"]["p"],
            error,
            "p of signs",
        );
        // The error of a tail quantile of N(0, s^2) is sqrt(q (1 - q) / B) / density = 2.67 s / sqrt(B) for q = 0.025; ties
        // of few pairs are steps of 0.2 / n.
        let boot = actual(TestKind::Bootstrap).interval.unwrap();
        let width = number(&case["bootstrap"]["high"]) - number(&case["bootstrap"]["low"]);
        let step = if case["name"] == "ties" { 0.2 / a.len() as f64 } else { 0.0 };
        let error = 5.0 * 2.0_f64.sqrt() * 2.67 * (width / 3.92) / samples.sqrt() * 2.0 + step;
        near(boot.0, &case["bootstrap"]["low"], error, "low of bootstrap");
        near(boot.1, &case["bootstrap"]["high"], error, "high of bootstrap");
    }
}

/// Data sets of a simulation.
const SETS: usize = 2000;

/// Share of data sets whose interval covers the true mean, and share with p at most 0.05 though it is 0.
fn simulate(test: &PairedTest, n: usize, draw: fn(f64) -> f64) -> (f64, f64) {
    let mut random = Random::new(n as u64);
    let (mut covered, mut refused) = (0, 0);
    for seed in 0..SETS {
        let test = PairedTest { seed: seed as u64, ..test.clone() };
        let d: Vec<f64> = (0..n).map(|_| draw(0.5 + 0.5 * random.symmetric())).collect();
        let found = test.compare(&d, &vec![0.0; n]);
        let (low, high) = found.interval.unwrap();
        covered += usize::from(low <= 0.0 && 0.0 <= high);
        refused += usize::from(found.p_value.unwrap() <= 0.05);
    }
    (covered as f64 / SETS as f64, refused as f64 / SETS as f64)
}

fn normal(u: f64) -> f64 {
    normal::quantile(u.clamp(1e-12, 1.0 - 1e-12))
}

/// Differences of two precisions at 5: multiples of 0.2, most of them 0.
fn steps(u: f64) -> f64 {
    [-0.4, -0.2, -0.2, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.4][((10.0 * u) as usize).min(9)]
}

/// Mean 0, skewness 2.
fn exponential(u: f64) -> f64 {
    -(1.0 - u).max(1e-12).ln() - 1.0
}

/// 2,000 data sets without a difference. With `LTR_LONG=1` more sizes and a skewed distribution. The error of a share of .05
/// is .005. More samples would change nothing: 999 make the test of a level of .05 exact, too.
#[test]
#[expect(clippy::print_stdout, reason = "the figures of docs/guide/comparing.md")]
fn intervals_cover_and_p_values_are_valid() {
    let long = crate::is_long();
    let sizes: &[usize] = if long { &[10, 20, 50, 200] } else { &[12, 40] };
    for n in sizes {
        for (kind, name, draw) in [
            (TestKind::Randomization, "normal", normal as fn(f64) -> f64),
            (TestKind::Randomization, "steps", steps),
            (TestKind::Randomization, "exponential", exponential),
            (TestKind::T, "normal", normal),
            (TestKind::T, "exponential", exponential),
            (TestKind::Bootstrap, "normal", normal),
            (TestKind::Bootstrap, "exponential", exponential),
        ] {
            if !long && name == "exponential" {
                continue;
            }
            let test = PairedTest { samples: 999, ..PairedTest::new(kind, 0.95) };
            let (coverage, refused) = simulate(&test, *n, draw);
            println!(
                "{:13} {name:11} n = {n:3}: coverage {coverage:.4}, type I error {refused:.4}",
                kind.name()
            );
            // Skewed differences, and few pairs in a bootstrap, are only nearly covered: the page has the figures.
            let exact = name != "exponential" && kind != TestKind::Bootstrap;
            let (least, most) = if exact { (0.93, 0.07) } else { (0.84, 0.17) };
            assert!(coverage >= least && refused <= most, "{kind:?} {name} {n}: {coverage} {refused}");
            // Ties make the randomization test conservative, nothing makes it useless.
            assert!(coverage <= 0.995 && refused >= 0.005, "{kind:?} {name} {n}: {coverage} {refused}");
        }
    }
}
