//! A paired permutation test: under the null hypothesis each difference may have either sign.

/// Draws of signs.
const DRAWS: u32 = 10_000;
const SEED: u64 = 1;

/// The fraction of sign changes whose sum is at least as far from 0 as the sum of the differences, original signs included.
pub fn p_value(differences: &[f64]) -> f64 {
    let found = differences.iter().sum::<f64>().abs();
    // Sums that differ by rounding only are equal.
    let rounding = 1e-12 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let mut signs = Signs { state: SEED, bits: 0, left: 0 };
    let far = (0..DRAWS).filter(|_| {
        let sum: f64 = differences.iter().map(|d| if signs.next() { *d } else { -*d }).sum();
        sum.abs() >= found - rounding
    });
    f64::from(1 + far.count() as u32) / f64::from(1 + DRAWS)
}

/// Random signs (splitmix64).
struct Signs {
    state: u64,
    bits: u64,
    left: u32,
}

impl Signs {
    fn next(&mut self) -> bool {
        if self.left == 0 {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            self.bits = z ^ (z >> 31);
            self.left = u64::BITS;
        }
        self.left -= 1;
        (self.bits >> self.left) & 1 == 1
    }
}
