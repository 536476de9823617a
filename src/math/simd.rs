//! Runs a kernel with the widest registers that the processor has.
//!
//! A kernel is plain code whose every function is always inlined. Compiled again inside a function that may use AVX2
//! or AVX-512, it becomes wider code; the order of additions is written in the kernel (`math::lanes`) and multiply and
//! add are never fused, so that all versions give the same bits. This is the only file of the numerical rooms with
//! `unsafe`, and the only thing it does is the call that the processor has been asked about.
#![allow(unsafe_code)]

/// Work that does not depend on the width of registers. `run` must be `#[inline(always)]` and so must be all that it
/// calls in its hot loops.
pub trait Kernel {
    /// What the work gives.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Runs a kernel with the widest registers that the processor has.
#[inline]
pub fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512vl") && has!("avx512dq") {
            // SAFETY: the processor has all that `with_avx512` needs.
            return unsafe { with_avx512(kernel) };
        }
        if has!("avx2") {
            // SAFETY: the processor has AVX2, which is all that `with_avx2` needs.
            return unsafe { with_avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::lanes::{self, Lanes};

    struct Gram<'a>(&'a [Lanes]);

    impl Kernel for Gram<'_> {
        type Output = Vec<Lanes>;

        #[allow(clippy::inline_always)]
        #[inline(always)]
        fn run(self) -> Vec<Lanes> {
            let mut h = vec![Lanes::ZERO; 32];
            lanes::add_gram(self.0, self.0, 2, self.0.len() / 2, &mut h);
            h
        }
    }

    #[test]
    fn wide_registers_change_no_bit() {
        let values: Vec<f64> = (0..800).map(|i| (f64::from(i) * 0.37).sin() / 3.0).collect();
        let rows = lanes::from_slice(&values);
        let plain = Gram(&rows).run();
        assert_eq!(widest(Gram(&rows)), plain);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            assert_eq!(unsafe { with_avx2(Gram(&rows)) }, plain);
        }
    }
}
