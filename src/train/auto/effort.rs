//! Levels of the option `effort`: how many candidates are compared, on how many folds, and how many functions are averaged.

/// The settings of one level.
#[derive(Debug)]
pub struct Effort {
    pub level: usize,
    /// Widths of Gaussian kernels, in the order in which they are tried.
    pub gaussian: &'static [u32],
    /// Widths of L1-Laplace kernels.
    pub laplace_l1: &'static [u32],
    /// Number of partitions of the queries into folds.
    pub partitions: usize,
    /// Largest number of landmarks while candidates are compared.
    pub trial_landmarks: usize,
    /// Landmarks of the chosen kernels, unless the caller sets a number.
    pub landmarks: usize,
    /// Number of kernels to average.
    pub averaged: usize,
    /// Folds of the queries that are held out from trees in turn.
    pub tree_folds: usize,
    /// Tree ensembles per fold.
    pub ensembles: usize,
    /// Number of trees that the learning rate assumes. With many documents, also the maximum.
    pub trees: usize,
}

/// Levels 1 to 5, as in the table of `docs/algorithms/auto.md`.
const LEVELS: [Effort; 5] = [
    // Level, kernels; partitions, trial landmarks, landmarks, averaged; tree folds, ensembles, trees.
    level(1, &[2], &[4], [1, 150, 300, 1], [3, 1, 60]),
    level(2, &[2, 4], &[4, 8], [1, 200, 400, 2], [3, 1, 100]),
    level(3, &[2, 4, 1], &[4, 8, 2], [2, 250, 600, 3], [3, 1, 160]),
    level(4, &[2, 4, 1], &[4, 8, 2], [2, 600, 1000, 4], [5, 2, 240]),
    level(5, &[2, 8, 4, 1], &[4, 16, 8, 2], [4, 1000, 2000, 6], [5, 4, 480]),
];

const fn level(
    level: usize,
    gaussian: &'static [u32],
    laplace_l1: &'static [u32],
    [partitions, trial_landmarks, landmarks, averaged]: [usize; 4],
    [tree_folds, ensembles, trees]: [usize; 3],
) -> Effort {
    Effort {
        level,
        gaussian,
        laplace_l1,
        partitions,
        trial_landmarks,
        landmarks,
        averaged,
        tree_folds,
        ensembles,
        trees,
    }
}

impl Effort {
    /// The settings of a level, clamped to 1..=5.
    pub fn of(level: usize) -> &'static Self {
        &LEVELS[level.clamp(1, LEVELS.len()) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_these_levels() {
        let page = include_str!("../../../docs/algorithms/auto.md");
        let numbers = |name: &str, of: &dyn Fn(&Effort) -> usize| {
            let row = LEVELS.each_ref().map(|level| of(level).to_string()).join(" | ");
            assert!(page.replace(',', "").contains(&format!("\n| {name} | {row} |\n")), "{name}: {row}");
        };
        numbers("effort", &|level| level.level);
        numbers("maximum number of non-tree candidates", &|level| {
            2 * (1 + level.gaussian.len() + level.laplace_l1.len())
        });
        numbers("partitions into five folds", &|level| level.partitions);
        numbers("landmarks while candidates are compared", &|level| level.trial_landmarks);
        numbers("landmarks of chosen kernels", &|level| level.landmarks);
        numbers("averaged kernels", &|level| level.averaged);
        numbers("folds for trees", &|level| level.tree_folds);
        numbers("ensembles per fold", &|level| level.ensembles);
        numbers("number of trees assumed by the learning rate", &|level| level.trees);
    }
}
