//! Few documents per block (Le, Smola, Chapelle & Teo, section 7.1).
//!
//! Walking down the list and taking a document where its block has room maximizes sum_p c_p s_pi(p) over the lists
//! that have at most so many documents of a block, for every c that never rises and is never negative.

use super::mark::Mark;
use crate::math::order::compare;

/// The rows that are shown, best first, at most `max_per_value` of each block. Equal scores stand in the order of the rows.
///
/// # Panics
/// If there is not one mark for each score.
pub fn diverse(scores: &[f64], marks: &[Mark], per_block: usize) -> Vec<u32> {
    assert_eq!(scores.len(), marks.len(), "one mark for each score");
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&x, &y| compare(scores[y as usize], scores[x as usize]));
    let blocks = marks.iter().map(|mark| mark.group as usize + 1).max().unwrap_or(0);
    let mut taken = vec![0; blocks];
    order.retain(|&row| {
        let taken = &mut taken[marks[row as usize].group as usize];
        *taken += 1;
        *taken <= per_block
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// The largest sum of c_p s_pi(p) over lists of k rows with few documents per block; every list is tried.
    fn best_of_all(scores: &[f64], groups: &[u32], c: &[f64], per_block: usize) -> f64 {
        fn go(at: usize, list: &mut Vec<usize>, all: &(&[f64], &[u32], &[f64], usize)) -> f64 {
            let (scores, groups, c, per_block) = all;
            if at == c.len() {
                return 0.0;
            }
            let mut best = f64::NEG_INFINITY;
            for row in 0..scores.len() {
                let same = list.iter().filter(|&&other| groups[other] == groups[row]).count();
                if same < *per_block && !list.contains(&row) {
                    list.push(row);
                    best = best.max(c[at] * scores[row] + go(at + 1, list, all));
                    list.pop();
                }
            }
            best
        }
        go(0, &mut Vec::new(), &(scores, groups, c, per_block))
    }

    #[test]
    fn walking_down_the_list_is_best() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let rows = 1 + random.below(7);
            let groups: Vec<u32> = (0..rows).map(|_| random.below(4) as u32).collect();
            let scores: Vec<f64> = (0..rows).map(|_| random.below(5) as f64 - 2.0).collect();
            let per_block = 1 + random.below(2);
            let marks: Vec<Mark> =
                groups.iter().zip(0..).map(|(&group, document)| Mark { document, group }).collect();
            let shown = diverse(&scores, &marks, per_block);
            let k = shown.len().min(3);
            let c: Vec<f64> = (0..k).map(|position| 1.0 / (position + 1) as f64).collect();
            let sum: f64 = shown.iter().zip(&c).map(|(&row, c)| c * scores[row as usize]).sum();
            assert!((sum - best_of_all(&scores, &groups, &c, per_block)).abs() < 1e-12);
        }
    }
}
