//! Runs a kernel with the widest registers that the processor has.
//!
//! A kernel is plain code whose every function is always inlined. Compiled a second time inside a function that may
//! use AVX2, it becomes wider code; the order of additions is written in the kernel (`math::lanes`) and multiply and
//! add are never fused, so that both versions give the same bits. This is the only file of the numerical rooms with
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
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that `with_avx2` needs.
        return unsafe { with_avx2(kernel) };
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}
