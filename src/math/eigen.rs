//! Eigenvalues and eigenvectors of a symmetric matrix: tridiagonal form by reflections, then implicit QL steps
//! (Golub & Van Loan 2013, algorithms 8.3.1 to 8.3.3; Bowdler, Martin, Reinsch & Wilkinson 1968).
//!
//! ```text
//! A = Q T Q'       Q a product of reflections I - beta v v', T tridiagonal
//! T = G E G'       G a product of rotations, E diagonal
//! A = (Q G) E (Q G)'
//! ```
//!
//! The columns of Q G are rows in memory, so a rotation combines two of them. The rotations of one QL step are applied
//! together, a block of columns at a time, on all threads. No sum depends on the number of threads.

use super::dense::dot;
use super::simd::simd;
use crate::base::{Control, Error, Result, parallel};
use crate::math::sort_indices;

/// QL steps for one eigenvalue; it takes two or three.
const MOST_STEPS: usize = 60;
/// Steps after which entries of the size of rounding count as 0 also between eigenvalues near 0.
const FEW_STEPS: usize = 20;
/// Columns that a thread rotates at a time.
const PART: usize = 128;

const TASK_ROWS: usize = 16;

/// Largest array that the calling thread reads alone: starting tasks would take longer.
const SERIAL_READS: usize = 1 << 15;

/// Eigenpairs, largest eigenvalue first.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// Eigenvalues (n).
    pub values: Vec<f64>,
    /// Unit eigenvectors (n, n), one per row. The first of their largest entries (to 1e-8) is positive.
    pub vectors: Vec<f64>,
}

/// Eigenpairs of the symmetric matrix (n, n), row-major; only the lower triangle is read. Cost about 8 n^3.
///
/// # Errors
/// An interrupt; a matrix that is not finite.
pub fn symmetric(matrix: Vec<f64>, n: usize, control: &Control) -> Result<Eigen> {
    if !matrix.iter().all(|value| value.is_finite()) {
        return Err(Error::Data("a matrix whose eigenvalues are wanted is not finite".to_owned()));
    }
    // Squares of the entries must neither overflow nor vanish.
    let largest = matrix.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let scaled = matrix.into_iter().map(|value| value / scale).collect();
    let mut form = Tridiagonal::new(scaled, n, control)?;
    form.diagonalize(control)?;
    let mut eigen = form.sorted();
    eigen.values.iter_mut().for_each(|value| *value *= scale);
    Ok(eigen)
}

/// Q T Q', transformed step by step to diagonal form.
struct Tridiagonal {
    n: usize,
    diagonal: Vec<f64>,
    /// Entry i couples i and i + 1; the last is 0.
    off_diagonal: Vec<f64>,
    /// The columns of Q, one per row.
    columns: Vec<f64>,
}

/// A reflection I - beta v v' of the coordinates from `start`.
struct Reflection {
    start: usize,
    v: Vec<f64>,
    beta: f64,
}

/// A rotation of the rows i and i + 1.
struct Rotation {
    i: usize,
    c: f64,
    s: f64,
}

impl Tridiagonal {
    fn new(mut a: Vec<f64>, n: usize, control: &Control) -> Result<Self> {
        // 1. The upper triangle from the lower.
        for i in 0..n {
            for j in 0..i {
                a[j * n + i] = a[i * n + j];
            }
        }
        // 2. Reflections that make the rows tridiagonal, one after the other.
        let (mut off_diagonal, mut reflections) = (vec![0.0; n], Vec::new());
        for k in 0..n.saturating_sub(1) {
            control.check()?;
            let (length, reflection) = reflection(&a[k * n + k + 1..(k + 1) * n], k + 1);
            off_diagonal[k] = length;
            if reflection.beta > 0.0 {
                reflect_both(&mut a, n, &reflection);
            }
            reflections.push(reflection);
        }
        let diagonal = (0..n).map(|i| a[i * n + i]).collect();
        let mut columns = a;
        columns.fill(0.0);
        (0..n).for_each(|i| columns[i * n + i] = 1.0);
        for reflection in reflections.iter().rev().filter(|reflection| reflection.beta > 0.0) {
            control.check()?;
            let Reflection { start, v, beta } = reflection;
            // Rows before `start` still equal the identity, with zeros at these coordinates.
            each_row(&mut columns[start * n..], n, n - start, &|_, column| {
                let part = &mut column[*start..];
                let factor = -beta * dot(part, v);
                axpy(factor, v, part);
            });
        }
        Ok(Self { n, diagonal, off_diagonal, columns })
    }

    /// QL steps with shifts until every off-diagonal entry is rounding error.
    fn diagonalize(&mut self, control: &Control) -> Result<()> {
        for l in 0..self.n {
            let mut steps = 0;
            loop {
                // The largest entry of the matrix is 1.
                let least = if steps < FEW_STEPS { 0.0 } else { 1.0 };
                let small = |m: &usize| {
                    let size = self.diagonal[*m].abs() + self.diagonal[m + 1].abs();
                    self.off_diagonal[*m].abs() <= f64::EPSILON * size.max(least)
                };
                let m = (l..self.n - 1).find(small).unwrap_or(self.n - 1);
                if m == l {
                    break;
                }
                control.check()?;
                if steps == MOST_STEPS {
                    return Err(Error::Data(
                        "the eigenvalues of the training data were not found; are features too large or of very different sizes?".to_owned(),
                    ));
                }
                steps += 1;
                let rotations = self.step(l, m);
                self.rotate(&rotations);
            }
        }
        Ok(())
    }

