//! What the name of a column says about its values.

/// Names that programs give to the number of a row: pandas, Polars, R and databases.
pub const ROW_NUMBERS: [&str; 12] = [
    "index",
    "level_0",
    "__index_level_0__",
    "unnamed: 0",
    "idx",
    "row",
    "row_nr",
    "row_number",
    "rownum",
    "row_num",
    "rownames",
    "row_index",
];
/// Names of columns that say to which part of the data a row belongs.
const PARTS: [&str; 5] = ["fold", "split", "part", "partition", "set"];

/// Whether a column has the name that a program gives to the number of a row.
pub fn is_row_number(name: &str) -> bool {
    ROW_NUMBERS.contains(&&*name.trim().to_ascii_lowercase())
}

/// Whether the name of a column says that it tells a part of the data.
pub fn is_part(name: &str) -> bool {
    PARTS.iter().any(|part| part.eq_ignore_ascii_case(name))
}

/// Whether a column with this name is probably an id: `id`, `rowid`, `uuid`, `guid`, or a name that ends as in
/// `product_id`, `product id`, `product-id`, `product_uuid` or `productId`.
pub fn is_like_id(name: &str) -> bool {
    let name = name.trim();
    let lower = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let before = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    lower == "rowid"
        || ["id", "uuid", "guid"].contains(&lower.rsplit('_').next().unwrap_or_default())
        || before.is_some_and(|before| before.ends_with(|last: char| last.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
