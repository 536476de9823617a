//! Borders between 64-bit numbers that are rounded to 32 bits before they are compared.

/// The largest x for which `x as f32 <= border`. The border is not NaN and not positive infinity.
pub fn at_most_single(border: f32) -> f64 {
    // Beyond the largest 32-bit number, numbers are rounded as if the next power of two were representable.
    let beyond = 2.0 * f64::from(f32::MAX / 2.0 + f32::MAX / 2.0_f32.powi(25));
    let wide = |x: f32| if x.is_finite() { f64::from(x) } else { beyond.copysign(f64::from(x)) };
    let middle = f64::midpoint(wide(border), wide(border.next_up()));
    if (middle as f32) <= border { middle } else { middle.next_down() }
}

/// The largest x for which `(x as f32) < border`. The border is not NaN and not negative infinity.
pub fn below_single(border: f32) -> f64 {
    at_most_single(border.next_down())
}

/// The largest 32-bit number that is at most x.
pub fn single_at_most(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) <= x { near } else { near.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_is_the_last_number_that_is_rounded_down() {
        let some = [1.0, 1.5, -1.0, 3.3, 1e-30, f32::MIN_POSITIVE, 1e-45, 0.0, -0.0, -1e-45, 1e38, f32::MAX];
        for border in some.into_iter().flat_map(|x: f32| [x, -x]).chain([f32::NEG_INFINITY]) {
            let last = at_most_single(border);
            assert!(last as f32 <= border && last.next_up() as f32 > border, "{border}: {last}");
            assert!(single_at_most(last) >= border || border == 0.0);
        }
        for border in some {
            let last = below_single(border);
            assert!((last as f32) < border && last.next_up() as f32 >= border, "{border}: {last}");
        }
    }
}
