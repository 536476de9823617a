//! Team draft, and its coins.

use xxhash_rust::xxh64::xxh64;

use crate::base::control::Ticks;
use crate::data::Id;

/// Seed of the first hash, as that of `ltr_bucket`.
const SEED: u64 = 42;

/// The ranking that a document of a list comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Team {
    /// The first ranking.
    A,
    /// The second ranking.
    B,
}

impl Team {
    /// Its name in lists and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// The coins of one list. They depend on the impression, the query and the number of the round alone.
///
/// With h(bytes, seed) = XXH64: s = h(impression, 42), q = h(query, s), and the coin of round r = 1, 2, ... is the lowest bit
/// of h(r, q); 1 means that the first ranking begins. Integers are 8 bytes, the lowest first; texts are their bytes; no query
/// means q = s.
#[derive(Debug, Clone)]
pub struct Coins {
    key: u64,
    round: u64,
}

impl Coins {
    /// The coins of an impression of a query.
    pub fn new(impression: &Id, query: &Id) -> Self {
        Self { key: query.xxh64(impression.xxh64(SEED)), round: 0 }
    }

    /// The team that begins the next round.
    fn toss(&mut self) -> Team {
        self.round += 1;
        if xxh64(&self.round.to_le_bytes(), self.key) & 1 == 1 { Team::A } else { Team::B }
    }
}

/// The first `k` documents of an interleaved list, with their teams. Rankings are numbers below `documents`, best first. A number
/// that a ranking repeats counts at its first position.
///
/// Radlinski, Kurup & Joachims (2008), algorithm 2: the smaller team chooses next; of equal teams that of the coin. The list ends
/// when a ranking has no document left.
pub fn team_draft(rankings: [&[u32]; 2], documents: usize, mut coins: Coins, k: usize) -> Vec<(u32, Team)> {
    let mut list = Vec::with_capacity(documents.min(k));
    let mut listed = vec![false; documents];
    let (mut rest, mut sizes, mut ticks) = (rankings, [0_usize; 2], Ticks::default());
    while list.len() < k {
        // 1. The best document of each ranking that is not in the list.
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
