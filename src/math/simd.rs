//! Runs numerical code with the widest vector registers that the processor has.
//!
//! A task is plain code whose functions are always inlined. It is compiled three times: for the baseline processor, for
//! AVX2 and for AVX-512; [`dispatch`] chooses at run time. All three give the same bits: the task fixes the order of
//! additions (`math::lanes`), and multiply and add are never fused. `unsafe` is used for nothing but these calls.
#![allow(unsafe_code)]

/// A computation that [`dispatch`] compiles for several register widths. `run`, and all that it calls in hot loops,
/// must be `#[inline(always)]`.
pub trait SimdTask {
    /// The result.
    type Output;
    /// Computes the result.
    fn run(self) -> Self::Output;
}

/// Runs a task with the widest registers that the processor has.
#[inline]
pub fn dispatch<T: SimdTask>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    match registers() {
        // SAFETY: the processor has the three features that `with_avx512` is compiled for.
        Registers::Avx512 => return unsafe { with_avx512(task) },
        // SAFETY: the processor has AVX2, the feature that `with_avx2` is compiled for.
        Registers::Avx2 => return unsafe { with_avx2(task) },
        Registers::Baseline => {}
    }
    task.run()
}

/// The widest registers that the processor has.
#[cfg(target_arch = "x86_64")]
enum Registers {
    Baseline,
    Avx2,
    Avx512,
}

/// Compiled once for all tasks.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn registers() -> Registers {
    use std::arch::is_x86_feature_detected as has;
    if has!("avx512f") && has!("avx512vl") && has!("avx512dq") {
        Registers::Avx512
    } else if has!("avx2") {
        Registers::Avx2
    } else {
        Registers::Baseline
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq")]
fn with_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

/// Defines a function whose body [`dispatch`] compiles for several register widths. Lifetimes come before a semicolon,
/// type parameters after it.
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
                fn run(self) -> Self::Output {
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
    use crate::math::lanes::{self, Lanes};

    struct Sums<'a>(&'a [Lanes]);

    impl SimdTask for Sums<'_> {
        type Output = Vec<Lanes>;

        #[allow(clippy::inline_always)]
        #[inline(always)]
        fn run(self) -> Vec<Lanes> {
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
        let plain = Sums(&rows).run();
        assert_eq!(dispatch(Sums(&rows)), plain);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            assert_eq!(unsafe { with_avx2(Sums(&rows)) }, plain);
        }
    }
}
