use std::borrow::Cow;

use super::*;
use crate::data::Id;
use crate::data::category_limits::{LONGEST_VALUE, MOST_DISTINCT};

/// Rows of these queries, whose documents all have the number 0.
fn rows(queries: &[usize]) -> RowsOfCodes<'_> {
    const IDS: [Id; 10] = [const { Id::Null }; 10];
    let n_queries = queries.iter().max().map_or(0, |last| last + 1);
    RowsOfCodes { queries, query_ids: &IDS[..n_queries], documents: Some(&[0; 40]), relevance: &[] }
}

fn codes(values: &[Option<&str>]) -> Codes {
    let mut codes = Codes::new(0);
    values.iter().for_each(|value| codes.push(*value));
    codes
}

/// Five queries of four rows: red and blue are frequent, green has two rows, one row is NULL.
fn colors() -> (Vec<Option<&'static str>>, Vec<usize>) {
    let mut values = ["red", "blue", "red", "blue"].repeat(5).into_iter().map(Some).collect::<Vec<_>>();
    (values[2], values[6], values[11]) = (Some("green"), Some("green"), None);
    (values, (0..20).map(|row| row / 4).collect())
}

#[test]
fn frequent_values_have_a_feature_and_the_order_of_rows_does_not_matter() {
    let (values, queries) = colors();
    let learned = codes(&values).found("color", rows(&queries)).unwrap();
    assert_eq!(learned.category.values, ["blue", "red"]);
    assert_eq!(learned.codes[..4], [1, 0, 2, 0]);
    assert_eq!(learned.codes[11], 3);
    let mut mixed: Vec<usize> = (0..20).map(|row| row * 7 % 20).collect();
    mixed.reverse();
    let (values, queries): (Vec<_>, Vec<_>) = mixed.iter().map(|row| (values[*row], queries[*row])).unzip();
    let other = codes(&values).found("color", rows(&queries)).unwrap();
    assert_eq!(other.category, learned.category);
    assert!(mixed.iter().zip(&other.codes).all(|(row, code)| learned.codes[*row] == *code));
}

#[test]
fn columns_that_are_no_categories() {
    let queries: Vec<usize> = (0..40).map(|row| row / 4).collect();
    let column = |value: &dyn Fn(usize) -> String| {
        let texts: Vec<String> = (0..40).map(value).collect();
        codes(&texts.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>()).found("x", rows(&queries))
    };
    assert!(column(&|row| format!("v{}", row % 4)).is_some());
    for (what, value) in [
        ("one value", &(|_| "same".to_owned()) as &dyn Fn(usize) -> String),
        ("as many values as rows", &|row| format!("v{row}")),
        ("more than half of the rows", &|row| format!("v{}", row % 21)),
        ("of queries", &|row| format!("v{}", row / 4 % 2)),
    ] {
        assert!(column(value).is_none(), "{what}");
    }
    let texts: Vec<String> = (0..40).map(|row| format!("v{}", row % 4)).collect();
    let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    // 1. Titles of 4 documents; without ids of documents, what names the documents of each query.
    let documents: Vec<usize> = (0..40).map(|row| row % 4).collect();
    let titles = RowsOfCodes { documents: Some(&documents), ..rows(&queries) };
    assert!(codes(&texts).found("x", titles).is_none());
    let unnamed = RowsOfCodes { documents: None, ..rows(&queries) };
    assert!(codes(&texts).found("x", unnamed).is_none(), "it names the documents of each query");
    assert!(codes(&texts).listed("x", unnamed).is_ok());
}

#[test]
fn a_million_values_take_the_memory_of_the_first() {
    let mut codes = Codes::new(0);
    (0..1_000_000).for_each(|row| codes.push(Some(&format!("value {row}"))));
    assert!(codes.grown_bytes() < 1000);
    assert!(codes.listed("x", rows(&[0])).unwrap_err().contains("more than 10000 different values"));
    let mut codes = Codes::new(0);
    (0..20).for_each(|_| codes.push(Some(&"x".repeat(1_000_000))));
    assert!(codes.grown_bytes() < 2000);
}

#[test]
fn a_value_is_its_text() {
    let text = |value: CategoryValue<'static>| value.text().map(Cow::into_owned);
    for (value, expected) in [
        (CategoryValue::Integer(1), "1"),
        (CategoryValue::Real(1.0), "1"),
        (CategoryValue::Real(-0.0), "0"),
        (CategoryValue::Real(0.1), "0.1"),
        (CategoryValue::Real(1e300), "1e300"),
        (CategoryValue::Text("1.0"), "1.0"),
        (CategoryValue::Text(" a"), " a"),
    ] {
        assert_eq!(text(value).as_deref(), Some(expected));
    }
    assert_eq!(text(CategoryValue::Null), None);
}

#[test]
fn features_have_names_that_differ() {
    let category = |name: &str, values: &[&str]| {
        let mut values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        values.sort_unstable();
        Category { name: name.to_owned(), values, means: None }
    };
    let special = category("c", &["(NULL)", "(other)", "'(other)'", "A", "a", ""]);
    let names: Vec<String> = Categories::from(vec![special.clone()]).feature_names().collect();
    assert_eq!(
        names,
        ["c=", "c='''(other)'''", "c='(NULL)'", "c='(other)'", "c=A", "c=a", "c=(other)", "c=(NULL)"]
    );
    assert_eq!(special.feature_of(Some("A")), 4);
    assert_eq!(special.feature(6), CategoryFeature::Other);
    // 1. What a training makes is accepted; names that differ only in case are names of values.
    let features = |categories: &Categories| {
        std::iter::once("price".to_owned()).chain(categories.feature_names()).collect::<Vec<_>>()
    };
    let valid = Categories::from(vec![special.clone()]);
    assert!(valid.validate(&features(&valid)).is_ok());
    assert_eq!(valid.input_names(&features(&valid)), ["price", "c"]);
    // 2. Everything else is not.
    let long = "x".repeat(LONGEST_VALUE + 1);
    let many: Vec<String> = (0..=MOST_DISTINCT).map(|number| format!("{number:05}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for wrong in [
        vec![category("c", &[long.as_str()])],
        vec![category("c", &many)],
        vec![category("b", &["x"]), category("a", &["x"])],
        vec![category("Price", &["x"])],
        vec![category("a", &["b=c"]), category("a=b", &["c"])],
        vec![Category { name: "c".to_owned(), values: vec!["b".to_owned(), "a".to_owned()], means: None }],
    ] {
        let wrong = Categories::from(wrong);
        assert!(wrong.validate(&features(&wrong)).is_err(), "{wrong:?}");
    }
    assert!(valid.validate(&["price".to_owned()]).is_err());
    assert!(valid.validate(&valid.feature_names().chain(["price".to_owned()]).collect::<Vec<_>>()).is_err());
}

#[test]
fn many_values_in_many_rows_have_few_features() {
    let learned = |rows: usize, values: usize| {
        let queries: Vec<usize> = (0..rows).map(|row| row / 10).collect();
        let query_ids: Vec<Id> = (0..rows.div_ceil(10) as i64).map(Id::Integer).collect();
        let mut codes = Codes::new(0);
        (0..rows).for_each(|row| codes.push(Some(&format!("v{}", row % values))));
        let rows = RowsOfCodes { queries: &queries, query_ids: &query_ids, documents: None, relevance: &[] };
        codes.listed("x", rows).unwrap().category.values.len()
    };
    assert_eq!([learned(20_000, 150), learned(20_100, 150), learned(20_100, 100)], [100, 25, 100]);
}
