//! Matching documents to slots (Le, Smola, Chapelle & Teo, section 7.3; Caetano, Cheng, Le & Smola 2007).
//!
//! A row of a query is a document i at a slot j, with the score s_ij. The document belongs to the slot if y_ij > 0. pi
//! ranges over the assignments of one document per slot (`arrange::Slots`); pi* is the assignment of the labels:
//!
//! ```text
//! l(s) = max_pi sum_j (s + d)[pi(j), j]  -  sum_j (s + d)[pi*(j), j],   d_ij = (1/k)[i != pi*(j)]
//! ```
//!
//! It is convex in s, and at least the fraction of slots that the assignment of the largest score fills wrongly. With the
//! option `slot_costs` d_ij = c_j [i != pi*(j)], and it is at least the sum of the costs c_j of these slots.
//! A slot without a document is omitted, unless every document belongs to a slot and others stay empty. The
//! subgradient is 1 at the rows of the maximizer and -1 at the rows of pi*.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;

use crate::base::{Error, Params, Result, Ticks, shorten};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::{ListConstraint, RowGroup, Slots};
use crate::math::assignment::Workspace;

pub const MATCHING: LossDef = LossDef {
    parameters: &["slot_costs"],
    ..LossDef::listwise("matching", Shape::Convex, |params| {
        Ok(Arc::new(Matching { slot_costs: slot_costs(params)? }))
    })
};

#[derive(Debug, Default)]
struct Matching {
    /// The cost of a wrong document at each slot; `None` if it is the same for all slots with a document.
    slot_costs: Option<Vec<f64>>,
}

fn slot_costs(params: &Params) -> Result<Option<Vec<f64>>> {
    let Some(given) = params.get("slot_costs").filter(|given| !given.is_null()) else { return Ok(None) };
    let numbers = given.as_array().and_then(|costs| costs.iter().map(Value::as_f64).collect());
    numbers.map(Some).ok_or_else(|| wrong_cost(given))
}

fn wrong_cost(found: impl Display) -> Error {
    Error::value("option 'slot_costs'", shorten(&found.to_string()), "numbers from 1e-9 to 1e9")
}

/// The loss of one query.
pub struct MatchingQuery {
    /// `None` if no document belongs to a slot.
    slots: Option<Slots>,
    /// The rows in use; `slots` numbers these.
    rows: Vec<u32>,
    /// The rows of pi*.
    target: Vec<u32>,
    /// d (N).
    cost: Vec<f64>,
}

impl ListwiseLoss for Matching {
    fn constraint(&self) -> ListConstraint {
        ListConstraint::Slots
    }

    /// Whether a document belongs to a slot and another row competes with it.
    fn is_informative(&self, labels: &[f64]) -> bool {
        labels.len() > 1 && labels.iter().any(|&label| label > 0.0)
    }

    /// One row of each slot leaves, another enters.
    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        Some(2.0 * targets(labels).count() as f64)
    }

    /// Refuses costs beyond the range of the option.
    fn validate(&self) -> Result<()> {
        let wrong = |cost: &&f64| !(1e-9..=1e9).contains(*cost);
        self.slot_costs.iter().flatten().find(wrong).map_or(Ok(()), |cost| Err(wrong_cost(cost)))
    }

    /// Refuses two documents that belong to one slot, a document that belongs to two, slots that cannot be filled, and
    /// a number of slots that differs from the number of costs.
    fn check_query(&self, labels: &[f64], row_groups: &[RowGroup]) -> Result<()> {
        let slots = row_groups.iter().map(|row| row.group + 1).max().unwrap_or(0) as usize;
        if let Some(costs) = self.slot_costs.as_ref().filter(|costs| costs.len() != slots) {
            return Err(Error::Data(format!(
                "{slots} slots, but the option 'slot_costs' has {} numbers; give one for each slot, in ascending order of \
                 the slots, and train on queries with the same slots",
                costs.len()
            )));
        }
        let target: Vec<RowGroup> = targets(labels).map(|row| row_groups[row as usize]).collect();
        let mut ticks = Ticks::default();
        for (index, row) in target.iter().enumerate() {
            ticks.add(index);
            let problem = match target[..index].iter().find_map(|other| {
                Some((other.document == row.document, other.group == row.group))
                    .filter(|same| same.0 || same.1)
            }) {
                None => continue,
                Some((true, true)) => "the same document belongs to the same slot twice",
                Some((true, false)) => "a document belongs to two slots",
                Some((false, _)) => "two documents belong to one slot",
            };
            return Err(Error::Data(format!(
                "{problem} (relevance above 0); a slot has one document and a document one slot"
            )));
        }
        MatchingQuery::rows_of(labels, row_groups).1.map(|_| ()).map_err(Error::Data)
    }

    fn prepare(&self, labels: &[f64], row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let (rows, slots) = MatchingQuery::rows_of(labels, row_groups);
        let target: Vec<u32> = targets(labels).collect();
        let mut cost: Vec<f64> = match &self.slot_costs {
            Some(costs) => {
                row_groups.iter().map(|row| costs.get(row.group as usize).map_or(0.0, |c| *c)).collect()
            }
            None => vec![1.0 / target.len().max(1) as f64; labels.len()],
        };
        target.iter().for_each(|&row| cost[row as usize] = 0.0);
        Box::new(MatchingQuery { slots: slots.ok(), rows, target, cost })
    }
}

