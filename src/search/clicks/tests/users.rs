//! Simulated users of each click model.

use crate::base::Memory;
use crate::data::Id;
use crate::math::Random;
use crate::search::clicks::*;

/// Users of a simulation.
pub(super) struct Users {
    pub queries: usize,
    /// One for each query.
    pub docs: usize,
    /// Rows of a list.
    pub shown: usize,
    /// How much the order of lists differs from the order by attractiveness.
    pub noise: f64,
    pub random: Random,
    /// By pair.
    pub alpha: Vec<f64>,
    /// By pair.
    pub satisfaction: Vec<f64>,
}

impl Users {
    pub fn new(seed: u64) -> Self {
        Self::of(seed, 4, 10)
    }

    /// Users, with this many queries and documents per query.
    pub fn of(seed: u64, queries: usize, docs: usize) -> Self {
        let mut random = Random::new(seed);
        let mut between = |low: f64, high: f64| low + (high - low) * f64::midpoint(random.symmetric(), 1.0);
        let alpha = (0..queries * docs).map(|_| between(0.05, 0.6)).collect();
        let satisfaction = (0..queries * docs).map(|_| between(0.3, 0.9)).collect();
        Self { queries, docs, shown: docs, noise: 0.4, random, alpha, satisfaction }
    }

    pub fn pairs(&self) -> usize {
        self.alpha.len()
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        f64::midpoint(self.random.symmetric(), 1.0) < probability
    }

    /// Examination in the position-based model.
    pub fn pbm(position: usize) -> f64 {
        1.0 / position as f64
    }

    /// Examination in the user browsing model.
    pub fn ubm(position: usize, last: usize) -> f64 {
        if last == 0 { 1.0 / libm::sqrt(position as f64) } else { 1.0 / (1.0 + (position - last) as f64) }
    }

    /// The clicks on a list of pairs.
    pub fn clicks(&mut self, model: &str, list: &[usize]) -> Vec<bool> {
        let (mut last, mut goes_on) = (0, true);
        let mut clicks = Vec::new();
        for (index, &pair) in list.iter().enumerate() {
            let examined = match model {
                "ctr" => 1.0,
                "pbm" => Self::pbm(index + 1),
                "ubm" => Self::ubm(index + 1, last),
                _ => f64::from(u8::from(goes_on)),
            };
            let click = self.happens(examined * self.alpha[pair]);
            if click {
                last = index + 1;
                goes_on = model != "cascade" && !self.happens(self.satisfaction[pair]);
            }
            clicks.push(click);
        }
        clicks
    }

    /// A log, in which lists are in a random order that prefers attractive documents.
    pub fn rows(&mut self, model: &str, impressions: usize) -> Vec<LogRow> {
        let mut rows = Vec::new();
        for number in 0..impressions {
            let query = number % self.queries;
            let mut list: Vec<(f64, usize)> = (query * self.docs..(query + 1) * self.docs)
                .map(|pair| (self.alpha[pair] + self.noise * self.random.symmetric(), pair))
                .collect();
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
            let list: Vec<usize> = list.into_iter().map(|(_, pair)| pair).take(self.shown).collect();
            let clicks = self.clicks(model, &list);
            rows.extend(list.into_iter().zip(clicks).zip(1..).map(|((pair, clicked), position)| LogRow {
                impression: Id::Integer(number as i64),
                query: Id::Integer(query as i64),
                doc: Id::Integer((pair % self.docs) as i64),
                position,
                weight: f64::from(u8::from(clicked)),
            }));
        }
        rows
    }

    pub fn log(&mut self, model: &str, impressions: usize) -> Counted {
        counted(model, &self.rows(model, impressions))
    }
}

/// Reads rows that are in the order of impressions and positions.
pub(super) fn read(rows: &[LogRow], to: &mut dyn TakesImpressions) {
    let mut impression = Impression::default();
    rows.iter().for_each(|row| impression.push(row.clone(), to).unwrap());
    impression.close(to).unwrap();
}

/// Counts rows for a model.
pub(super) fn counted(model: &str, rows: &[LogRow]) -> Counted {
    let mut log = Log::new(vec![find(model).unwrap()], &Memory::limited(None));
    read(rows, &mut log);
    log.finish()
}

/// Fits all models of a log.
pub(super) fn fits(counted: &Counted, all: bool) -> Vec<Fitted> {
    (0..counted.models.len()).map(|model| fitted(counted, model, all)).collect()
}
