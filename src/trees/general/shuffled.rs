//! Scores of documents that get some features from other documents, as the importance of features needs them.
//!
//! A tree has another leaf for a document only if a split on its path compares one of these features, and answers otherwise.
//! So the path of each tree is walked once, and from such a split on again. The sums run over all trees in their order, so
//! scores have the bits of [`GeneralForest::score_row`].

use super::forest::GeneralForest;
use super::traverse::add;
use crate::base::{Control, Result, parallel};
use crate::data::Shuffle;
use crate::math::LANES;

/// A split on the path of a document, and the child where it goes.
struct Visit {
    tree: u32,
    node: u32,
    child: u32,
}

impl GeneralForest {
    /// Scores of documents with features of others, [`Self::width`] values each: of each shuffle, the scores of its orders one
    /// after the other.
    ///
    /// # Errors
    /// An interrupt.
    pub fn shuffled(&self, rows: &[f64], shuffles: &[Shuffle], control: &Control) -> Result<Vec<Vec<f64>>> {
        let n = rows.len() / self.width.max(1);
        // 1. The columns of the splits that each shuffle changes.
        let mut shuffle_of = vec![usize::MAX; self.columns.len()];
        let mut columns = vec![Vec::new(); shuffles.len()];
        for (number, column) in self.columns.iter().enumerate() {
            let changes = |shuffle: &Shuffle| shuffle.columns.contains(&(column.feature as usize));
            if let Some(shuffle) = shuffles.iter().position(changes) {
                shuffle_of[number] = shuffle;
                columns[shuffle].push(number);
            }
        }
        // 2. Scores, document by document.
        let of_document = |document: usize| {
            control.check()?;
            Ok(self.shuffled_document(rows, document, shuffles, &shuffle_of, &columns))
        };
        let by_document: Vec<Vec<f64>> = parallel::try_map(n, of_document)?;
        let mut first = 0;
        let of_shuffle = |shuffle: &Shuffle| {
            let orders = first..first + shuffle.orders.len();
            first = orders.end;
            orders.flat_map(|order| by_document.iter().map(move |scores| scores[order])).collect()
        };
        Ok(shuffles.iter().map(of_shuffle).collect())
    }

    /// A document's scores in each order of each shuffle.
    fn shuffled_document(
        &self,
        rows: &[f64],
        document: usize,
        shuffles: &[Shuffle],
        shuffle_of: &[usize],
        columns: &[Vec<usize>],
    ) -> Vec<f64> {
        let row = |document: usize| &rows[document * self.width..(document + 1) * self.width];
        let mut values = vec![0.0; self.columns.len()];
        self.read_row(row(document), &mut values);
        // 1. The paths of the document itself.
        let mut visits: Vec<Vec<Visit>> = shuffles.iter().map(|_| Vec::new()).collect();
        let leaf = |(tree, root): (usize, &super::forest::Root)| {
            let mut node = root.node as usize;
            while !self.is_leaf(node) {
                let column = self.steps[node].column as usize;
                let child = self.next(&self.steps[node], values[column]);
                if let Some(visits) = visits.get_mut(shuffle_of[column]) {
                    visits.push(Visit { tree: tree as u32, node: node as u32, child: child as u32 });
                }
                node = child;
            }
            self.values[node]
        };
        let leaves: Vec<f64> = self.roots.iter().enumerate().map(leaf).collect();
        // 2. The trees that change, for some orders at a time.
        let mut scores = Vec::new();
        let mut changed = vec![[0.0; LANES]; leaves.len()];
        for ((shuffle, visits), columns) in shuffles.iter().zip(&visits).zip(columns) {
            for orders in shuffle.orders.chunks(LANES) {
                changed.iter_mut().zip(&leaves).for_each(|(changed, leaf)| *changed = [*leaf; LANES]);
                for (lane, order) in orders.iter().enumerate() {
                    let other = row(order[document]);
                    for column in columns {
                        let read = self.columns[*column];
                        values[*column] = read.read(other[read.feature as usize]);
                    }
                    let mut last = None;
                    for Visit { tree, node, child } in visits {
                        let step = &self.steps[*node as usize];
                        let other = self.next(step, values[step.column as usize]);
                        if other != *child as usize && last != Some(*tree) {
                            last = Some(*tree);
                            changed[*tree as usize][lane] = self.values[self.leaf_below(other, &values)];
                        }
                    }
                }
                scores.extend(&self.sums(&changed)[..orders.len()]);
            }
            let own = row(document);
            for column in columns {
                let read = self.columns[*column];
                values[*column] = read.read(own[read.feature as usize]);
            }
        }
        scores
    }

    /// The leaf that a document reaches from a node.
    pub(super) fn leaf_below(&self, mut node: usize, values: &[f64]) -> usize {
        while !self.is_leaf(node) {
            let step = &self.steps[node];
            node = self.next(step, values[step.column as usize]);
        }
        node
    }

    /// The sums over trees, lane by lane.
    fn sums(&self, leaves: &[[f64; LANES]]) -> [f64; LANES] {
        if self.single {
            let mut sums = [self.start as f32; LANES];
            for leaves in leaves {
                sums.iter_mut().zip(leaves).for_each(|(sum, value)| *sum = add(*sum, *value));
            }
            return sums.map(f64::from);
        }
        let mut sums = [self.start; LANES];
        for leaves in leaves {
            sums.iter_mut().zip(leaves).for_each(|(sum, value)| *sum += value);
        }
        sums
    }
}
