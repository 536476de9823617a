//! Pseudo-random numbers, determined by the seed alone.

/// A fixed sequence (splitmix64, Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in -1..1.
    pub fn symmetric(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// Shuffles values (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

// Standard normal quantile function.

/// A rational function: coefficients from low to high powers; the denominator begins with r, after the constant 1.
struct Rational {
    numerator: [f64; 8],
    denominator: [f64; 7],
}

impl Rational {
    fn at(&self, r: f64) -> f64 {
        let top = self.numerator.iter().rev().fold(0.0, |sum, c| sum * r + c);
        let bottom = self.denominator.iter().rev().fold(0.0, |sum, c| sum * r + c) * r + 1.0;
        top / bottom
    }
}

/// z with P(Z <= z) = p for a standard normal Z and p in (0, 1), to about 16 digits.
///
/// Wichura (1988), algorithm AS 241 (PPND16).
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * CENTER.at(0.180_625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let z = if r <= 5.0 { MIDDLE.at(r - 1.6) } else { FAR.at(r - 5.0) };
    if q < 0.0 { -z } else { z }
}

/// For |p - 1/2| <= 0.425.
#[rustfmt::skip]
const CENTER: Rational = Rational {
    numerator: [
        3.387_132_872_796_366_5, 1.331_416_678_917_843_8e2, 1.971_590_950_306_551_3e3, 1.373_169_376_550_946e4,
        4.592_195_393_154_987e4, 6.726_577_092_700_87e4, 3.343_057_558_358_813e4, 2.509_080_928_730_122_7e3,
    ],
    denominator: [
        4.231_333_070_160_091e1, 6.871_870_074_920_579e2, 5.394_196_021_424_751e3, 2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4, 2.872_908_573_572_194_3e4, 5.226_495_278_852_545e3,
    ],
};

/// For the tails down to about 1.4e-11.
#[rustfmt::skip]
const MIDDLE: Rational = Rational {
    numerator: [
        1.423_437_110_749_683_5, 4.630_337_846_156_546, 5.769_497_221_460_691, 3.647_848_324_763_204_5,
        1.270_458_252_452_368_4, 2.417_807_251_774_506e-1, 2.272_384_498_926_918_4e-2, 7.745_450_142_783_414e-4,
    ],
    denominator: [
        2.053_191_626_637_759, 1.676_384_830_183_803_8, 6.897_673_349_851e-1, 1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2, 5.475_938_084_995_345e-4, 1.050_750_071_644_416_9e-9,
    ],
};

/// For smaller tails.
#[rustfmt::skip]
const FAR: Rational = Rational {
    numerator: [
        6.657_904_643_501_103, 5.463_784_911_164_114, 1.784_826_539_917_291_3, 2.965_605_718_285_049e-1,
        2.653_218_952_657_612_4e-2, 1.242_660_947_388_078_4e-3, 2.711_555_568_743_487_6e-5, 2.010_334_399_292_288_1e-7,
    ],
    denominator: [
        5.998_322_065_558_88e-1, 1.369_298_809_227_358e-1, 1.487_536_129_085_061_5e-2, 7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5, 1.421_511_758_316_446e-7, 2.044_263_103_389_939_8e-15,
    ],
};

#[cfg(test)]
mod random_tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_that_the_seed_decides() {
        let shuffled = |seed| {
            let mut values: Vec<usize> = (0..100).collect();
            Random::new(seed).shuffle(&mut values);
            values
        };
        let mut sorted = shuffled(1);
        assert_eq!(sorted, shuffled(1));
        assert_ne!(sorted, shuffled(2));
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut random = Random::new(3);
        let values: Vec<f64> = (0..1000).map(|_| random.symmetric()).collect();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().any(|value| *value < -0.9) && values.iter().any(|value| *value > 0.9));
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}

#[cfg(test)]
mod normal_tests {
    use super::*;

    #[test]
    fn the_normal_quantile_matches_tabulated_values() {
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.9, 1.281_551_565_544_600_4),
            (1e-6, -4.753_424_308_822_899),
            (1e-20, -9.262_340_089_798_408),
            (0.841_344_746_068_542_9, 1.0),
        ] {
            assert!((quantile(p) - z).abs() <= 1e-12 * (1.0 + z.abs()), "{p}: {}", quantile(p));
        }
    }
}
