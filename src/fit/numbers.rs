//! Numbers of blocks: fixed-width, little-endian.

use std::ops::Range;

use ndarray::s;

use crate::data::Matrix;

/// Appends the elements of some rows of a matrix, row-major.
pub(crate) fn write_rows(matrix: &Matrix, rows: Range<usize>, out: &mut Vec<u8>) {
    match matrix {
        Matrix::F32(array) => {
            write_elements(array.slice(s![rows, ..]).iter(), f32::to_le_bytes, out);
        }
        Matrix::F64(array) => write_elements(array.slice(s![rows, ..]).iter(), f64::to_le_bytes, out),
    }
}

/// Appends numbers.
pub(crate) fn write_numbers(values: &[f64], out: &mut Vec<u8>) {
    write_elements(values.iter(), f64::to_le_bytes, out);
}

/// Appends N bytes of each element.
fn write_elements<'a, T: Copy + 'a, const N: usize>(
    values: impl ExactSizeIterator<Item = &'a T>,
    bytes: impl Fn(T) -> [u8; N],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + N * values.len(), 0);
    for (place, value) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *place = bytes(*value);
    }
}

/// Reads numbers; the length must be a multiple of 8.
pub(crate) fn read_f64(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect()
}

/// Reads single-precision numbers; the length must be a multiple of 4.
pub(crate) fn read_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}
