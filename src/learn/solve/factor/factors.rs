//! The factors of queries and items, and their start.

use crate::base::{Result, grow};
use crate::math::{Random, dot};
use serde::{Deserialize, Serialize};

/// U and V, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    /// Numbers of a row.
    pub rank: usize,
    /// U (`n_users` * rank).
    pub users: Vec<f64>,
    /// V (`n_items` * rank).
    pub items: Vec<f64>,
}

/// Approximate initial norm of a row of V. From shorter rows no half step gains more than its tolerance.
const INITIAL_LENGTH: f64 = 1.0;

impl Factors {
    /// U = 0 and V normal with standard deviation 1 / sqrt(rank). The first half step fits U to V.
    ///
    /// # Errors
    /// The system has no memory for them. It is asked first, because vectors without memory would end the process.
    pub fn new(users: usize, items: usize, rank: usize, seed: u64) -> Result<Self> {
        grow(&mut Vec::<f64>::new(), (users + items).saturating_mul(rank))?;
        let mut random = Random::new(seed);
        let deviation = INITIAL_LENGTH / (rank as f64).sqrt();
        let mut normal = || deviation * normal(&mut random);
        Ok(Self {
            rank,
            users: vec![0.0; users * rank],
            items: (0..items * rank).map(|_| normal()).collect(),
        })
    }

    /// The product of a user's and an item's rows.
    pub fn product(&self, user: usize, item: usize) -> f64 {
        dot(&self.users[user * self.rank..][..self.rank], &self.items[item * self.rank..][..self.rank])
    }
}

/// A standard normal number (Box & Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = 0.5 * (1.0 - random.symmetric());
    let angle = std::f64::consts::PI * random.symmetric();
    (-2.0 * libm::log(radius)).sqrt() * libm::cos(angle)
}
