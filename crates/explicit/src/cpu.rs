//! What processors can do and the language has no words for. All of it is also done without them, only slower.

#![allow(unsafe_code)]

/// Asks for the memory of a value that will be needed soon, if there is one at this place. The processor does something else
/// until it is there; nothing but time depends on it.
#[inline]
pub(crate) fn fetch<T>(values: &[T], at: usize) {
    let Some(value) = values.get(at) else { return };
    #[cfg(target_feature = "sse2")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_feature = "sse2"))]
    let _ = value;
}

/// Which of these numbers have the same bits under a mask, as bits.
#[inline]
pub(crate) fn like(numbers: &[u32; 16], bits: u32, mask: u32) -> u32 {
    #[cfg(target_feature = "sse2")]
    {
        // SAFETY: the processor has these instructions.
        unsafe { like_at_once(numbers, bits, mask) }
    }
    #[cfg(not(target_feature = "sse2"))]
    one_by_one(numbers, bits, mask)
}

#[cfg(any(test, not(target_feature = "sse2")))]
fn one_by_one(numbers: &[u32; 16], bits: u32, mask: u32) -> u32 {
    (0..).zip(numbers).map(|(at, number)| u32::from(number & mask == bits) << at).sum()
}

#[cfg(target_feature = "sse2")]
#[target_feature(enable = "sse2")]
#[inline]
fn like_at_once(numbers: &[u32; 16], bits: u32, mask: u32) -> u32 {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_cmpeq_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set_epi32,
        _mm_set1_epi32,
    };
    let (bits, mask) = (_mm_set1_epi32(bits as i32), _mm_set1_epi32(mask as i32));
    let four = |at: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|next| numbers[at + next] as i32);
        _mm_cmpeq_epi32(_mm_and_si128(_mm_set_epi32(d, c, b, a), mask), bits)
    };
    let (low, high) = (_mm_packs_epi32(four(0), four(4)), _mm_packs_epi32(four(8), four(12)));
    _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_or_one_by_one_is_the_same() {
        let mut seed = 1u64;
        for _ in 0..10_000 {
            let numbers = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (seed >> 60) as u32 | (seed >> 32) as u32 & 0x8000_0000
            });
            for (bits, mask) in [(0, u32::MAX), (3, 3), (0x8000_0001, 0x8000_0003), (15, 0x7fff_ffff)] {
                assert_eq!(like(&numbers, bits, mask), one_by_one(&numbers, bits, mask));
            }
        }
    }
}
