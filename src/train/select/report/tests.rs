use super::*;
use crate::base::Error;

fn selection(curve: &[(f64, f64)], chosen: usize) -> Selection {
    let split = Split::Documents { held_out: 9, all: 40 };
    let curve = curve.iter().map(|(candidate, value)| (*candidate, Some(*value))).collect();
    Selection::new(&Metric::parse("ndcg@10").unwrap(), split, curve, Some(chosen))
}

#[test]
fn the_factor_of_an_error_is_that_of_its_split() {
    let factor =
        |held_out, all, folds| Split::Queries { held_out, all, folds, by: FoldsBy::Query }.error_factor();
    // 1 + n_held_out / n_trained: 1 + 1 / 4 of five folds is without sharing; all five together count as 1 + 5 / 4.
    assert!((factor(40, 40, 5) - 1.5).abs() < 1e-15);
    assert!((factor(40, 40, 2) - 3.0_f64.sqrt()).abs() < 1e-15);
    // One fold: 1 + 10 / 30 = 40 / 30.
    assert!((factor(10, 40, 1) - (4.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    let repeated = Split::RepeatedQueries { held_out: 40, all: 40, times: 3, folds: 5, by: FoldsBy::Query };
    assert!((repeated.error_factor() - 1.5).abs() < 1e-15);
    assert!((Split::SourceQueries(9).error_factor() - 1.0).abs() < 1e-15);
}

#[test]
fn a_reference_is_read_as_it_was_written() {
    let error = StandardError { error: 0.25, factor: 1.5, queries: 8 };
    let report = |best, error| SelectionReport::new("map".into(), "all".into(), best, error, None);
    let read = |report| SelectionReport::reference(&serde_json::to_value(report).unwrap()).unwrap();
    assert_eq!(read(report(Some(0.5), Some(error))), Some((0.5, error)));
    assert_eq!(read(report(Some(0.5), None)), None);
    assert_eq!(read(report(None, Some(error))), None);
    for wrong in [
        StandardError { error: -0.25, ..error },
        StandardError { error: 1e200, ..error },
        StandardError { factor: 0.5, ..error },
        StandardError { factor: 1e100, ..error },
        StandardError { queries: 1, ..error },
    ] {
        let report = serde_json::to_value(report(Some(0.5), Some(wrong))).unwrap();
        assert!(matches!(SelectionReport::reference(&report), Err(Error::Corrupt(_))), "{wrong:?}");
    }
}

#[test]
fn equal_values_of_a_metric_are_rounded_and_no_metric_is_named() {
    let curve = [(1.0, 0.422_791_313), (0.1, 0.422_791_313)];
    let searched = Searched { center: Some("the biases"), ..Searched::new("lambda", 1.0) };
    assert_eq!(
        selection(&curve, 0).warning(&searched).unwrap(),
        "ndcg@10 is 0.4228 with every lambda, so the choice makes no difference to it; the largest one is used, which \
         departs least from the biases"
    );
    let perfect = selection(&[(1.0, 1.0), (0.1, 1.0)], 0);
    assert_eq!(perfect.warning(&Searched::new("lambda", 1.0)), None);
    let ratings = Selection { split: Split::RatingFraction, ..perfect };
    assert!(ratings.warning(&searched).is_some());
}

#[test]
fn a_value_at_the_end_of_its_grid_warns() {
    let curve = [(libm::exp10(3.0), 0.1), (1.0, 0.3), (libm::exp10(-3.0), 0.2)];
    let warning = |chosen: usize, searched: Searched| selection(&curve, chosen).warning(&searched);
    assert_eq!(
        warning(2, Searched::new("lambda", 0.001)).unwrap(),
        "lambda 0.001 is the smallest of 3 candidates, 0.001 to 1000; a smaller one may be better: set \"lambda\": [0.01, \
         0.001, 0.0001, 0.00001]"
    );
    assert_eq!(
        warning(0, Searched::new("radius", 1000.0)).unwrap(),
        "radius 1000 is the largest of 3 candidates, 1000 to 0.001; a larger one may be better: set \"radius\": [100, \
         1000, 10000, 100000]"
    );
    assert_eq!(warning(1, Searched::new("lambda", 1.0)), None);
    let flat = selection(&[(100.0, 0.3), (10.0, 0.3), (1.0, 0.2)], 0);
    assert_eq!(flat.warning(&Searched::new("lambda", 100.0)), None);
    let near = [(100.0, 0.3), (30.0, 0.29), (10.0, 0.28), (1.0, 0.2)];
    let error = |error| Some(StandardError { error, factor: 1.0, queries: 9 });
    let noisy = Selection { error: error(0.1), ..selection(&near, 0) };
    assert_eq!(noisy.warning(&Searched::new("lambda", 100.0)), None);
    let clear = Selection { error: error(0.05), ..selection(&near, 0) };
    assert!(clear.warning(&Searched::new("lambda", 100.0)).is_some());
    // A difference that is small against its own error.
    for (end_error, is_told) in [(0.02, false), (0.005, true)] {
        let paired = Selection { end_error: Some(end_error), ..clear.clone() };
        assert_eq!(paired.warning(&Searched::new("lambda", 100.0)).is_some(), is_told);
    }
    let worse = Selection { end_error: Some(0.0), ..selection(&[(10.0, 0.1), (1.0, 0.2), (0.1, 0.19)], 2) };
    assert_eq!(worse.warning(&Searched::new("lambda", 0.1)), None);
    let prior = Searched { center: Some("the prior"), ..Searched::new("lambda", 1000.0) };
    assert!(warning(0, prior).unwrap().ends_with("no smaller one is clearly better than the prior alone"));
    let limited = Searched { limits: (0.001, 1000.0), ..Searched::new("components", 1.0) };
    assert_eq!(warning(0, limited.clone()), None);
    let components = Searched { limits: (1.0, 8.0), ..Searched::new("components", 7.0) };
    assert_eq!(
        (components.from(7.0, 10.0), components.from(3.0, 0.1)),
        ("6, 7, 8".into(), "4, 3, 2, 1".into())
    );
    assert_eq!(warning(2, limited), None);
    assert_eq!(selection(&curve[..1], 0).warning(&Searched::new("lambda", 1.0)), None);
}
