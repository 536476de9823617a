//! The best documents of each level, one at a time, from the maxima of chunks; nothing is sorted in advance.

use std::ops::Range;

/// Documents per chunk.
const CHUNK: usize = 16;

/// Documents in levels, level after level; inside a level in input order.
#[derive(Debug)]
pub(super) struct Groups {
    documents: Vec<u32>,
    levels: Vec<Level>,
}

/// One level: its documents and its chunks.
#[derive(Debug)]
struct Level {
    documents: Range<usize>,
    chunks: Range<usize>,
}

impl Groups {
    /// Groups from the documents of every level.
    pub(super) fn new(levels: &[Vec<u32>]) -> Self {
        let mut groups = Self { documents: Vec::new(), levels: Vec::new() };
        let mut chunks = 0;
        for level in levels {
            let first = groups.documents.len();
            groups.documents.extend(level);
            let last = chunks + level.len().div_ceil(CHUNK);
            groups.levels.push(Level { documents: first..groups.documents.len(), chunks: chunks..last });
            chunks = last;
        }
        groups
    }
}

/// Scores of the remaining documents, in the order of the groups, and the maximum of every chunk.
#[derive(Debug, Default)]
pub(super) struct Tournament {
    scores: Vec<f64>,
    maxima: Vec<f64>,
}

fn maximum(scores: &[f64]) -> f64 {
    scores.iter().fold(f64::NEG_INFINITY, |best, &score| if score > best { score } else { best })
}

/// The first index of the largest value.
fn first_best(values: &[f64]) -> usize {
    let (mut index, mut best) = (0, f64::NEG_INFINITY);
    for (i, &value) in values.iter().enumerate() {
        if value > best {
            best = value;
            index = i;
        }
    }
    index
}

impl Tournament {
    /// Starts with all documents.
    pub(super) fn begin(&mut self, groups: &Groups, scores: &[f64]) {
        self.scores.clear();
        self.maxima.clear();
        self.scores.extend(groups.documents.iter().map(|&document| scores[document as usize]));
        for level in &groups.levels {
            self.maxima.extend(self.scores[level.documents.clone()].chunks(CHUNK).map(maximum));
        }
    }

    /// Takes the best document of a level, the first of equals: document and score; `None` when all are taken.
    pub(super) fn take(&mut self, groups: &Groups, level: usize) -> Option<(u32, f64)> {
        let level = &groups.levels[level];
        let chunk = first_best(&self.maxima[level.chunks.clone()]);
        let first = level.documents.start + chunk * CHUNK;
        let scores = &mut self.scores[first..level.documents.end.min(first + CHUNK)];
        let index = first_best(scores);
        let score = std::mem::replace(&mut scores[index], f64::NEG_INFINITY);
        self.maxima[level.chunks.start + chunk] = maximum(scores);
        score.is_finite().then(|| (groups.documents[first + index], score))
    }
}
