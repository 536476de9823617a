use super::*;
use crate::buckets::bytes::BODY;
use crate::data::{Dataset, DatasetBuilder, Id, NewRow, QueryValues};
use crate::math::Random;

/// Random judged documents: 40 queries, three features.
fn data() -> Dataset {
    let mut builder = DatasetBuilder::new("rows", None, Vec::new());
    let mut random = Random::new(1);
    for row in 0..160 {
        let x = [(); 3].map(|()| random.symmetric());
        let (query, doc) = (Id::Integer(row / 4), Some(Id::Integer(row)));
        let relevance = Some(f64::from(x[0] > 0.1) + f64::from(x[0] + x[1] > 0.9));
        let query_values = QueryValues::default();
        builder.begin(NewRow { query, doc, relevance, doc_weight: None, group: None, query_values }).unwrap();
        builder.json(format!("{x:?}").as_bytes()).unwrap();
    }
    pack::rows(builder).unwrap()
}

fn begin(algorithm: &str, options: &str) -> State {
    let options = options::parse(Some(options), Use::Fit).unwrap();
    let state = State::of(algorithm::find(algorithm).unwrap(), &options, 8, Columns::default()).unwrap();
    state.in_rounds(&Control::default()).unwrap()
}

/// The merged answer of all packs, or the first error.
fn answer(state: &State, packs: &[(u32, Vec<u8>)]) -> Result<Answer> {
    let control = Control::default();
    let mut merged: Option<Answer> = None;
    for (bucket, pack) in packs {
        let next = state.answer(*bucket, pack, &control)?;
        match &mut merged {
            Some(merged) => merged.merge(next)?,
            None => merged = Some(next),
        }
    }
    merged.ok_or_else(|| Error::Data("no packs".to_owned()))
}

/// A state with changed bytes and a matching checksum is an error or trains on; it never panics.
#[test]
fn forged_states_never_panic() {
    let packs = pack::split(&data(), 8).unwrap();
    let control = Control::default();
    let mut random = Random::new(2);
    for (algorithm, options) in [
        ("regression", r#"{"scale": "quantile"}"#),
        ("rank_svm", r#"{"lambda": 0.1, "scale": "standard"}"#),
        ("list_net", r#"{"lambda": [0.1, 0.01], "scale": "none"}"#),
        ("eigen_rank", r#"{"components": 2, "scale": "standard"}"#),
    ] {
        let mut state = begin(algorithm, options);
        for _ in 0..6 {
            let bytes = state.to_bytes().unwrap();
            for _ in 0..if crate::is_long() { 2000 } else { 40 } {
                let mut forged = bytes.clone();
                let at = BODY + random.below(forged.len() - BODY);
                forged[at] = random.below(256) as u8;
                let Ok(mut forged) = State::from_bytes(&Kind::State.seal(forged)) else { continue };
                let _ = forged.to_json();
                if let Ok(answer) = answer(&forged, &packs) {
                    let _ = forged.step(answer, &control);
                }
                let _ = forged.finish(&control);
            }
            if state.is_done() {
                break;
            }
            state.step(answer(&state, &packs).unwrap(), &control).unwrap();
        }
    }
}

type Change = (&'static str, fn(&mut State));

#[test]
fn states_whose_parts_contradict_each_other_are_refused() {
    let packs = pack::split(&data(), 8).unwrap();
    let mut begun = begin("rank_svm", r#"{"lambda": [0.1, 0.01]}"#);
    begun.packs.push((0, 1));
    assert!(State::from_bytes(&begun.to_bytes().unwrap()).is_err(), "packs before the first round");
    let wrong: [Change; 6] = [
        ("one pack too few", |state| state.packs.truncate(1)),
        ("a pack twice", |state| state.packs[1] = state.packs[0]),
        ("packs out of order", |state| state.packs.swap(0, 1)),
        ("a bucket without rows", |state| {
            state.round.present.iter_mut().for_each(|present| present.truncate(1));
        }),
        ("the first round again", |state| state.round.number = 1),
        ("no buckets", |state| {
            state.round.present = None;
            state.packs.clear();
        }),
    ];
    for (what, change) in wrong {
        let mut state = begin("rank_svm", r#"{"lambda": [0.1, 0.01]}"#);
        state.step(answer(&state, &packs).unwrap(), &Control::default()).unwrap();
        assert!(State::from_bytes(&state.to_bytes().unwrap()).is_ok());
        change(&mut state);
        assert!(State::from_bytes(&state.to_bytes().unwrap()).is_err(), "{what}");
    }
}

/// The state is the checkpoint: training that resumes from its bytes in each round gives the same model.
#[test]
fn a_training_continues_from_the_bytes_of_its_state() {
    let packs = pack::split(&data(), 8).unwrap();
    let control = Control::default();
    let run = |from_bytes: bool| {
        let mut state = begin("rank_svm", r#"{"lambda": [0.1, 0.01]}"#);
        while !state.is_done() {
            if from_bytes {
                state = State::from_bytes(&state.to_bytes().unwrap()).unwrap();
            }
            state.step(answer(&state, &packs).unwrap(), &control).unwrap();
        }
        state.finish(&control).unwrap().model.to_bytes().unwrap()
    };
    assert!(run(true) == run(false));
}

#[test]
fn answers_of_other_data_are_refused() {
    let packs = pack::split(&data(), 8).unwrap();
    let control = Control::default();
    let mut states = [begin("regression", "{}"), begin("regression", "{}")];
    let some: Vec<(u32, Vec<u8>)> = packs[1..].to_vec();
    let answers = [answer(&states[0], &packs).unwrap(), answer(&states[1], &some).unwrap()];
    for (state, answer) in states.iter_mut().zip(answers) {
        state.step(answer, &control).unwrap();
    }
    let problem = states[0].step(answer(&states[1], &some).unwrap(), &control).unwrap_err().to_string();
    assert!(problem.starts_with("the answer is from another training"), "{problem}");
    let missing = states[0].step(answer(&states[0], &some).unwrap(), &control).unwrap_err().to_string();
    assert!(missing.starts_with(&format!("bucket {} is missing", packs[0].0)), "{missing}");
    let problem = begin("regression", "{}").finish(&control).unwrap_err().to_string();
    assert!(problem.starts_with("round 1 is not answered yet"), "{problem}");
}
