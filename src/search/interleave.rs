//! Comparing two rankers on users: interleaved lists, and analysis of their clicks.
//!
//! Team draft (Radlinski, Kurup & Joachims 2008): two rankings take turns adding their best document that is not yet in the
//! list. A coin decides who begins each round. The ranking whose documents get more clicks wins the impression.

#[cfg(test)]
mod tests;

use xxhash_rust::xxh64::xxh64;

use crate::base::{Ticks, named};
use crate::data::Id;
use crate::math::normal;

// Team draft: mixing two rankings by coin flips.

/// Seed of the first hash, the same as in `ltr_bucket`.
const SEED: u64 = 42;

/// The ranking from which a document in a list comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Team {
    /// The first ranking.
    A,
    /// The second ranking.
    B,
}

named!(Team { A = "a", B = "b" });

/// The coins of one list. They depend only on the impression, the query and the round number.
///
/// With h(bytes, seed) = XXH64: s = h(impression, 42), q = h(query, s), and the coin of round r = 1, 2, ... is the lowest bit
/// of h(r, q); 1 means that the first ranking begins. Integers are hashed as 8 little-endian bytes, texts as their bytes;
/// without a query, q = s.
#[derive(Debug, Clone)]
pub struct Coins {
    key: u64,
    round: u64,
}

impl Coins {
    /// The coin flips for an impression of a query.
    pub fn new(impression: &Id, query: &Id) -> Self {
        Self { key: query.xxh64(impression.xxh64(SEED)), round: 0 }
    }

    /// The team that begins the next round.
    fn toss(&mut self) -> Team {
        self.round += 1;
        if xxh64(&self.round.to_le_bytes(), self.key) & 1 == 1 { Team::A } else { Team::B }
    }
}

/// The first `k` documents of an interleaved list, with their teams. Rankings are numbers below `documents`, best
/// first. Repeated numbers count at their first position.
///
/// Radlinski, Kurup & Joachims (2008), algorithm 2: the smaller team chooses next, and a coin decides between teams of
/// equal size. The list ends when a ranking has no documents left.
pub fn team_draft(rankings: [&[u32]; 2], documents: usize, mut coins: Coins, k: usize) -> Vec<(u32, Team)> {
    let mut list = Vec::with_capacity(documents.min(k));
    let mut listed = vec![false; documents];
    let (mut rest, mut sizes, mut ticks) = (rankings, [0_usize; 2], Ticks::default());
    while list.len() < k {
        // 1. The best document of each ranking that is not in the list yet.
        for ranking in &mut rest {
            let first = ranking.iter().position(|document| !listed[*document as usize]);
            *ranking = first.map_or(&[], |first| &ranking[first..]);
        }
        let [Some(&best_a), Some(&best_b)] = rest.map(<[u32]>::first) else { break };
        // 2. The team that chooses.
        let team = match sizes[0].cmp(&sizes[1]) {
            std::cmp::Ordering::Less => Team::A,
            std::cmp::Ordering::Greater => Team::B,
            std::cmp::Ordering::Equal => coins.toss(),
        };
        let document = match team {
            Team::A => best_a,
            Team::B => best_b,
        };
        sizes[team as usize] += 1;
        ticks.add(10);
        listed[document as usize] = true;
        list.push((document, team));
    }
    list
}

// Comparison of two rankings by the clicks on interleaved lists.

/// Impressions, by the ranking with more clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// More clicks on documents of the first ranking.
    pub wins_a: u64,
    /// More clicks on documents of the second ranking.
    pub wins_b: u64,
    /// Equally many clicks on both, at least one.
    pub ties: u64,
    /// No click on either.
    pub no_click: u64,
}

/// The planned test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Probability that the interval covers the true difference; p-values below 1 - confidence are significant.
    pub confidence: f64,
    /// Probability of a significant p-value.
    pub power: f64,
    /// The true difference, above 0 and at most 1; `None` means the observed one.
    pub difference: Option<f64>,
}

/// The result of a comparison. Undefined values are `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Share of wins of the second ranking minus the first's, among impressions with clicks: -1 to 1.
    pub difference: Option<f64>,
    /// Interval of the difference.
    pub interval: Option<(f64, f64)>,
    /// P-value of the two-sided score test of no difference: at most 1 - confidence if and only if 0 is outside the
    /// interval.
    pub p_value: Option<f64>,
    /// Number of additional impressions needed for the test to find the target difference with the given power.
    pub more_impressions: Option<u64>,
}

