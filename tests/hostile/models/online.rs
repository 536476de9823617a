//! Online models that are sealed with wrong contents.

use sqlite_ltr::internals::learn::kernel::Basis;
use sqlite_ltr::internals::model::{RoundRecord, encode_header};

use super::parts::{Change, Online, Opened};
use super::{MODELS, assert_modest, connect, fit, refusal, use_it};

/// A valid round.
const ROUND: RoundRecord = RoundRecord { loss: 0.5, surrogate: 0.5, active_documents: 1 };

/// Changes of an online ranker with a kernel that make it wrong.
const WRONG_SUPPORT: &[Change<Online>] = &[
    ("no budget", |o| o.rules.budget = None),
    ("a budget that is exceeded", |o| o.rules.budget = Some(1)),
    ("a budget beyond the option", |o| o.rules.budget = Some(100_001)),
    ("no support documents", |o| o.progress.support = None),
    ("a weight too many", |o| o.progress.weights.push(0.0)),
    ("a sum too few", |o| {
        o.progress.sum.pop();
    }),
    ("a weight that is NaN", |o| o.progress.weights[0] = f64::NAN),
    ("support documents of another width", |o| {
        let count = o.progress.weights.len();
        replace_support(o, 0.5, count, 3);
    }),
    ("support documents without features", |o| {
        (o.progress.weights, o.progress.sum) = (vec![1.0], vec![1.0]);
        replace_support(o, 0.5, 1, 0);
    }),
];

/// Support documents (`count` x `width`) of this value, with the kernel of those before.
fn replace_support(online: &mut Online, value: f64, count: usize, width: usize) {
    let kernel = online.progress.support.as_ref().expect("documents").kernel.clone();
    online.progress.support = Some(Basis::new(kernel, &vec![value; count * width], count, width));
}

/// The factor of 3000 support documents takes 36 MB.
#[test]
fn an_update_reserves_the_factor_of_support_documents_before_it_is_made() {
    const COUNT: usize = 3000;
    let connection = connect();
    // 1. A stored model with many support documents.
    let train =
        r#"SELECT ltr_train('perceptron', 'judged', '{"kernel": {"gaussian": {"gamma": 1}}, "name": "m"}')"#;
    connection.query_row(train, [], |_| Ok(())).expect("a model");
    let model: Vec<u8> =
        connection.query_row("SELECT model FROM ltr_models", [], |row| row.get(0)).expect("the model");
    let mut opened = Opened::new(&model);
    let Online { mut rules, mut progress } = opened.online();
    let kernel = progress.support.as_ref().expect("documents").kernel.clone();
    rules.budget = Some(COUNT);
    (progress.weights, progress.sum) = (vec![0.0; COUNT], vec![0.0; COUNT]);
    progress.support = Some(Basis::new(kernel, &vec![0.5; 2 * COUNT], COUNT, 2));
    opened.parts.ranker = encode_header(&Online { rules, progress }).expect("bytes");
    connection.execute("UPDATE ltr_models SET model = ?1", [opened.seal()]).expect("an update");
    // 2. It is refused by the limit, and nothing large was allocated.
    let update = r#"SELECT ltr_update('m', 'judged', '{"max_memory": 10000000}')"#;
    let error = connection.query_row(update, [], |_| Ok(())).expect_err("a refusal").to_string();
    assert!(error.contains("3000 support documents needs") && error.contains("max_memory"), "{error}");
    assert_modest();
}

#[test]
fn sealed_online_models_with_wrong_support_documents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, ("perceptron", r#"{"kernel": {"gaussian": {"gamma": 1}}}"#)));
    let changed = |change: fn(&mut Online)| {
        let (mut other, mut online) = (opened.clone(), opened.online());
        change(&mut online);
        other.parts.ranker = encode_header(&online).expect("bytes");
        other.seal()
    };
    for (what, change) in WRONG_SUPPORT {
        assert!(refusal(&connection, &changed(*change)).is_some(), "{what}");
    }
    let extremes: [Change<Online>; 3] = [
        ("equal support documents", |o| {
            let count = o.progress.weights.len();
            replace_support(o, 0.5, count, 2);
        }),
        ("huge support documents", |o| {
            let count = o.progress.weights.len();
            replace_support(o, 1e150, count, 2);
        }),
        ("no support documents at all", |o| {
            (o.progress.weights, o.progress.sum) = (Vec::new(), Vec::new());
            replace_support(o, 0.5, 0, 2);
        }),
    ];
    for (what, change) in extremes {
        use_it(&connection, &changed(change), what);
    }
}

