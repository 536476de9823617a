//! The exact sign test.

/// P(|X - n/2| >= |a - n/2|) for X binomial with n = a + b trials of probability 1/2: the two-sided p-value of `a` against `b`
/// wins. 1 if there are none.
///
/// The probabilities are computed relative to that of the middle by the ratio of neighbors, P(X = x - 1) / P(X = x) =
/// x / (n - x + 1), and divided by their sum, so that there is no cancellation. Terms: about 38 standard deviations.
pub fn two_sided(a: u64, b: u64) -> f64 {
    let (smaller, n) = (a.min(b), a + b);
    let middle = n / 2;
    // Sums over x <= middle, the smallest terms last; in the lower tail x <= smaller.
    let (mut term, mut half, mut tail) = (1.0_f64, 0.0, 0.0);
    let mut x = middle;
    loop {
        half += term;
        if x <= smaller {
            tail += term;
        }
        // Subnormal terms would be rounded to themselves again and again.
        if x == 0 || term < f64::MIN_POSITIVE {
            break;
        }
        term *= x as f64 / (n - x + 1) as f64;
        x -= 1;
    }
    // The distribution is symmetric: the middle of an even n has no mirror image.
    let all = if n % 2 == 0 { 2.0 * half - 1.0 } else { 2.0 * half };
    (2.0 * tail / all).min(1.0)
}