impl Tally {
    /// Adds an impression with `a` and `b` clicks on documents of the two rankings.
    pub fn add(&mut self, [a, b]: [u64; 2]) {
        *match a.cmp(&b) {
            std::cmp::Ordering::Greater => &mut self.wins_a,
            std::cmp::Ordering::Less => &mut self.wins_b,
            std::cmp::Ordering::Equal if a > 0 => &mut self.ties,
            std::cmp::Ordering::Equal => &mut self.no_click,
        } += 1;
    }

    pub fn impressions(&self) -> u64 {
        self.with_clicks() + self.no_click
    }

    fn with_clicks(&self) -> u64 {
        self.wins_a + self.wins_b + self.ties
    }

    /// Difference, interval, test and plan.
    ///
    /// A tie counts as half a win for each, so the difference is (wins of b - wins of a) / (wins + ties), twice the
    /// Delta of Chapelle, Joachims, Radlinski & Yue (2012, eq. 1) with the other sign.
    pub fn outcome(&self, target: Target) -> Outcome {
        let n = self.with_clicks();
        let difference = (n > 0).then(|| (self.wins_b as f64 - self.wins_a as f64) / n as f64);
        Outcome {
            difference,
            interval: difference.map(|_| self.interval(target.confidence)),
            p_value: (n > 0).then(|| self.p_value()),
            more_impressions: self.more_impressions(target),
        }
    }

    /// The test that the score interval inverts, at d = 0, where s(0)^2 = a + b: McNemar's test (1947), without continuity
    /// correction. Fagerland, Lydersen & Laake (2013) recommend it over the exact test. It does not depend on ties.
    fn p_value(&self) -> f64 {
        let (a, b) = (self.wins_a as f64, self.wins_b as f64);
        let z = (b - a).abs() / (a + b).max(1.0).sqrt();
        libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// The score interval of a difference of paired proportions (Tango 1998): all differences d not rejected by
    /// |b - a - n d| <= z s(d), where s(d)^2 = n (2 q + d (1 - d)) is the variance of b - a if d is true, and q the likeliest
    /// probability of a win of the first ranking in that case. It contains 0 if and only if (b - a)^2 <= z^2 (a + b).
    fn interval(&self, confidence: f64) -> (f64, f64) {
        let (a, b, n) = (self.wins_a as f64, self.wins_b as f64, self.with_clicks() as f64);
        let z = -normal::quantile(f64::midpoint(1.0, -confidence));
        // q solves 2 n q^2 + l q + c = 0.
        let deviation = |d: f64| {
            let l = (2.0 * n - b + a) * d - b - a;
            let c = -a * d * (1.0 - d);
            let q = ((l * l - 8.0 * n * c).max(0.0).sqrt() - l) / (4.0 * n);
            (n * (2.0 * q + d * (1.0 - d)).max(0.0)).sqrt()
        };
        let too_low = |d: f64| b - a - n * d > z * deviation(d);
        let too_high = |d: f64| n * d - (b - a) > z * deviation(d);
        let observed = (b - a) / n;
        (boundary(observed, -1.0, too_low), boundary(observed, 1.0, too_high))
    }

    /// Wins for the power of the test (Fleiss, Levin & Paik 2003, section 2.4):
    /// ((z_confidence / 2 + z_power sqrt(p (1 - p))) / e)^2, where p = 1/2 + e is the probability that the better
    /// ranking wins. The number of impressions per win is taken from this tally.
    fn more_impressions(&self, target: Target) -> Option<u64> {
        let (wins, n) = ((self.wins_a + self.wins_b) as f64, self.with_clicks() as f64);
        let difference = target.difference.unwrap_or(self.wins_a.abs_diff(self.wins_b) as f64 / n);
        if wins <= 0.0 || difference <= 0.0 {
            return None;
        }
        // The difference among wins. It cannot be larger than 1.
        let e = 0.5 * (difference * n / wins).min(1.0);
        let z = |p: f64| normal::quantile(p);
        let alpha = z(f64::midpoint(1.0, target.confidence));
        let root = 0.5 * alpha + z(target.power) * (0.25 - e * e).max(0.0).sqrt();
        let impressions = self.impressions();
        let needed = ((root.max(0.0) / e).powi(2) * impressions as f64 / wins).ceil();
        Some((needed as u64).saturating_sub(impressions))
    }
}

/// The last value on the way from `inside` to `end` that is not rejected, by bisection.
fn boundary(mut inside: f64, end: f64, refused: impl Fn(f64) -> bool) -> f64 {
    if !refused(end) {
        return end;
    }
    let mut outside = end;
    for _ in 0..100 {
        let middle = f64::midpoint(inside, outside);
        if refused(middle) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    inside
}
