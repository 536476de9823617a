use super::*;
use crate::data::shaped;

#[test]
fn ids_are_known_by_their_names() {
    for name in
        ["id", "ID", "session_id", "Product_Id", "rowid", "uuid", "order_uuid", "_id", "productId", "userID"]
    {
        assert!(is_like_id(name), "{name}");
    }
    for name in ["bid", "paid", "grid", "acid", "valid", "id_count", "ids", "idf", "GRID", "Id3", "x", ""] {
        assert!(!is_like_id(name), "{name}");
    }
}

#[test]
fn numbers_in_texts_are_known_by_their_marks() {
    for (text, sql) in [
        ("$12.50", "CAST(ltrim(c, '$') AS REAL)"),
        ("1.299,00 \u{20ac}", "CAST(replace(replace(c, '.', ''), ',', '.') AS REAL)"),
        ("1'299.50", "CAST(replace(c, '''', '') AS REAL)"),
        ("1.234.567", "CAST(replace(c, '.', '') AS REAL)"),
        ("12.500 EUR", "CAST(replace(c, '.', '') AS REAL) if '.' separates thousands"),
        ("3,5 kg", "CAST(replace(c, ',', '.') AS REAL)"),
        ("1 299,00 EUR", "CAST(replace(replace(c, ' ', ''), ',', '.') AS REAL)"),
        ("80%", "CAST(c AS REAL)"),
    ] {
        assert!(is_like_number(text) && !is_range_of_numbers(text), "{text}");
        assert_eq!(number_in_text(text, "c"), sql, "{text}");
    }
    for text in ["50.000 - 60.000 \u{20ac}", "$40k-$60k", "3\u{2013}5 years", "100 to 200", "1..2"] {
        assert!(is_range_of_numbers(text) && is_like_number(text), "{text}");
    }
    for text in ["12-pack", "red-blue", "A4-A5", "COVID-19", "3 room flat", ""] {
        assert!(!is_range_of_numbers(text), "{text}");
    }
}

#[test]
fn columns_are_those_of_the_matrix_in_any_layout() {
    let (rows, columns) = (ROWS + 7, GATHERED + 3);
    let array = shaped(rows, columns, (0..rows * columns).map(|i| i as f32).collect());
    let turned = array.t().as_standard_layout().into_owned().reversed_axes();
    assert!(turned.as_slice().is_none());
    for matrix in [Matrix::F32(array), Matrix::F32(turned)] {
        let found = gather(&matrix, 2, columns, &|x| x);
        for (column, values) in (2..columns).zip(&found) {
            assert!((0..rows).all(|row| values[row].total_cmp(&matrix.at(row, column)).is_eq()));
        }
    }
}

fn facts(values: &[(usize, Seen<'_>)]) -> ColumnFacts {
    let mut facts = ColumnFacts::default();
    values.iter().for_each(|(query, value)| facts.add(*query, *value));
    facts
}

#[test]
fn a_column_is_known_by_its_values() {
    use Seen::{Blob, Missing, Number, Text};
    let found = facts(&[(0, Text(b"a")), (0, Text(b"a")), (1, Text(b"b")), (1, Text(b"b"))]);
    let expected = Facts { kind: "text", missing: 0, distinct: Some(2), constant_within_query: true };
    assert_eq!(
        (found.facts(), found.is_unique_within_query(2), found.first_text.as_str()),
        (expected, false, "a")
    );
    let found = facts(&[(0, Number(1.0)), (1, Number(1.0)), (0, Number(2.0)), (1, Number(7.5))]);
    let expected = Facts { kind: "number", missing: 0, distinct: Some(3), constant_within_query: false };
    assert_eq!((found.facts(), found.is_unique_within_query(2)), (expected, true));
    assert_eq!((found.range, found.is_whole()), ((1.0, 7.5), false));
    let found = facts(&[(0, Missing), (0, Blob(b"abcd")), (1, Blob(b"efgh"))]);
    assert_eq!((found.facts().kind, found.facts().missing, found.blob_bytes), ("blob", 1, Some(4)));
    assert_eq!(facts(&[(0, Missing), (1, Missing)]).facts().kind, "null");
    assert_eq!(facts(&[(0, Number(1.0)), (0, Text(b"x"))]).facts().kind, "mixed");
}

#[test]
fn counts_end_where_memory_would() {
    let mut facts = ColumnFacts::default();
    (0..50_000).for_each(|row| facts.add(row / 10, Seen::Number(row as f64)));
    assert_eq!((facts.facts().distinct, facts.is_unique_within_query(5000)), (None, true));
    assert!(facts.distinct.len() <= MOST_DISTINCT + 1 && facts.within.values.len() <= ROWS_OF_IDS);
    facts.add(0, Seen::Number(0.0));
    assert!(facts.is_unique_within_query(5000), "what is surely an id is not looked at");
}
