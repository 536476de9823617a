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
/// Names of columns that say which part of the data a row belongs to.
const PARTS: [&str; 5] = ["fold", "split", "part", "partition", "set"];

/// Suffixes of names of codes, which are numbers without an order.
const CODES: [&str; 14] = [
    "zip",
    "zipcode",
    "plz",
    "postcode",
    "postalcode",
    "phone",
    "phonenumber",
    "telephone",
    "mobile",
    "fax",
    "isbn",
    "ean",
    "gtin",
    "upc",
];

/// Whether the name of a column says that its numbers are codes: `zip`, `zip_code`, `store zip`, `customerPhone`.
pub fn is_code(name: &str) -> bool {
    let lower = name.trim().to_ascii_lowercase();
    let mut words = lower.rsplit(['_', ' ', '-', '.']);
    let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let camel = name.trim().rfind(|c: char| c.is_ascii_uppercase()).map_or("", |at| &lower[at..]);
    [last, &format!("{before}{last}"), camel].iter().any(|word| CODES.contains(word))
}

/// Whether a program gave a column this name for row numbers.
pub fn is_row_number(name: &str) -> bool {
    ROW_NUMBERS.contains(&&*name.trim().to_ascii_lowercase())
}

/// Whether a column's name says that it marks a part of the data.
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
    fn codes_are_known_by_their_names() {
        for name in [
            "zip",
            "ZIP",
            "zip_code",
            "Zip Code",
            "store-zip",
            "PLZ",
            "customerPhone",
            "phone_number",
            "isbn",
        ] {
            assert!(is_code(name), "{name}");
        }
        for name in ["zipped", "phone_price", "gzip", "code", "microphone", "ZIPS", ""] {
            assert!(!is_code(name), "{name}");
        }
    }

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