/// Changes of an online ranker that make it wrong.
const WRONG_ONLINE: &[Change<Online>] = &[
    ("a budget without a kernel", |o| o.rules.budget = Some(10)),
    ("a round too many", |o| o.progress.record.extend([ROUND; 5])),
    ("a long record", |o| {
        o.progress.rounds = 5000;
        o.progress.record = [ROUND; 1001].into();
    }),
    ("a loss above 1", |o| o.progress.record[0].loss = 1.5),
    ("a loss that is NaN", |o| o.progress.record[0].loss = f64::NAN),
    ("a surrogate of a round that is infinite", |o| o.progress.record[0].surrogate = f64::INFINITY),
    ("a negative surrogate of a round", |o| o.progress.record[0].surrogate = -1.0),
    ("a measure that is unknown", |o| "ndgc".clone_into(&mut o.rules.measure)),
    ("a measure that is not bounded", |o| "err".clone_into(&mut o.rules.measure)),
    ("a cutoff of map", |o| "map@3".clone_into(&mut o.rules.measure)),
    ("a measure without end", |o| o.rules.measure = "ndcg@".repeat(10_000)),
    ("a step of 0", |o| o.rules.learning_rate = 0.0),
    ("a negative step", |o| o.rules.learning_rate = -1.0),
    ("a step that is NaN", |o| o.rules.learning_rate = f64::NAN),
    ("an infinite step", |o| o.rules.learning_rate = f64::INFINITY),
    ("a weight that is NaN", |o| o.progress.weights[0] = f64::NAN),
    ("a weight too many", |o| o.progress.weights.push(0.0)),
    ("no weights", |o| o.progress.weights.clear()),
    ("a sum that is infinite", |o| o.progress.sum[1] = f64::INFINITY),
    ("a sum too few", |o| o.progress.sum.truncate(1)),
    ("more updates than rounds", |o| o.progress.updates = o.progress.rounds + 1),
    ("rounds beyond counting", |o| o.progress.rounds = u64::MAX),
    ("a negative loss", |o| o.progress.cumulative_loss = -1.0),
    ("a surrogate that is NaN", |o| o.progress.cumulative_surrogate = f64::NAN),
    ("steps that are infinite", |o| o.progress.squared_steps = f64::INFINITY),
    ("a negative norm", |o| o.progress.largest_norm = -1.0),
    ("a ratio below 1", |o| o.progress.largest_ratio = 0.5),
    ("a tally that is NaN", |o| o.progress.summaries[0].sum = f64::NAN),
    ("a tally of another mean", |o| o.progress.summaries[1].sum += 1.0),
    ("a tally of more values", |o| o.progress.summaries[0].count += 1),
    ("a tally too few", |o| o.progress.summaries.truncate(1)),
    ("a loss that no round has", |o| o.progress.cumulative_loss += 0.25),
    ("rounds with a loss that nobody counted", |o| o.progress.cumulative_loss = 0.0),
    ("a surrogate that no round has", |o| o.progress.cumulative_surrogate *= 2.0),
    ("updates that nobody counted", |o| o.progress.updates = 0),
    ("an update of a round without a loss", |o| o.progress.updates = o.progress.rounds),
];

#[test]
fn sealed_online_models_with_wrong_contents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, ("perceptron", "{}")));
    for (what, change) in WRONG_ONLINE {
        let (mut other, mut online) = (opened.clone(), opened.online());
        change(&mut online);
        other.parts.ranker = encode_header(&online).expect("bytes");
        assert!(refusal(&connection, &other.seal()).is_some(), "{what}");
    }
    let extremes: [Change<Online>; 6] = [
        ("huge weights", |o| o.progress.weights.fill(1.7e308)),
        ("huge sums", |o| o.progress.sum.fill(-1.7e308)),
        ("a huge step", |o| o.rules.learning_rate = 1.7e308),
        ("most rounds", |o| o.progress.rounds = (1 << 53) - 1),
        ("summaries that fit nothing", |o| {
            o.progress.summaries = vec![sqlite_ltr::internals::data::ColumnSummary::default(); 9];
        }),
        ("countless values", |o| o.progress.summaries[0].count = u64::MAX),
    ];
    for (what, change) in extremes {
        let (mut other, mut online) = (opened.clone(), opened.online());
        change(&mut online);
        other.parts.ranker = encode_header(&online).expect("bytes");
        use_it(&connection, &other.seal(), what);
    }
    let mut other = opened.clone();
    "rank_svm".clone_into(&mut other.parts.card.algorithm);
    use_it(&connection, &other.seal(), "the algorithm of another form");
    let mut other = Opened::new(&fit(&connection, MODELS[0]));
    "perceptron".clone_into(&mut other.parts.card.algorithm);
    use_it(&connection, &other.seal(), "a perceptron without what it goes on from");
}
