//! Models whose sections are forged: the dictionaries of categories, and sections that no model has.

use serde::{Deserialize, Serialize};
use sqlite_ltr::internals::model::{decode_header, encode_header};

use super::parts::Opened;
use super::{connect, refusal, use_it};

/// A column and its values.
#[derive(Serialize, Deserialize, Clone)]
pub struct Category {
    name: String,
    values: Vec<String>,
    /// Values with a mean, the means, and the mean of NULL.
    means: Option<(Vec<String>, Vec<f64>, f64)>,
}

/// A model with categories, taken apart.
#[derive(Clone)]
struct WithCategories {
    opened: Opened,
    categories: Vec<Category>,
}

impl WithCategories {
    fn new(blob: &[u8]) -> Self {
        let opened = Opened::new(blob);
        let [(name, bytes)] = &opened.parts.sections[..] else { panic!("one section") };
        assert_eq!(name, "categories");
        Self { categories: decode_header(bytes).expect("the categories"), opened }
    }

    fn seal(&self) -> Vec<u8> {
        let mut opened = self.opened.clone();
        opened.parts.sections[0].1 = encode_header(&self.categories).expect("bytes");
        opened.seal()
    }

    /// Renames the features.
    fn rename(&mut self) {
        let numbers = self.opened.parts.card.features.iter().take(2).cloned();
        let features = self.categories.iter().flat_map(|category| {
            let mean = category.means.iter().map(|_| "(mean)");
            let values = category.values.iter().map(String::as_str).chain(["(other)", "(NULL)"]).chain(mean);
            values.map(|value| format!("{}={value}", category.name)).collect::<Vec<_>>()
        });
        self.opened.parts.card.features = numbers.chain(features).collect();
    }
}

/// What is changed, and how.
type Change = (&'static str, fn(&mut WithCategories));

const WRONG: &[Change] = &[
    ("no category", |o| o.categories.clear()),
    ("a value too many", |o| o.categories[0].values.push("zz".to_owned())),
    ("a value too few", |o| drop(o.categories[0].values.pop())),
    ("values that descend", |o| o.categories[0].values.reverse()),
    ("the same value twice", |o| {
        o.categories[0].values = vec!["s".to_owned(), "s".to_owned(), "t".to_owned()];
    }),
    ("a long value", |o| o.categories[0].values[2] = "z".repeat(300)),
    ("the name of a number", |o| "A".clone_into(&mut o.categories[0].name)),
    ("two categories of a name", |o| o.categories.push(o.categories[0].clone())),
    ("means too many", |o| o.categories[0].means = Some((Vec::new(), vec![1.0], 0.0))),
    ("a mean that is not a feature of the model", |o| {
        o.categories[0].means = Some((Vec::new(), Vec::new(), 0.0));
    }),
    ("more features than the model has", |o| {
        o.categories[0].values = (0..90).map(|number| format!("{number:03}")).collect();
    }),
];

/// A name and bytes.
type Section = (String, Vec<u8>);

/// Sections that no model with these categories has, with what is wrong.
fn forged_sections(categories: &Section) -> [(Vec<Section>, &'static str); 7] {
    let named = |name: &str| (name.to_owned(), categories.1.clone());
    let [again, empty] = [categories.clone(), ("categories".to_owned(), vec![0])];
    let forms = encode_header(
        &[("A", "number 12")]
            .map(|(column, form)| (column.to_owned(), (form.to_owned(), None::<String>)))
            .to_vec(),
    );
    let forms = ("quantities".to_owned(), forms.expect("bytes"));
    let out_of_order = "an empty section, or sections out of order";
    [
        (vec![empty], out_of_order),
        (vec![again.clone(), again.clone()], out_of_order),
        (
            vec![named("a later one"), again.clone()],
            "section 'a later one' of a later version; use a newer library",
        ),
        (vec![again.clone(), forms], "'number 12' is not a form of numbers, dates or durations"),
        (vec![again, named("later")], "section 'later' of a later version; use a newer library"),
        (vec![named(&"x".repeat(1 << 20))], "xxx...' of a later version"),
        (
            vec![("categories".to_owned(), [&categories.1[..], &[0]].concat())],
            "bytes after the end of the header",
        ),
    ]
}

#[test]
fn forged_dictionaries_are_refused_and_right_ones_are_used() {
    let connection = connect();
    let source = "SELECT *, substr('stu', 1 + (query_id + doc_id) % 3, 1) AS c FROM judged";
    for (algorithm, options) in [
        ("rank_svm", r#"{"lambda": 0.01, "scale": "standard", "columns": {"categories": ["c"]}}"#),
        ("boosted_trees", r#"{"trees": 2, "depth": 2, "columns": {"categories": ["c"]}}"#),
    ] {
        let sql = "SELECT ltr_fit(?1, ?2, ?3)";
        let blob: Vec<u8> =
            connection.query_row(sql, (algorithm, source, options), |row| row.get(0)).expect("a model");
        let opened = WithCategories::new(&blob);
        assert!(opened.seal() == blob, "the layout in this test differs from the library's");
        assert_eq!(opened.categories[0].values, ["s", "t", "u"]);
        // 1. Wrong contents with right checksums: with the names of the features as they were, and with names that fit.
        for (what, change) in WRONG {
            let mut other = opened.clone();
            change(&mut other);
            assert!(refusal(&connection, &other.seal()).is_some(), "{what}");
            other.rename();
            assert!(refusal(&connection, &other.seal()).is_some(), "{what}, other names");
        }
        // 2. Other sections.
        for (sections, problem) in forged_sections(&opened.opened.parts.sections[0]) {
            let mut other = opened.opened.clone();
            other.parts.sections = sections;
            let refused = refusal(&connection, &other.seal()).expect(problem);
            assert!(refused.contains(problem), "{refused}, not {problem}");
        }
        // 3. A name that would take 100 times its bytes if all features were named together.
        let mut other = opened.clone();
        other.categories[0].name = "x".repeat(1 << 19);
        other.categories[0].values = (0..90).map(|number| format!("{number:03}")).collect();
        assert!(refusal(&connection, &other.seal()).is_some());
        // 4. Means instead of a value, right and wrong ones.
        let mut other = opened.clone();
        other.categories[0].values.pop();
        for (means, is_right) in [
            ((vec!["s".to_owned(), "x".to_owned()], vec![0.5, -0.5], 0.1), true),
            ((vec!["x".to_owned(), "s".to_owned()], vec![0.5, -0.5], 0.1), false),
            ((vec!["s".to_owned()], vec![f64::NAN], 0.1), false),
            ((vec!["s".to_owned()], vec![0.5], f64::INFINITY), false),
            ((vec!["z".repeat(300)], vec![0.5], 0.0), false),
        ] {
            other.categories[0].means = Some(means);
            other.rename();
            assert_eq!(refusal(&connection, &other.seal()).is_none(), is_right);
            use_it(&connection, &other.seal(), "means");
        }
        // 5. Other values that are possible.
        let mut other = opened.clone();
        other.categories[0].values = ["", "\0", "'; DROP TABLE judged; --"].map(str::to_owned).to_vec();
        other.opened.parts.card.features.truncate(2);
        let names = ["c=", "c=\0", "c='''; DROP TABLE judged; --'", "c=(other)", "c=(NULL)"];
        other.opened.parts.card.features.extend(names.map(str::to_owned));
        assert!(refusal(&connection, &other.seal()).is_none());
        use_it(&connection, &other.seal(), "other values");
        use_it(&connection, &blob, "the model");
    }
}
