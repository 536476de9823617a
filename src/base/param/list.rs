//! `#[serde(with = "list")]`: a list whose reading and writing have checkpoints.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::json::VALUE_COST;
use crate::base::Ticks;

pub fn serialize<S: Serializer, T: Serialize>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
    let mut ticks = Ticks::default();
    to.collect_seq(list.iter().inspect(|_| ticks.add(VALUE_COST)))
}

pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let (mut list, mut ticks) = (Vec::new(), Ticks::default());
        while let Some(value) = from.next_element()? {
            ticks.add(VALUE_COST);
            list.push(value);
        }
        Ok(list)
    }
}
