//! The functions that the methods minimize, and arithmetic on vectors.
//!
//! ```text
//! R(w) = F(X w + b)            the risk
//! P(w) = R(w) + lambda |w - w0|^2
//! ```
//!
//! A method sees an objective through this interface only. X w + b, the image of w, keeps what is needed to evaluate
//! points of a line or products with a Hessian. For rows in memory it holds their scores. An objective whose rows are
//! elsewhere may use X = I: then the image of w is w, and each call is one round of requests.

use super::Best;
use crate::math::dot;

/// A risk R.
pub trait Objective: Sync {
    /// Length of w.
    fn dim(&self) -> usize;

    /// X w + b; w by default.
    fn image(&self, w: &[f64]) -> Vec<f64> {
        w.to_vec()
    }

    /// X v; v by default.
    fn linear_image(&self, v: &[f64]) -> Vec<f64> {
        v.to_vec()
    }

    /// X' h; h by default.
    fn transposed(&self, h: &[f64]) -> Vec<f64> {
        h.to_vec()
    }

    /// F at an image; writes a subgradient of F into `slopes`.
    fn value_at(&self, image: &[f64], slopes: &mut [f64]) -> f64;

    /// F(s + t r) and its derivative in t.
    fn value_on_line(&self, s: &[f64], r: &[f64], t: f64) -> (f64, f64) {
        let mut slopes = vec![0.0; s.len()];
        let value = self.value_at(&moved(s, t, r), &mut slopes);
        (value, dot(&slopes, r))
    }

    /// R(w); writes a subgradient into `gradient`.
    fn value(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let image = self.image(w);
        let mut slopes = vec![0.0; image.len()];
        let value = self.value_at(&image, &mut slopes);
        gradient.copy_from_slice(&self.transposed(&slopes));
        value
    }

    /// The Hessian of R at the point with this image, times v; for smooth risks.
    fn hessian_times(&self, _image: &[f64], v: &[f64]) -> Vec<f64> {
        vec![0.0; v.len()]
    }
}

/// A point with the value and a subgradient of a function.
#[derive(Debug, Clone)]
pub struct Point {
    pub w: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// A subgradient there.
    pub gradient: Vec<f64>,
}

impl Point {
    /// Evaluates a risk.
    pub fn of_risk(risk: &dyn Objective, w: Vec<f64>) -> Self {
        let mut gradient = vec![0.0; w.len()];
        let value = risk.value(&w, &mut gradient);
        Self { w, value, gradient }
    }
}

/// P: a risk with a quadratic penalty.
#[derive(Clone, Copy)]
pub struct Ridge<'a> {
    /// R.
    pub risk: &'a dyn Objective,
    /// Factor of the penalty, above 0.
    pub lambda: f64,
    /// w0; 0 if `None`.
    pub center: Option<&'a [f64]>,
}

impl Ridge<'_> {
    /// Evaluates P.
    pub fn at(&self, w: Vec<f64>) -> Point {
        let mut point = Point::of_risk(self.risk, w);
        let u = self.from_center(&point.w);
        axpy(2.0 * self.lambda, &u, &mut point.gradient);
        point.value += self.lambda * dot(&u, &u);
        point
    }

    /// The Hessian of P at the point with this image, times v.
    pub fn hessian_times(&self, image: &[f64], v: &[f64]) -> Vec<f64> {
        let mut product = self.risk.hessian_times(image, v);
        axpy(2.0 * self.lambda, v, &mut product);
        product
    }

    /// The point with the certificate of its gradient, for a convex P.
    pub fn certify<'p>(&self, point: &'p Point) -> Best<'p> {
        Best { w: &point.w, objective: point.value, gap: self.gap(&point.gradient) }
    }

    /// A bound of P(w) - min P from a subgradient of a convex P at w: |g|^2 / (4 lambda).
    pub fn gap(&self, gradient: &[f64]) -> f64 {
        dot(gradient, gradient) / (4.0 * self.lambda)
    }

    /// w - w0.
    pub fn from_center(&self, w: &[f64]) -> Vec<f64> {
        self.center.map_or_else(|| w.to_vec(), |center| difference(w, center))
    }

    /// u + w0.
    pub fn to_point(&self, u: &[f64]) -> Vec<f64> {
        self.center.map_or_else(|| u.to_vec(), |center| moved(u, 1.0, center))
    }

    /// lambda |w - w0|^2.
    pub fn penalty(&self, w: &[f64]) -> f64 {
        let u = self.from_center(w);
        self.lambda * dot(&u, &u)
    }
}

// Arithmetic on vectors of equal length.

/// y += factor x
pub fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// x + t d
pub fn moved(x: &[f64], t: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + t * d).collect()
}

pub fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}
