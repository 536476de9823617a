//! Tests of statistics.

use super::*;

#[test]
fn counts_fit_each_other() {
    // 4 queries of 3 documents each in fold 1, one of them without two grades; two features, one value is missing.
    let mut numbers = vec![0.0; HEAD + 4];
    numbers[Count::Queries.in_fold(1)] = 4.0;
    numbers[Count::Informative.in_fold(1)] = 3.0;
    numbers[Count::Pairs.in_fold(1)] = 9.0;
    (numbers[DOCUMENTS], numbers[ORDERED_PAIRS], numbers[DOUBLE]) = (12.0, 24.0, 12.0);
    (numbers[HEAD], numbers[HEAD + 1]) = (12.0, 11.0);
    assert!(DataStatistics::new(numbers.clone()).is_ok());
    for (at, wrong) in [
        (Count::Queries.in_fold(1), 2.0),
        (Count::Queries.in_fold(1), 13.0),
        (Count::Queries.in_fold(0), 0.5),
        (Count::Informative.in_fold(0), 1.0),
        (Count::Pairs.in_fold(1), 13.0),
        (DOCUMENTS, 11.0),
        (DOCUMENTS, 3.0),
        (ORDERED_PAIRS, 8.0),
        (DOUBLE, 13.0),
        (HEAD + 1, 13.0),
        (HEAD + 1, -1.0),
        (HEAD + 2, f64::INFINITY),
    ] {
        let mut numbers = numbers.clone();
        numbers[at] = wrong;
        assert!(DataStatistics::new(numbers).is_err(), "{at}: {wrong}");
    }
}

#[test]
fn bins_are_in_the_order_of_values_and_small_whole_numbers_are_exact() {
    let values = [f64::MIN, -1e9, -3.0, -1.0, -0.3, -1e-40, 0.0, 1e-40, 0.3, 1.0, 200.0, 1e9, f64::MAX];
    assert!(values.windows(2).all(|pair| bin(pair[0]) <= bin(pair[1])));
    for whole in -256..=256 {
        let value = f64::from(whole);
        assert_eq!(bin_value(bin(value) | 7 << 16).to_bits(), (value + 0.0).to_bits());
    }
    for value in [0.3, -0.3, 12.34, -1e9] {
        let found = bin_value(bin(value)) / value;
        assert!((0.992..=1.0).contains(&found), "{value}: {found}");
    }
}
