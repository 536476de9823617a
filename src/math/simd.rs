//! Runs numerical code with the widest vector registers that the processor has.
//!
//! A task is plain code whose functions are always inlined. It is compiled three times: for the baseline processor, for
//! AVX2 and for AVX-512; [`dispatch`] chooses at run time. All three give the same bits: the task fixes the order of
//! additions (`math::lanes`), and multiply and add are fused only where the code says so (`mul_add`, which rounds once on
//! every machine). `unsafe` is used for nothing but these calls and single instructions that compilers do not find
//! ([`Registers`]).
#![allow(clippy::inline_always, reason = "compiled for each register width")]
#![allow(unsafe_code, reason = "calls of functions that are compiled for registers that the processor has")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_GE_OQ, _CMP_LE_OQ, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_ps, _mm256_broadcastsi128_si256,
    _mm256_cmp_ps, _mm256_cmpeq_epi8, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epu8,
    _mm256_movemask_ps, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_ps, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_storeu_si256, _mm256_sub_epi8, _mm512_adds_epu8, _mm512_broadcast_i32x4,
    _mm512_cmp_ps_mask, _mm512_cmpgt_epu8_mask, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_maskz_set1_epi8,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_ps, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_storeu_si512, _mm512_sub_epi8,
};

/// Keys in a node of a search tree.
pub const KEYS: usize = 16;

/// Ascending keys, on a cache line. Unused ones, at the end, are NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub struct Keys(pub [f32; KEYS]);

impl Keys {
    /// No key.
    pub const NONE: Self = Self([f32::NAN; KEYS]);
}

/// Bytes that are looked up together.
pub const BYTES: usize = 64;

/// Bytes per part of a table.
pub const PART: usize = 16;

/// Added with saturation, it keeps the low bits of an index into a part, and makes others 128 or more, for which a shuffle
/// finds 0.
#[cfg(target_arch = "x86_64")]
const BEYOND: i8 = 0x70;

/// The registers that a task is compiled for.
pub trait Registers {
    /// How many keys are at most x; 0 for NaN.
    fn at_most(keys: &Keys, x: f32) -> usize;

    /// Looks up bytes in a table of at most 256: 255 where one is above its limit, else 0. A byte beyond the table is 0.
    fn are_above(table: &[[u8; PART]], indices: &[u8; BYTES], limits: &[u8; BYTES]) -> [u8; BYTES];

    /// Which of sixteen numbers are from `low` to `high`: bit i for number i.
    fn between(values: &[f32; KEYS], low: f32, high: f32) -> u32;
}

/// The registers of the baseline processor.
pub struct Baseline;

impl Registers for Baseline {
    #[inline(always)]
    fn at_most(Keys(keys): &Keys, x: f32) -> usize {
        // Without branches: they could not be predicted.
        let mut below = 8 * usize::from(keys[7] <= x);
        below += 4 * usize::from(keys[below + 3] <= x);
        below += 2 * usize::from(keys[below + 1] <= x);
        below += usize::from(keys[below] <= x);
        below + usize::from(keys[KEYS - 1] <= x)
    }

    #[inline(always)]
    fn are_above(table: &[[u8; PART]], indices: &[u8; BYTES], limits: &[u8; BYTES]) -> [u8; BYTES] {
        debug_assert!(table.len() <= PART);
        let table = table.as_flattened();
        let mut above = [0; BYTES];
        for byte in 0..BYTES {
            let found = table.get(usize::from(indices[byte])).copied().unwrap_or(0);
            above[byte] = if found > limits[byte] { u8::MAX } else { 0 };
        }
        above
    }

    #[inline(always)]
    fn between(values: &[f32; KEYS], low: f32, high: f32) -> u32 {
        let mut mask = 0;
        for (lane, value) in values.iter().enumerate() {
            mask |= (u32::from(*value >= low) & u32::from(*value <= high)) << lane;
        }
        mask
    }
}