/// The rows whose document belongs to their slot.
fn targets(labels: &[f64]) -> impl Iterator<Item = u32> + '_ {
    (0..labels.len() as u32).filter(|&row| labels[row as usize] > 0.0)
}

impl MatchingQuery {
    /// The loss with these costs d (N) and the rows of pi*, which has a document for every slot or a slot for every
    /// document.
    ///
    /// # Errors
    /// A sentence about slots that cannot be filled.
    pub fn new(row_groups: &[RowGroup], target: Vec<u32>, cost: Vec<f64>) -> Result<Self, String> {
        let slots = Some(Slots::new(row_groups)?);
        Ok(Self { slots, rows: (0..row_groups.len() as u32).collect(), target, cost })
    }

    /// The rows in use and their table: rows at slots to which a document belongs, or all rows if every document
    /// belongs to a slot.
    fn rows_of(labels: &[f64], row_groups: &[RowGroup]) -> (Vec<u32>, Result<Slots, String>) {
        let count =
            |number: fn(&RowGroup) -> u32| row_groups.iter().map(|row| number(row) + 1).max().unwrap_or(0);
        let slots = count(|row| row.group);
        if targets(labels).count() == count(|row| row.document) as usize {
            return ((0..row_groups.len() as u32).collect(), Slots::new(row_groups));
        }
        let mut numbers: Vec<Option<u32>> = vec![None; slots as usize];
        for (row, number) in targets(labels).zip(0..) {
            numbers[row_groups[row as usize].group as usize] = Some(number);
        }
        let part = |row: u32| {
            let row_group = row_groups[row as usize];
            numbers[row_group.group as usize].map(|group| (row, RowGroup { group, ..row_group }))
        };
        let (rows, row_groups): (Vec<u32>, Vec<RowGroup>) =
            (0..row_groups.len() as u32).filter_map(part).unzip();
        (rows, Slots::new(&renumbered(row_groups)))
    }
}

/// The same row_groups, documents numbered without gaps.
fn renumbered(mut row_groups: Vec<RowGroup>) -> Vec<RowGroup> {
    let mut documents: Vec<u32> = row_groups.iter().map(|row| row.document).collect();
    documents.sort_unstable();
    documents.dedup();
    for row_group in &mut row_groups {
        row_group.document = documents.partition_point(|&document| document < row_group.document) as u32;
    }
    row_groups
}

