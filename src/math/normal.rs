//! Standard normal quantile function.

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
mod tests {
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