#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Registers for Avx2 {
    #[inline(always)]
    fn at_most(Keys(keys): &Keys, x: f32) -> usize {
        // SAFETY: `with_avx2` alone uses this type. There are 16 keys.
        let masks = unsafe {
            let x = _mm256_set1_ps(x);
            let half = |first| _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_loadu_ps(keys.as_ptr().add(first)), x);
            [_mm256_movemask_ps(half(0)), _mm256_movemask_ps(half(KEYS / 2))]
        };
        (masks[0] | masks[1] << (KEYS / 2)).count_ones() as usize
    }

    #[inline(always)]
    fn are_above(table: &[[u8; PART]], indices: &[u8; BYTES], limits: &[u8; BYTES]) -> [u8; BYTES] {
        const HALF: usize = BYTES / 2;
        let mut above = [0; BYTES];
        for first in [0, HALF] {
            // SAFETY: `with_avx2` alone uses this type. Each half has 32 bytes, a part of the table 16.
            unsafe {
                let limits = _mm256_loadu_si256(limits.as_ptr().add(first).cast());
                let mut indices = _mm256_loadu_si256(indices.as_ptr().add(first).cast());
                let mut found = _mm256_setzero_si256();
                for part in table {
                    let part = _mm256_broadcastsi128_si256(_mm_loadu_si128(part.as_ptr().cast()));
                    let of_part = _mm256_adds_epu8(indices, _mm256_set1_epi8(BEYOND));
                    found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, of_part));
                    indices = _mm256_sub_epi8(indices, _mm256_set1_epi8(PART as i8));
                }
                let not_above = _mm256_cmpeq_epi8(_mm256_max_epu8(found, limits), limits);
                let is_above = _mm256_cmpeq_epi8(not_above, _mm256_setzero_si256());
                _mm256_storeu_si256(above.as_mut_ptr().add(first).cast(), is_above);
            }
        }
        above
    }

    #[inline(always)]
    fn between(values: &[f32; KEYS], low: f32, high: f32) -> u32 {
        // SAFETY: `with_avx2` alone uses this type. There are 16 numbers.
        let masks = unsafe {
            let (low, high) = (_mm256_set1_ps(low), _mm256_set1_ps(high));
            let half = |first| {
                let values = _mm256_loadu_ps(values.as_ptr().add(first));
                let above = _mm256_cmp_ps::<_CMP_GE_OQ>(values, low);
                _mm256_movemask_ps(_mm256_and_ps(above, _mm256_cmp_ps::<_CMP_LE_OQ>(values, high)))
            };
            [half(0), half(KEYS / 2)]
        };
        (masks[0] | masks[1] << (KEYS / 2)) as u32
    }
}

#[cfg(target_arch = "x86_64")]
struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Registers for Avx512 {
    #[inline(always)]
    fn at_most(Keys(keys): &Keys, x: f32) -> usize {
        // SAFETY: `with_avx512` alone uses this type. There are 16 keys.
        let mask =
            unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_loadu_ps(keys.as_ptr()), _mm512_set1_ps(x)) };
        mask.count_ones() as usize
    }

    #[inline(always)]
    fn are_above(table: &[[u8; PART]], indices: &[u8; BYTES], limits: &[u8; BYTES]) -> [u8; BYTES] {
        let mut above = [0; BYTES];
        // SAFETY: `with_avx512` alone uses this type. There are 64 bytes, and 16 in a part of the table.
        unsafe {
            let limits = _mm512_loadu_si512(limits.as_ptr().cast());
            let mut indices = _mm512_loadu_si512(indices.as_ptr().cast());
            let mut found = _mm512_setzero_si512();
            for part in table {
                let part = _mm512_broadcast_i32x4(_mm_loadu_si128(part.as_ptr().cast()));
                let of_part = _mm512_adds_epu8(indices, _mm512_set1_epi8(BEYOND));
                found = _mm512_or_si512(found, _mm512_shuffle_epi8(part, of_part));
                indices = _mm512_sub_epi8(indices, _mm512_set1_epi8(PART as i8));
            }
            let is_above = _mm512_maskz_set1_epi8(_mm512_cmpgt_epu8_mask(found, limits), -1);
            _mm512_storeu_si512(above.as_mut_ptr().cast(), is_above);
        }
        above
    }

    #[inline(always)]
    fn between(values: &[f32; KEYS], low: f32, high: f32) -> u32 {
        // SAFETY: `with_avx512` alone uses this type. There are 16 numbers.
        let mask = unsafe {
            let values = _mm512_loadu_ps(values.as_ptr());
            let above = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(values, _mm512_set1_ps(low));
            above & _mm512_cmp_ps_mask::<_CMP_LE_OQ>(values, _mm512_set1_ps(high))
        };
        u32::from(mask)
    }
}

