//! The simulated examples of Dai & Wang (2019), section 5.1, in the reading that fits their tables (see
//! `main.rs`).
//!
//! ```text
//! n = 40       queries; a fraction gamma of them is new
//! N, b         documents of a query and their features: 50 and 40 in Example 1, 30 and 4 in Example 2
//! x_ij         features of document j of query i, N(0, .1 I)
//! beta_i       what query i looks for; group mean + N(0, .1 I), groups being orthogonal blocks of ones
//! s_i(x)       true score: x'beta_i in Example 1, sum_k beta_ik s_k(x_k) in Example 2
//! y_ij         rank of the true score among the N documents, N the best
//! q_i          query features, beta_i + epsilon N(0, I)
//! ```

use std::f64::consts::{PI, TAU};

use sqlite_ltr::internals::math::random::Random;

use crate::experiment::{Form, Kernel, Part, Query};

/// Variance of document features and of the noise of beta.
const VARIANCE: f64 = 0.1;

/// How documents are scored in truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Example {
    /// Linear scores of 40 features.
    One,
    /// Scores of 4 features that are not linear.
    Two,
}

/// How the queries are related: one, two or four groups, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// I: all queries alike.
    OneGroup,
    /// II.
    TwoGroups,
    /// III.
    FourGroups,
    /// IV: every query for itself.
    NoGroup,
}

impl Scenario {
    /// The number in the paper.
    pub fn name(self) -> &'static str {
        ["I", "II", "III", "IV"][self as usize]
    }
}

/// Every scenario.
pub const SCENARIOS: [Scenario; 4] =
    [Scenario::OneGroup, Scenario::TwoGroups, Scenario::FourGroups, Scenario::NoGroup];

/// What is simulated and how it is learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Which scores.
    pub example: Example,
    /// Which queries.
    pub scenario: Scenario,
    /// gamma, in tenths.
    pub gamma: u8,
    /// epsilon, in tenths.
    pub epsilon: u8,
    /// Documents of a query share a part of their features.
    pub dependent: bool,
    /// What is learnt.
    pub form: Form,
}

impl Setting {
    /// The setting of Tables 1 and 2.
    pub fn new(example: Example, scenario: Scenario, gamma: u8) -> Self {
        Self { example, scenario, gamma, epsilon: 1, dependent: false, form: Form::Scoring }
    }

    /// The kernel of all methods.
    pub fn kernel(self) -> Kernel {
        if self.example == Example::One { Kernel::Linear } else { Kernel::Gaussian }
    }

    /// Queries of one replication. The seed alone decides them: not the form, and gamma only where the new
    /// ones are.
    pub fn simulate(self, seed: u64) -> Vec<Query> {
        let (n, documents, features) = match self.example {
            Example::One => (40, 50, 40),
            Example::Two => (40, 30, 4),
        };
        let mut normal = Normal(Random::new(seed));
        let new = n * usize::from(self.gamma) / 10;
        let betas = self.betas(n, features, &mut normal);
        let query = |(i, beta): (usize, &Vec<f64>)| {
            let epsilon = f64::from(self.epsilon) / 10.0;
            let q = beta.iter().map(|beta| beta + epsilon * normal.next()).collect();
            let x = self.documents(documents, features, &mut normal);
            let truth: Vec<f64> = x.chunks(features).map(|x| self.score(x, beta)).collect();
            split(q, &x, &ranks(&truth), i < new)
        };
        betas.iter().enumerate().map(query).collect()
    }

    /// beta of every query. A group has one beta in Example 1; in Example 2 every query has its own noise.
    fn betas(self, n: usize, b: usize, normal: &mut Normal) -> Vec<Vec<f64>> {
        let groups = match self.scenario {
            Scenario::OneGroup => 1,
            Scenario::TwoGroups => 2,
            Scenario::FourGroups => 4,
            Scenario::NoGroup => return (0..n).map(|_| normal.vector(b, 1.0)).collect(),
        };
        let mean = |group: usize, k: usize| f64::from(u8::from(k * groups / b == group));
        let noisy = |group: usize, normal: &mut Normal| -> Vec<f64> {
            let noise = normal.vector(b, VARIANCE.sqrt());
            noise.iter().enumerate().map(|(k, noise)| mean(group, k) + noise).collect()
        };
        let group_of = |i: usize| i * groups / n;
        if self.example == Example::Two {
            return (0..n).map(|i| noisy(group_of(i), normal)).collect();
        }
        let shared: Vec<Vec<f64>> = (0..groups).map(|group| noisy(group, normal)).collect();
        (0..n).map(|i| shared[group_of(i)].clone()).collect()
    }

