//! Comparisons with brute force, and the duality of interval and p-value.

use super::*;
use crate::math::Random;

fn test(kind: TestKind) -> PairedTest {
    PairedTest::new(kind, 0.95)
}

/// Differences `d` as two series.
fn compare(test: &PairedTest, d: &[f64]) -> Comparison {
    test.compare(d, &vec![0.0; d.len()])
}

fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.symmetric() + 0.3).collect()
}

/// The fraction of all 2^n sign patterns whose sum is as far from 0 as the sum of `d`.
fn brute_force(d: &[f64]) -> f64 {
    let sum = |pattern: u32| -> f64 {
        d.iter().enumerate().map(|(i, d)| if pattern >> i & 1 == 1 { -d } else { *d }).sum()
    };
    let patterns = 1_u32 << d.len();
    let extreme = (0..patterns).filter(|pattern| sum(*pattern).abs() >= sum(0).abs() - 1e-9).count();
    extreme as f64 / f64::from(patterns)
}

#[test]
fn the_exact_randomization_test_counts_every_sign_pattern() {
    for n in 1..=14 {
        for seed in 0..10 {
            let mut d = values(n, seed);
            if seed % 3 == 0 {
                d.iter_mut().for_each(|d| *d = (*d * 5.0).round() / 5.0);
            }
            for sign in [1.0, -1.0] {
                let signed: Vec<f64> = d.iter().map(|d| sign * d).collect();
                let found = compare(&test(TestKind::Randomization), &signed).p_value.unwrap();
                assert!((found - brute_force(&signed)).abs() < 1e-12, "{d:?}: {found}");
            }
        }
    }
}

/// The rank sums of all 2^n patterns, and the normal approximation against the exact test.
#[test]
fn the_signed_rank_test_counts_every_sign_pattern() {
    let p_of = |d: &[f64]| compare(&test(TestKind::Wilcoxon), d).p_value.unwrap();
    for seed in 0..30 {
        let d: Vec<f64> =
            values(1 + seed as usize % 12, seed).iter().map(|d| (d * 6.0).round() / 6.0).collect();
        let sizes: Vec<f64> = d.iter().map(|d| d.abs()).filter(|size| *size > 1e-9).collect();
        let rank = |size: f64| -> f64 {
            let below = sizes.iter().filter(|other| **other < size - 1e-9).count();
            let equal = sizes.iter().filter(|other| (**other - size).abs() < 1e-9).count();
            below as f64 + f64::midpoint(equal as f64, 1.0)
        };
        let ranks: Vec<f64> = sizes.iter().map(|size| rank(*size)).collect();
        let w: f64 = d.iter().filter(|d| **d > 1e-9).map(|d| rank(*d)).sum();
        let all: f64 = ranks.iter().sum();
        let patterns = 1_u32 << ranks.len();
        let sum = |pattern: u32| -> f64 {
            ranks.iter().enumerate().filter(|(i, _)| pattern >> i & 1 == 1).map(|(_, rank)| rank).sum()
        };
        let tail = w.min(all - w);
        let as_far = (0..patterns).filter(|pattern| sum(*pattern) <= tail + 1e-9).count();
        let expected = (2.0 * as_far as f64 / f64::from(patterns)).min(1.0);
        assert!((p_of(&d) - expected).abs() < 1e-12, "{d:?}");
    }
    // Hollander & Wolfe 1999, example 3.1: W = 40 of nine differences without ties, p = .039 on two sides.
    let d = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];
    assert!((p_of(&d) - 20.0 / 512.0).abs() < 1e-12);
    assert!((p_of(&[0.0; 4]) - 1.0).abs() < 1e-12);
    let mut many = values(51, 3);
    let approximate = p_of(&many);
    many.pop();
    assert!((approximate.ln() - p_of(&many).ln()).abs() < 1.5, "{approximate}");
}

/// A value is inside the interval if and only if the test of the differences minus the value does not reject.
#[test]
fn the_interval_has_the_values_that_the_test_does_not_refuse() {
    let alpha = 0.05 + 1e-12;
    for n in [6, 9, 12, 30] {
        let d = values(n, n as u64);
        let test = PairedTest { samples: 999, ..test(TestKind::Randomization) };
        let (low, high) = compare(&test, &d).interval.unwrap();
        let p_at = |value: f64| {
            let moved: Vec<f64> = d.iter().map(|d| d - value).collect();
            compare(&test, &moved).p_value.unwrap()
        };
        let width = high - low;
        for (inside, outside) in
            [(low + 1e-6 * width, low - 1e-6 * width), (high - 1e-6 * width, high + 1e-6 * width)]
        {
            assert!(p_at(inside) > alpha, "n = {n}: {inside} has p {}", p_at(inside));
            assert!(p_at(outside) <= alpha, "n = {n}: {outside} has p {}", p_at(outside));
        }
    }
}