impl QueryLoss for MatchingQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let Some(slots) = self.slots.as_ref().filter(|_| !self.target.is_empty()) else { return 0.0 };
        let augmented: Vec<f64> =
            self.rows.iter().map(|&row| scores[row as usize] + self.cost[row as usize]).collect();
        let (most, chosen) = slots.best(&augmented, &mut Workspace::default());
        for index in chosen {
            subgradient[self.rows[index as usize] as usize] += 1.0;
        }
        let mut reached = 0.0;
        for &row in &self.target {
            reached += scores[row as usize] + self.cost[row as usize];
            subgradient[row as usize] -= 1.0;
        }
        most - reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// A query of `documents` documents and `slots` slots. A document is relevant at the slot with its number.
    fn query(documents: u32, slots: u32) -> (Vec<f64>, Vec<RowGroup>) {
        let row_groups: Vec<RowGroup> = (0..documents)
            .flat_map(|document| (0..slots).map(move |group| RowGroup { document, group }))
            .collect();
        let labels = row_groups.iter().map(|row| f64::from(u8::from(row.document == row.group))).collect();
        (labels, row_groups)
    }

    #[test]
    fn it_bounds_the_share_of_wrong_slots_and_obeys_the_subgradient_inequality() {
        let mut random = Random::new(1);
        for _ in 0..200 {
            let slots = 1 + random.below(3) as u32;
            let (labels, row_groups) = query(slots + random.below(3) as u32, slots);
            let n = labels.len();
            let loss = Matching::default().prepare(&labels, &row_groups);
            let mut draw = || -> Vec<f64> { (0..n).map(|_| random.symmetric()).collect() };
            let (s, t) = (draw(), draw());
            let (mut g, mut unused) = (vec![0.0; n], vec![0.0; n]);
            let value = loss.value_and_subgradient(&s, &mut g);
            let other = loss.value_and_subgradient(&t, &mut unused);
            let slope: f64 = (0..n).map(|row| g[row] * (t[row] - s[row])).sum();
            assert!(other >= value + slope - 1e-12);
            let (_, shown) = Slots::new(&row_groups).unwrap().best(&s, &mut Workspace::default());
            let right: f64 = shown.iter().map(|&row| labels[row as usize]).sum();
            assert!(value >= 1.0 - right / f64::from(slots) - 1e-12);
        }
    }

    #[test]
    fn a_slot_without_a_document_is_omitted() {
        let (mut labels, row_groups) = query(3, 3);
        labels[8] = 0.0;
        let mut g = vec![0.0; 9];
        let loss = Matching::default().prepare(&labels, &row_groups);
        let value = loss.value_and_subgradient(&[0.0; 9], &mut g);
        assert!((value - 1.0).abs() < 1e-12, "two slots, each as good as wrong");
        assert!((0..3).all(|document| g[3 * document + 2] == 0.0));
    }

    #[test]
    fn a_document_of_its_own_place_is_kept_from_empty_slots() {
        let (labels, row_groups) = query(2, 3);
        let loss = Matching::default().prepare(&labels, &row_groups);
        let mut g = vec![0.0; 6];
        let value = loss.value_and_subgradient(&[0.0, 0.0, 5.0, 0.0, 0.0, 0.0], &mut g);
        assert!(
            (value - 6.0).abs() < 1e-12,
            "the first document prefers the empty slot by 5, and both cost a half"
        );
        assert_eq!(g[..3], [-1.0, 0.0, 1.0]);
    }

    /// All orders of 0..n.
    fn permutations(n: u32) -> Vec<Vec<u32>> {
        let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
        let longer = |order: Vec<u32>| {
            (0..n as usize).map(move |position| {
                let mut order = order.clone();
                order.insert(position, last);
                order
            })
        };
        permutations(last).into_iter().flat_map(longer).collect()
    }

    /// max over pi of the scores plus the costs of wrong slots, minus the scores of the right assignment.
    #[test]
    fn with_costs_of_slots_it_is_the_maximum_over_all_assignments() {
        let mut random = Random::new(2);
        for (documents, slots) in [(2, 2), (3, 3), (4, 3), (5, 2), (4, 4)] {
            let (labels, row_groups) = query(documents, slots);
            let costs: Vec<f64> = (0..slots).map(|_| 1.5 + random.symmetric()).collect();
            let loss = Matching { slot_costs: Some(costs.clone()) };
            loss.check_query(&labels, &row_groups).unwrap();
            let loss = loss.prepare(&labels, &row_groups);
            for _ in 0..20 {
                let scores: Vec<f64> = (0..labels.len()).map(|_| 2.0 * random.symmetric()).collect();
                let score = |document: u32, slot: usize| scores[document as usize * slots as usize + slot];
                let worth = |order: &Vec<u32>| -> f64 {
                    let of_slot = |(slot, &document): (usize, &u32)| {
                        score(document, slot) + if document as usize == slot { 0.0 } else { costs[slot] }
                    };
                    order.iter().take(slots as usize).enumerate().map(of_slot).sum()
                };
                let most = permutations(documents).iter().map(worth).fold(f64::NEG_INFINITY, f64::max);
                let right: f64 = (0..slots).map(|slot| score(slot, slot as usize)).sum();
                let found = loss.value_and_subgradient(&scores, &mut vec![0.0; labels.len()]);
                assert!((found - (most - right)).abs() < 1e-12, "{found}, {}", most - right);
            }
        }
        // Equal costs of 1 / slots are the default.
        let (labels, row_groups) = query(4, 3);
        let scores: Vec<f64> = (0..labels.len()).map(|_| random.symmetric()).collect();
        let value = |loss: Matching| {
            loss.prepare(&labels, &row_groups).value_and_subgradient(&scores, &mut vec![0.0; labels.len()])
        };
        let third = Matching { slot_costs: Some(vec![1.0 / 3.0; 3]) };
        assert_eq!(value(third).to_bits(), value(Matching::default()).to_bits());
    }

    #[test]
    fn costs_are_one_positive_number_for_each_slot() {
        let (labels, row_groups) = query(3, 2);
        let error =
            Matching { slot_costs: Some(vec![1.0; 3]) }.check_query(&labels, &row_groups).unwrap_err();
        assert!(
            error.to_string().starts_with("2 slots, but the option 'slot_costs' has 3 numbers"),
            "{error}"
        );
        for cost in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 1.1e9] {
            assert!(Matching { slot_costs: Some(vec![1.0, cost]) }.validate().is_err());
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let (mut labels, row_groups) = query(3, 2);
        assert!(Matching::default().check_query(&labels, &row_groups).is_ok());
        labels[2] = 1.0;
        let error = Matching::default().check_query(&labels, &row_groups).unwrap_err().to_string();
        assert!(error.starts_with("two documents belong to one slot"), "{error}");
        let mut labels = query(3, 2).0;
        labels[1] = 1.0;
        labels[3] = 0.0;
        let error = Matching::default().check_query(&labels, &row_groups).unwrap_err().to_string();
        assert!(error.starts_with("a document belongs to two slots"), "{error}");
    }
}
