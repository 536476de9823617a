//! Tests of factored.

use super::super::Ranker;
use super::*;
use crate::base::Params;
use crate::cost::loss::find;
use crate::learn::fit::Loading;

fn example() -> Factored {
    let loss = find("pair_squared").unwrap().make(&Params::default()).unwrap();
    Factored {
        users: vec![Id::Integer(1), Id::Integer(2)],
        items: vec![Id::text("a"), Id::text("b"), Id::text("c")],
        factors: Factors {
            rank: 2,
            users: vec![1.0, 0.0, 0.0, 1.0],
            items: vec![2.0, 0.0, 0.0, 2.0, 1.0, 1.0],
        },
        user_biases: vec![0.0; 2],
        item_biases: vec![0.5, 0.0, 0.25],
        unknown_bias: -0.5,
        scale: 2.0,
        rated_offsets: vec![0, 2, 3],
        rated: vec![0, 2, 1],
        fold_in: FoldIn {
            loss,
            transform: RatingTransform { gain: true, scale: 2.0 },
            lambda: 1.0,
            tolerance: 1e-3,
        },
        implicit: None,
    }
}

fn read(factored: &Factored) -> Result<Factored> {
    Factored::decode(&factored.encode().unwrap())
}

#[test]
fn what_was_written_is_read() {
    assert_eq!(read(&example()).unwrap(), example());
}

type Change = (&'static str, fn(&mut Factored));

const WRONG: &[Change] = &[
    ("no rank", |f| f.factors.rank = 0),
    ("a rank that overflows", |f| f.factors.rank = usize::MAX),
    ("users out of order", |f| f.users.reverse()),
    ("an item twice", |f| f.items[1] = f.items[0].clone()),
    ("a user too many", |f| f.users.push(Id::Integer(9))),
    ("a number too few", |f| f.factors.items.truncate(5)),
    ("a bias too few", |f| f.item_biases.truncate(2)),
    ("a factor that is NaN", |f| f.factors.users[0] = f64::NAN),
    ("an infinite bias", |f| f.item_biases[0] = f64::INFINITY),
    ("an infinite scale", |f| f.scale = f64::INFINITY),
    ("an unknown bias that is NaN", |f| f.unknown_bias = f64::NAN),
    ("no offsets", |f| f.rated_offsets.clear()),
    ("offsets that fall", |f| f.rated_offsets = vec![0, 9, 3]),
    ("an offset too few", |f| f.rated_offsets = vec![0, 3]),
    ("seen items out of order", |f| f.rated = vec![2, 0, 1]),
    ("a seen item that does not exist", |f| f.rated[1] = 3),
    ("a lambda of 0", |f| f.fold_in.lambda = 0.0),
    ("a tolerance that is NaN", |f| f.fold_in.tolerance = f64::NAN),
    ("a scale of labels of 0", |f| f.fold_in.transform.scale = 0.0),
    ("a factor beyond the bound", |f| f.factors.items[0] = -1e151),
    ("a subnormal lambda", |f| f.fold_in.lambda = 1e-320),
    ("a loss of lists with groups", |f| {
        let params = serde_json::Map::from_iter([
            ("bound".to_owned(), "convex".into()),
            ("diversify_by".to_owned(), "site".into()),
        ]);
        f.fold_in.loss = find("direct").unwrap().make(&params.into()).unwrap();
    }),
    ("a loss that is not convex", |f| {
        f.fold_in.loss = Loss::Pair(crate::cost::loss::PairLoss::Psi, crate::cost::loss::PairWeights::Equal);
    }),
];

#[test]
fn pairs_are_read_as_they_were_written() {
    let kinds = [
        (Implicit::AllItems { count_weight: 3.0 }, true),
        (Implicit::AllItems { count_weight: f64::NAN }, false),
        (Implicit::AllItems { count_weight: -1.0 }, false),
        (Implicit::AllItems { count_weight: 1e7 }, false),
        (Implicit::Sampled { negatives: 2, seed: 5 }, true),
        (Implicit::Sampled { negatives: 0, seed: 5 }, false),
        (Implicit::Sampled { negatives: usize::MAX, seed: 5 }, false),
    ];
    for (implicit, valid) in kinds {
        let item_biases = vec![0.5; 3]; // Each item is known to one of the two users.
        let factored = Factored { implicit: Some(implicit), scale: 0.0, item_biases, ..example() };
        let read = Ranker::decode(factored.tag(), &factored.encode().unwrap(), 0, Loading::All);
        match read {
            Ok(Ranker::Factored(read)) => assert!(valid && *read == factored, "{implicit:?}"),
            Ok(_) => panic!("another form"),
            Err(error) => assert!(!valid && matches!(error, Error::Corrupt(_)), "{implicit:?}: {error}"),
        }
        assert!(Factored::decode(&factored.encode().unwrap()).is_err(), "{implicit:?} as ratings");
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    for (what, change) in WRONG {
        let mut factored = example();
        change(&mut factored);
        assert!(matches!(read(&factored), Err(Error::Corrupt(_))), "{what}");
    }
    assert!(Ranker::decode(TAG, &example().encode().unwrap(), 1, Loading::All).is_err(), "a block");
}

#[test]
fn the_best_fresh_items_come_first() {
    let factored = example();
    let user = factored.user(Some(1));
    assert_eq!(factored.best(&user, 10, Candidates::Unrated, None).unwrap(), vec![(2, 1.5), (0, 1.0)]);
    assert_eq!(factored.best(&user, 2, Candidates::All, None).unwrap(), vec![(1, 2.0), (2, 1.5)]);
    assert_eq!(factored.best(&user, 2, Candidates::Unrated, Some(&[0, 1])).unwrap(), vec![(0, 1.0)]);
    let nobody = factored.user(None);
    assert_eq!(factored.best(&nobody, 1, Candidates::Unrated, None).unwrap(), vec![(0, 1.0)]);
    assert!((factored.score(&nobody, None) + 1.0).abs() < 1e-12);
}

/// The folded user minimizes the problem of that user: ridge on centered labels.
#[test]
fn a_new_user_is_fitted_to_its_ratings() {
    let factored = example();
    let user = factored.fold_in(&[(0, 2.0), (1, 1.0)]);
    // Labels (1.5, 0.5), offsets (1, 0): centered differences to explain are (0, 0).
    assert!(user.factors.iter().all(|value| value.abs() < 1e-12), "{:?}", user.factors);
    let user = factored.fold_in(&[(0, 3.0), (1, 1.0)]);
    // Labels (3.5, 0.5): residuals (1, -1) after centering; rows (1, -1), (-1, 1): u = 2 (1, -1) / (1 + 4).
    assert!(
        (user.factors[0] - 0.4).abs() < 1e-6 && (user.factors[1] + 0.4).abs() < 1e-6,
        "{:?}",
        user.factors
    );
}
