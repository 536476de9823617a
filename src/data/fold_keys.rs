//! The options `group_by` and `split_by`: which queries validation keeps together, and the order of queries.

use std::collections::HashMap;
use std::ops::Range;

use super::id::Id;
use crate::base::{Ticks, bytes_of};

/// Operations, for [`Ticks`], of comparing and copying an id.
const ID_COST: usize = 64;

/// Groups of queries, and their order.
#[derive(Debug, Clone, Default)]
pub struct FoldKeys {
    /// The group of each query (`n_queries`); empty if each is a separate group.
    pub groups: Vec<Id>,
    /// The position of each query (`n_queries`), the same for all queries of a group; empty without an order.
    pub order: Vec<Id>,
}

impl FoldKeys {
    /// The keys of queries, which are given by id and rows. `order` and `groups`: a value for each row. The position of
    /// a query is its latest row's, and the position of a group is its latest query's.
    ///
    /// # Errors
    /// A query in two groups.
    pub(super) fn of<'a>(
        queries: impl Iterator<Item = (&'a Id, Range<usize>)>,
        order: Option<&[Id]>,
        groups: Option<&[Id]>,
    ) -> Result<Self, String> {
        let (mut ticks, mut keys) = (Ticks::default(), Self::default());
        for (id, rows) in queries {
            ticks.add(ID_COST * rows.len());
            keys.order.extend(order.and_then(|order| order[rows.clone()].iter().max()).cloned());
            let groups = groups.map_or(&[][..], |groups| &groups[rows]);
            let Some(group) = groups.first() else { continue };
            if let Some(other) = groups.iter().find(|other| *other != group) {
                return Err(format!(
                    "option 'group_by': the query {id} is in the groups {group} and {other}; all rows of a query need the same group"
                ));
            }
            keys.groups.push(group.clone());
        }
        let mut latest: HashMap<&Id, &Id> = HashMap::new();
        for (group, place) in keys.groups.iter().zip(&keys.order) {
            let last = latest.entry(group).or_insert(place);
            *last = (*last).max(place);
        }
        if !latest.is_empty() {
            keys.order = keys.groups.iter().map(|group| latest[group].clone()).collect();
        }
        Ok(keys)
    }

    /// The keys of some of the queries.
    #[must_use]
    pub(super) fn of_queries(&self, kept: &[usize]) -> Self {
        let of = |ids: &[Id]| kept.iter().filter_map(|query| ids.get(*query).cloned()).collect();
        Self { groups: of(&self.groups), order: of(&self.order) }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().chain(&self.order).map(|id| bytes_of::<Id>(1) + id.heap_bytes()).sum()
    }
}
