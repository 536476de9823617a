//! A JSON object as text: bincode stores no values of unknown types.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use serde_json::{Map, Value};

pub(super) fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&value.to_string())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    let object: Map<String, Value> =
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)?;
    Ok(Value::Object(object))
}