/// A computation that [`dispatch`] compiles for several register widths. `run`, and all that it calls in hot loops,
/// must be `#[inline(always)]`.
pub trait SimdTask {
    type Output;
    fn run<R: Registers>(self) -> Self::Output;
}

/// Runs a task with the widest registers that the processor has.
#[inline]
pub fn dispatch<T: SimdTask>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    match widest() {
        // SAFETY: the processor has the features that `with_avx512` is compiled for.
        Widest::Avx512 => return unsafe { with_avx512(task) },
        // SAFETY: the processor has the features that `with_avx2` is compiled for.
        Widest::Avx2 => return unsafe { with_avx2(task) },
        Widest::Baseline => {}
    }
    task.run::<Baseline>()
}

/// Whether 18 sums of sixteen `f32` stay in the registers of [`dispatch`]; on other processors six do.
pub fn has_many_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return matches!(widest(), Widest::Avx512);
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The widest registers that the processor has.
#[cfg(target_arch = "x86_64")]
enum Widest {
    Baseline,
    Avx2,
    Avx512,
}

/// Compiled once for all tasks.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn widest() -> Widest {
    use std::arch::is_x86_feature_detected as has;
    if !has!("avx2") || !has!("fma") || !has!("popcnt") {
        Widest::Baseline
    } else if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
        Widest::Avx512
    } else {
        Widest::Avx2
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,popcnt")]
fn with_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn with_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run::<Avx2>()
}

