//! Columns that are named like ids (rule 2.12).

use super::super::read_spec::{FeatureColumns, FeatureSet};
use super::ColumnChoice;
use crate::base::error::Error;

/// Whether a column with this name is probably an id: `id`, `rowid`, `uuid`, `guid`, or a name that ends as in
/// `product_id`, `product id`, `product-id`, `product_uuid` or `productId`.
pub(in super::super) fn is_like_id(name: &str) -> bool {
    let name = name.trim();
    let lower = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let before = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    lower == "rowid"
        || ["id", "uuid", "guid"].contains(&lower.rsplit('_').next().unwrap_or_default())
        || before.is_some_and(|before| before.ends_with(|last: char| last.is_ascii_lowercase()))
}

/// Features that are named like ids and that the option `columns` does not list. They are refused if they hold numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct LikeIds {
    /// The columns.
    pub columns: Vec<usize>,
    /// What to say about them.
    pub error: Error,
}

impl ColumnChoice<'_> {
    /// Features of a training that are named like ids and that the option `columns` does not list (rule 2.12).
    pub fn like_ids(
        &self,
        features: &FeatureColumns,
        query_features: Option<&FeatureColumns>,
        doc: Option<usize>,
    ) -> Option<LikeIds> {
        let unlisted = |role: &str, columns: Option<&FeatureColumns>| -> Vec<usize> {
            let listed = self.columns.is_some_and(|columns| columns.contains_key(role));
            match columns {
                Some(FeatureColumns::Wide(columns))
                    if !listed && self.spec.feature_set == FeatureSet::New =>
                {
                    columns.iter().copied().filter(|column| is_like_id(&self.names[*column])).collect()
                }
                _ => Vec::new(),
            }
        };
        let columns =
            [unlisted("features", Some(features)), unlisted("query_features", query_features)].concat();
        let error = self.refuse_ids(&columns, doc.is_some());
        (!columns.is_empty()).then_some(LikeIds { columns, error })
    }

    fn refuse_ids(&self, columns: &[usize], has_doc: bool) -> Error {
        let names: Vec<&str> = columns.iter().map(|column| self.names[*column].as_str()).collect();
        let problem = match names[..] {
            [only] => format!("the column \"{only}\" is named like an id and has no role"),
            _ => format!("the columns \"{}\" are named like ids and have no role", names.join("\", \"")),
        };
        let role = match names.split_first() {
            Some((first, others)) if !has_doc => {
                let proposal = self.proposal(Some(("doc", first)), others);
                format!("to name documents by \"{first}\", use the options {proposal}; ")
            }
            _ => String::new(),
        };
        let ignored = self.proposal(None, &names);
        self.source.error(format!(
            "{problem}; {role}to ignore ids, use the options {ignored}; to use an id as a feature, list all features under \"features\""
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::is_like_id;

    #[test]
    fn ids_are_known_by_their_names() {
        for name in [
            "id",
            "ID",
            "session_id",
            "Product_Id",
            "rowid",
            "uuid",
            "order_uuid",
            "_id",
            "productId",
            "userID",
        ] {
            assert!(is_like_id(name), "{name}");
        }
        for name in ["bid", "paid", "grid", "acid", "valid", "id_count", "ids", "idf", "GRID", "Id3", "x", ""]
        {
            assert!(!is_like_id(name), "{name}");
        }
    }
}