    /// Features of the documents of one query, row-major.
    fn documents(self, documents: usize, b: usize, normal: &mut Normal) -> Vec<f64> {
        let shared = normal.vector(b, VARIANCE.sqrt());
        let mut x = normal.vector(documents * b, VARIANCE.sqrt());
        if self.dependent {
            let rows = x.chunks_mut(b).flat_map(|row| row.iter_mut().zip(&shared));
            rows.for_each(|(x, shared)| *x += shared);
        }
        x
    }

    fn score(self, x: &[f64], beta: &[f64]) -> f64 {
        if self.example == Example::One {
            return x.iter().zip(beta).map(|(x, beta)| x * beta).sum();
        }
        let parts = [x[0], second(x[1]), third(x[2]), fourth(x[3])];
        parts.iter().zip(beta).map(|(part, beta)| part * beta).sum()
    }
}

/// s_2 of Example 2.
fn second(u: f64) -> f64 {
    (2.0 * u - 1.0).powi(2)
}

/// s_3 of Example 2.
fn third(u: f64) -> f64 {
    let sine = (PI * u).sin();
    sine / (2.0 - sine)
}

/// s_4 of Example 2.
fn fourth(u: f64) -> f64 {
    let (sine, cosine) = (PI * u).sin_cos();
    0.1 * sine + 0.2 * cosine + 0.3 * sine.powi(2) + 0.4 * cosine.powi(3) + 0.5 * sine.powi(3)
}

/// Ranks from 1, the least value first.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count();
    values.iter().map(|value| (1 + below(*value)) as f64).collect()
}

/// Training, validation and test documents with ratio 20 : 20 : 60; all of a new query are test documents.
fn split(features: Vec<f64>, x: &[f64], y: &[f64], new: bool) -> Query {
    let (documents, b) = (y.len(), x.len() / y.len());
    let fifth = if new { 0 } else { documents / 5 };
    let part = |from: usize, to: usize| Part::new(x[from * b..to * b].to_vec(), y[from..to].to_vec(), b);
    Query {
        features,
        train: part(0, fifth),
        validation: part(fifth, 2 * fifth),
        test: part(2 * fifth, documents),
    }
}

/// A data set of Table 4: Scenario IV of Example 1 with n queries; all documents are for training.
pub fn for_timing(n: usize, documents: usize, seed: u64) -> Vec<Query> {
    let b = 40;
    let setting = Setting::new(Example::One, Scenario::NoGroup, 0);
    let mut normal = Normal(Random::new(seed));
    let query = |beta: &Vec<f64>| {
        let features = beta.iter().map(|beta| beta + 0.1 * normal.next()).collect();
        let x = setting.documents(documents, b, &mut normal);
        let truth: Vec<f64> = x.chunks(b).map(|x| setting.score(x, beta)).collect();
        let none = || Part::new(Vec::new(), Vec::new(), b);
        let train = Part::new(x, ranks(&truth), b);
        Query { features, train, validation: none(), test: none() }
    };
    let betas = setting.betas(n, b, &mut Normal(Random::new(!seed)));
    betas.iter().map(query).collect()
}

/// Standard normal numbers (Box & Muller 1958).
struct Normal(Random);

impl Normal {
    /// A number in 0..1.
    fn uniform(&mut self) -> f64 {
        0.5 + 0.5 * self.0.symmetric()
    }

    fn next(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    fn vector(&mut self, length: usize, deviation: f64) -> Vec<f64> {
        (0..length).map(|_| deviation * self.next()).collect()
    }
}
