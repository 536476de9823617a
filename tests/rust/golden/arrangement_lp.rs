//! Arrangements against linear programs (Le, Smola, Chapelle & Teo, corollary 7: their relaxations have integral
//! solutions), solved by a simplex method that knows nothing of assignments.

use sqlite_ltr::internals::data::arrange::{RowGroup, Slots};
use sqlite_ltr::internals::math::assignment::{Workspace, maximize_in_blocks};
use sqlite_ltr::internals::math::random::Random;

/// max c.x over x >= 0, A x <= 1, where A is 0/1 and has every row of `sums` as the set of variables that share one.
fn linear_program(c: &[f64], sums: &[Vec<usize>]) -> f64 {
    let (variables, rows) = (c.len(), sums.len());
    let width = variables + rows + 1;
    let mut table = vec![vec![0.0; width]; rows + 1];
    for (row, members) in sums.iter().enumerate() {
        members.iter().for_each(|&variable| table[row][variable] = 1.0);
        table[row][variables + row] = 1.0;
        table[row][width - 1] = 1.0;
    }
    for (variable, &c) in c.iter().enumerate() {
        table[rows][variable] = -c;
    }
    // Bland's rule: the first column that helps, the first row that binds; it never cycles.
    let mut basis: Vec<usize> = (variables..variables + rows).collect();
    while let Some(column) = (0..width - 1).find(|&column| table[rows][column] < -1e-9) {
        let ratio = |row: usize| table[row][width - 1] / table[row][column];
        let bound = (0..rows)
            .filter(|&row| table[row][column] > 1e-9)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basis[a].cmp(&basis[b])));
        let pivot = bound.expect("the program is bounded");
        basis[pivot] = column;
        let scale = table[pivot][column];
        table[pivot].iter_mut().for_each(|value| *value /= scale);
        let pivoted = table[pivot].clone();
        for (row, values) in table.iter_mut().enumerate() {
            let factor = values[column];
            if row != pivot && factor.abs() > 0.0 {
                values.iter_mut().zip(&pivoted).for_each(|(value, other)| *value -= factor * other);
            }
        }
    }
    table[rows][width - 1]
}

/// Above all profits, so that a program with `<=` fills as much as it can.
const SHIFT: f64 = 100.0;

#[test]
fn lists_of_blocks_reach_the_linear_program() {
    let mut random = Random::new(17);
    for _ in 0..60 {
        let l = 8 + random.below(13);
        let blocks = 2 + random.below(7);
        let groups: Vec<u32> =
            (0..l).map(|j| if j < blocks { j } else { random.below(blocks) } as u32).collect();
        let k = 1 + random.below(blocks.min(6));
        let profits: Vec<f64> = (0..k * l).map(|_| 3.0 * random.symmetric()).collect();
        let found = maximize_in_blocks(&profits, k, &groups, &mut Workspace::default());
        let shifted: Vec<f64> = profits.iter().map(|profit| profit + SHIFT).collect();
        let places = (0..k).map(|p| (p * l..(p + 1) * l).collect());
        let of_block = |block: usize| {
            (0..k * l).filter(|cell| groups[cell % l] as usize == block).collect::<Vec<usize>>()
        };
        let sums: Vec<Vec<usize>> = places.chain((0..blocks).map(of_block)).collect();
        let optimum = linear_program(&shifted, &sums) - SHIFT * k as f64;
        assert!((found - optimum).abs() < 1e-8, "{found}, {optimum}");
    }
}

#[test]
fn slots_reach_the_linear_program() {
    let mut random = Random::new(23);
    let (mut refused, mut solved) = (0, 0);
    for _ in 0..80 {
        let (documents, slots) = (2 + random.below(7), 2 + random.below(7));
        let mut row_groups: Vec<RowGroup> = Vec::new();
        for document in 0..documents {
            for group in 0..slots {
                if random.below(3) > 0 || document % slots == group % documents {
                    row_groups.push(RowGroup { document: document as u32, group: group as u32 });
                }
            }
        }
        let scores: Vec<f64> = row_groups.iter().map(|_| 3.0 * random.symmetric()).collect();
        let shifted: Vec<f64> = scores.iter().map(|score| score + SHIFT).collect();
        let members = |same: &dyn Fn(&RowGroup) -> bool| -> Vec<usize> {
            (0..row_groups.len()).filter(|&row| same(&row_groups[row])).collect()
        };
        let of_documents = (0..documents).map(|d| members(&|mark| mark.document as usize == d));
        let of_slots = (0..slots).map(|s| members(&|mark| mark.group as usize == s));
        let sums: Vec<Vec<usize>> = of_documents.chain(of_slots).collect();
        let optimum = linear_program(&shifted, &sums);
        let filled = (optimum / SHIFT).round() as usize;
        if let Ok(table) = Slots::new(&row_groups) {
            let (sum, rows) = table.best(&scores, &mut Workspace::default());
            assert_eq!(rows.len(), filled);
            assert!((sum + SHIFT * filled as f64 - optimum).abs() < 1e-8);
            solved += 1;
        } else {
            assert!(filled < documents.min(slots));
            refused += 1;
        }
    }
    assert!(solved > 40, "{solved} solved, {refused} refused");
}