/// Resamples of 2 and 3 values, all of them listed.
#[test]
fn the_bootstrap_is_near_all_resamples() {
    for d in [vec![1.0, 4.0], vec![-1.0, 0.5, 2.0]] {
        let (n, center) = (d.len(), mean(&d));
        let all: Vec<f64> = (0..n.pow(n as u32))
            .map(|code| (0..n).map(|i| d[code / n.pow(i as u32) % n]).sum::<f64>() / n as f64)
            .collect();
        let extreme = all.iter().filter(|mean| (*mean - center).abs() >= center.abs() - 1e-12).count();
        let exact = extreme as f64 / all.len() as f64;
        let test = PairedTest { samples: 100_000, ..test(TestKind::Bootstrap) };
        let found = compare(&test, &d);
        assert!((found.p_value.unwrap() - exact).abs() < 0.01, "{d:?}: {found:?}, exact {exact}");
        let (low, high) = found.interval.unwrap();
        assert!(low < center && center < high && low >= d[0] && high <= d[n - 1], "{found:?}");
    }
}

#[test]
fn few_pairs_and_equal_differences_have_clear_answers() {
    for kind in [TestKind::Randomization, TestKind::T, TestKind::Bootstrap] {
        let test = test(kind);
        assert_eq!(compare(&test, &[]), Comparison::default());
        let one = compare(&test, &[2.0]);
        assert_eq!((one.n, one.difference, one.interval), (1, Some(2.0), None));
        assert_eq!(one.p_value, (kind == TestKind::Randomization).then_some(1.0));
        for n in [8, 100] {
            let zero = compare(&test, &vec![0.0; n]);
            assert_eq!((zero.interval, zero.p_value), (Some((0.0, 0.0)), Some(1.0)), "{kind:?}, {n}");
            let same = compare(&test, &vec![0.3; n]);
            let (low, high) = same.interval.unwrap();
            assert!((low - 0.3).abs() < 1e-12 && (high - 0.3).abs() < 1e-12, "{kind:?}, {n}: {same:?}");
            assert!(same.p_value.unwrap() < 0.01, "{kind:?}, {n}: {same:?}");
        }
    }
    // 5 pairs have 16 pairs of opposite patterns: fewer than 1 of 20.
    assert_eq!(compare(&test(TestKind::Randomization), &values(5, 1)).interval, None);
}

#[test]
fn the_size_of_values_changes_nothing() {
    for kind in [TestKind::Randomization, TestKind::T, TestKind::Bootstrap] {
        let d = values(20, 5);
        let expected = compare(&test(kind), &d);
        for exponent in [900, -900] {
            let scaled: Vec<f64> = d.iter().map(|d| libm::scalbn(*d, exponent)).collect();
            let actual = compare(&test(kind), &scaled);
            assert_eq!(actual.p_value, expected.p_value, "{kind:?}");
            let back = actual
                .interval
                .map(|(low, high)| (libm::scalbn(low, -exponent), libm::scalbn(high, -exponent)));
            assert_eq!(back, expected.interval, "{kind:?}");
        }
    }
}

#[test]
fn holm_corrects_in_the_order_of_p_values() {
    // 3 tests: .01 x 3, then .02 x 2, then .04 x 1, none below an earlier one.
    assert_eq!(holm(&[Some(0.04), Some(0.01), None, Some(0.02)]), [Some(0.04), Some(0.03), None, Some(0.04)]);
    assert_eq!(holm(&[Some(0.5), Some(0.5)]), [Some(1.0), Some(1.0)]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn f_quantiles_match_tables() {
    for (tail, above, below, expected) in
        [(0.05, 5.0, 10.0, 3.3258), (0.01, 1.0, 1.0, 4052.18), (0.001, 4.0, 20.0, 7.0960)]
    {
        let actual = f_quantile(tail, above, below);
        assert!((actual / expected - 1.0).abs() < 1e-4, "{tail} {above} {below}: {actual}");
    }
    // The square of t.
    let t = t_quantile(0.002, 7.5);
    assert!((f_quantile(0.002, 1.0, 7.5) / (t * t) - 1.0).abs() < 1e-9);
}