/// Defines a function whose body [`dispatch`] compiles for several register widths. Lifetimes come before a semicolon,
/// type parameters after it. In the body, `R` names the [`Registers`].
macro_rules! simd {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident<$($life:lifetime),* $(; $($kind:ident: $bound:path),*)?>(
            $($argument:ident: $type:ty),* $(,)?
        ) $(-> $output:ty)? $body:block
    ) => {
        $(#[$meta])*
        $vis fn $name<$($life,)* $($($kind: $bound),*)?>($($argument: $type),*) $(-> $output)? {
            struct Task<$($life,)* $($($kind),*)?> { $($argument: $type),* }
            impl<$($life,)* $($($kind: $bound),*)?> $crate::math::simd::SimdTask for Task<$($life,)* $($($kind),*)?> {
                type Output = $crate::math::simd::simd!(@output $($output)?);

                #[allow(clippy::inline_always, reason = "compiled for each register width")]
                #[inline(always)]
                fn run<R: $crate::math::simd::Registers>(self) -> Self::Output {
                    let Self { $($argument),* } = self;
                    $body
                }
            }
            $crate::math::simd::dispatch(Task { $($argument),* })
        }
    };
    (@output) => { () };
    (@output $output:ty) => { $output };
}
pub(crate) use simd;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Lanes, lanes};

    struct Sums<'a>(&'a [Lanes]);

    impl SimdTask for Sums<'_> {
        type Output = Vec<Lanes>;

        #[inline(always)]
        fn run<R: Registers>(self) -> Vec<Lanes> {
            let mut sums = vec![Lanes::ZERO; 7];
            lanes::rows_times(self.0, 2, 50, &self.0[..2], &mut sums);
            lanes::columns_times(self.0, 2, 50, &self.0[..7], &mut sums);
            sums
        }
    }

    #[test]
    fn wide_registers_change_no_bit() {
        let values: Vec<f64> = (0..800).map(|i| (f64::from(i) * 0.37).sin() / 3.0).collect();
        let rows = lanes::from_slice(&values);
        let plain = Sums(&rows).run::<Baseline>();
        assert_eq!(dispatch(Sums(&rows)), plain);
        #[cfg(target_arch = "x86_64")]
        if !matches!(widest(), Widest::Baseline) {
            // SAFETY: the processor has the features that `with_avx2` is compiled for.
            assert_eq!(unsafe { with_avx2(Sums(&rows)) }, plain);
        }
    }

    struct Above<'a>(&'a [[u8; PART]], &'a [u8; BYTES], &'a [u8; BYTES]);

    impl SimdTask for Above<'_> {
        type Output = [u8; BYTES];

        #[inline(always)]
        fn run<R: Registers>(self) -> [u8; BYTES] {
            R::are_above(self.0, self.1, self.2)
        }
    }

    struct Masks<'a>(&'a [f32; KEYS], &'a [f32]);

    impl SimdTask for Masks<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<R: Registers>(self) -> Vec<u32> {
            self.1.windows(2).map(|bounds| R::between(self.0, bounds[0], bounds[1])).collect()
        }
    }

    #[test]
    fn bytes_are_looked_up_in_all_registers() {
        let bytes = |seed: usize| std::array::from_fn(|i| ((i * 37 + seed) * 101 % 256) as u8);
        for parts in 1..=PART {
            let table: Vec<[u8; PART]> =
                (0..parts).map(|part| std::array::from_fn(|i| (part * 53 + i * 19) as u8)).collect();
            for seed in 0..64 {
                let (indices, limits): ([u8; BYTES], [u8; BYTES]) = (bytes(seed), bytes(3 * seed + 1));
                let entry = |index: u8| table.as_flattened().get(usize::from(index)).copied().unwrap_or(0);
                let expected: [u8; BYTES] =
                    std::array::from_fn(|i| if entry(indices[i]) > limits[i] { 255 } else { 0 });
                let task = || Above(&table, &indices, &limits);
                assert_eq!(task().run::<Baseline>(), expected);
                assert_eq!(dispatch(task()), expected);
                #[cfg(target_arch = "x86_64")]
                if !matches!(widest(), Widest::Baseline) {
                    // SAFETY: the processor has the features that `with_avx2` is compiled for.
                    assert_eq!(unsafe { with_avx2(task()) }, expected);
                }
            }
        }
    }

    #[test]
    fn numbers_between_bounds_are_marked_in_all_registers() {
        let mut values: [f32; KEYS] = std::array::from_fn(|i| i as f32 * 3.0 % 7.0 - 2.0);
        [values[3], values[9], values[12]] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let bounds = [f32::NEG_INFINITY, 1.0, f32::INFINITY, f32::NAN, -1.0, 2.0, 2.0, 0.0, 4.5];
        let is_between = |low: f32, high: f32| {
            (0..KEYS).map(|i| u32::from((low..=high).contains(&values[i])) << i).sum::<u32>()
        };
        let expected: Vec<u32> = bounds.windows(2).map(|pair| is_between(pair[0], pair[1])).collect();
        assert_eq!(Masks(&values, &bounds).run::<Baseline>(), expected);
        assert_eq!(dispatch(Masks(&values, &bounds)), expected);
        #[cfg(target_arch = "x86_64")]
        if !matches!(widest(), Widest::Baseline) {
            // SAFETY: the processor has the features that `with_avx2` is compiled for.
            assert_eq!(unsafe { with_avx2(Masks(&values, &bounds)) }, expected);
        }
    }

    struct Counts<'a>(&'a Keys, &'a [f32]);

    impl SimdTask for Counts<'_> {
        type Output = Vec<usize>;

        #[inline(always)]
        fn run<R: Registers>(self) -> Vec<usize> {
            self.1.iter().map(|x| R::at_most(self.0, *x)).collect()
        }
    }

    #[test]
    fn keys_are_counted_in_all_registers() {
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, 1e-45];
        for n in 0..=KEYS {
            let mut keys = Keys::NONE;
            // Pairs of equal keys.
            keys.0.iter_mut().take(n).enumerate().for_each(|(i, key)| *key = (i / 2) as f32 - 2.0);
            let values: Vec<f32> = (-30..80).map(|i| i as f32 / 8.0).chain(special).collect();
            let expected: Vec<usize> =
                values.iter().map(|x| keys.0.iter().filter(|key| *key <= x).count()).collect();
            assert_eq!(Counts(&keys, &values).run::<Baseline>(), expected);
            assert_eq!(dispatch(Counts(&keys, &values)), expected);
            #[cfg(target_arch = "x86_64")]
            if !matches!(widest(), Widest::Baseline) {
                // SAFETY: the processor has the features that `with_avx2` is compiled for.
                assert_eq!(unsafe { with_avx2(Counts(&keys, &values)) }, expected);
            }
        }
    }
}