    /// One implicit QL step on the coordinates l to m; returns its rotations in order.
    fn step(&mut self, l: usize, m: usize) -> Vec<Rotation> {
        let (d, e) = (&mut self.diagonal, &mut self.off_diagonal);
        let mut rotations = Vec::with_capacity(m - l);
        let half = (d[l + 1] - d[l]) / (2.0 * e[l]);
        let root = (1.0 + half * half).sqrt();
        let mut g = d[m] - d[l] + e[l] / (half + root.copysign(half));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        for i in (l..m).rev() {
            let (f, b) = (s * e[i], c * e[i]);
            let r = length(f, g);
            e[i + 1] = r;
            if r == 0.0 {
                d[i + 1] -= p;
                e[m] = 0.0;
                return rotations;
            }
            (s, c) = (f / r, g / r);
            g = d[i + 1] - p;
            let t = (d[i] - g) * s + 2.0 * c * b;
            p = s * t;
            d[i + 1] = g + p;
            g = c * t - b;
            rotations.push(Rotation { i, c, s });
        }
        d[l] -= p;
        e[l] = g;
        e[m] = 0.0;
        rotations
    }

    /// Applies rotations to the columns of Q.
    fn rotate(&mut self, rotations: &[Rotation]) {
        let n = self.n;
        let mut parts: Vec<Vec<&mut [f64]>> = (0..n.div_ceil(PART)).map(|_| Vec::with_capacity(n)).collect();
        for column in self.columns.chunks_exact_mut(n) {
            for (part, piece) in parts.iter_mut().zip(column.chunks_mut(PART)) {
                part.push(piece);
            }
        }
        parallel::each_of(parts, |_, mut part| {
            for &Rotation { i, c, s } in rotations {
                let (upper, lower) = part.split_at_mut(i + 1);
                rotate(c, s, upper[i], lower[0]);
            }
        });
    }

    fn sorted(self) -> Eigen {
        let mut order: Vec<usize> = (0..self.n).collect();
        sort_indices(&mut order, &|a, b| self.diagonal[b].total_cmp(&self.diagonal[a]).then(a.cmp(&b)));
        let vector = |i: &usize| {
            let column = &self.columns[i * self.n..(i + 1) * self.n];
            let largest = column.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            let leading = column.iter().find(|value| value.abs() >= (1.0 - 1e-8) * largest);
            let sign = if leading.is_some_and(|value| *value < 0.0) { -1.0 } else { 1.0 };
            column.iter().map(move |value| sign * value)
        };
        let vectors = order.iter().flat_map(vector).collect();
        Eigen { values: order.iter().map(|i| self.diagonal[*i]).collect(), vectors }
    }
}

/// sqrt(f^2 + g^2) without overflow.
fn length(f: f64, g: f64) -> f64 {
    let (large, small) = (f.abs().max(g.abs()), f.abs().min(g.abs()));
    if large == 0.0 { 0.0 } else { large * (1.0 + (small / large) * (small / large)).sqrt() }
}

/// The reflection that turns x into (alpha, 0, ..., 0), and alpha; x has the coordinates from `start`.
fn reflection(x: &[f64], start: usize) -> (f64, Reflection) {
    let rest = dot(&x[1..], &x[1..]);
    let mut v = x.to_vec();
    if rest == 0.0 {
        return (x[0], Reflection { start, v, beta: 0.0 });
    }
    let alpha = -(x[0] * x[0] + rest).sqrt().copysign(x[0]);
    v[0] -= alpha;
    let beta = 2.0 / (v[0] * v[0] + rest);
    (alpha, Reflection { start, v, beta })
}

/// A := H A H on the rows and columns from `start`.
fn reflect_both(a: &mut [f64], n: usize, Reflection { start, v, beta }: &Reflection) {
    let mut w = vec![0.0; n - start];
    each_row(&mut w, 1, n - start, &|i, w| {
        w[0] = beta * dot(&a[(start + i) * n + start..(start + i + 1) * n], v);
    });
    let half = 0.5 * beta * dot(&w, v);
    w.iter_mut().zip(v).for_each(|(w, v)| *w -= half * v);
    each_row(&mut a[start * n..], n, n - start, &|i, row| {
        let row = &mut row[*start..];
        axpy(-v[i], &w, row);
        axpy(-w[i], v, row);
    });
}

/// Calls `work` with the index of each row and the row, in any order. `work` reads `reads` numbers per call.
fn each_row(rows: &mut [f64], width: usize, reads: usize, work: &(dyn Fn(usize, &mut [f64]) + Sync)) {
    let each = |first: usize, rows: &mut [f64]| {
        for (row, values) in (first..).zip(rows.chunks_exact_mut(width)) {
            work(row, values);
        }
    };
    if rows.len() / width * reads <= SERIAL_READS {
        return each(0, rows);
    }
    let tasks = rows.chunks_mut(TASK_ROWS * width).collect();
    parallel::each_of(tasks, |task, rows: &mut [f64]| each(task * TASK_ROWS, rows));
}

simd! {
    /// y += factor x.
    fn axpy<'a>(factor: f64, x: &'a [f64], y: &'a mut [f64]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
    }
}

simd! {
    /// (x, y) := (c x - s y, s x + c y).
    fn rotate<'a>(c: f64, s: f64, x: &'a mut [f64], y: &'a mut [f64]) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
}

#[cfg(test)]
mod tests;
