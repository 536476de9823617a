"""`train`, `rank`, `evaluate` and `info` with every kind of data frame, and what each of them refuses."""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data import DOCUMENTS, QUERIES, judgments
from test_load import Incapable

import sqlite_ltr
from sqlite_ltr import _call, _engine, evaluate, info, rank, train

# Warnings of trainings on data that are too easy.
pytestmark = pytest.mark.filterwarnings("ignore:on validation ndcg", "ignore:lambda ", "ignore:ndcg@10 is")

ROWS = QUERIES * DOCUMENTS
OPTIONS = {"lambda": 0.1}


class Capsule:
    """A frame of another library that has the Arrow PyCapsule interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": pd.DataFrame,
    "pandas with Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
    "capsule": lambda columns: Capsule(pa.table(columns)),
    "columns": dict,
    "numpy columns": lambda columns: {name: np.array(column) for name, column in columns.items()},
    "rows": lambda columns: pa.table(columns).to_pylist(),
}


def fit(frame, **arguments):
    return train(frame, algorithm="rank_svm", options=OPTIONS, **arguments)


def in_sql(columns, sql, arguments):
    """Rows of a statement about the table `frame`, without the bridge."""
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    connection.execute(f"CREATE TABLE frame({', '.join(columns)})")
    connection.executemany(f"INSERT INTO frame VALUES ({', '.join('?' * len(columns))})", zip(*columns.values()))
    return connection.execute(sql, arguments).fetchall()


def values(frame, name):
    """A column as a list, of a frame of any kind."""
    if isinstance(frame, list):
        return [row[name] for row in frame]
    column = frame[name]
    return column if isinstance(column, list) else (getattr(column, "to_pylist", None) or column.to_list)()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_model_and_the_ranking_of_sql(kind):
    columns = judgments()
    frame = KINDS[kind](columns)
    model = fit(frame)
    sql = "SELECT ltr_fit('rank_svm', 'frame', ?)"
    assert model == in_sql(columns, sql, (json.dumps(OPTIONS),))[0][0]
    ranked = rank(frame, model)
    # The same type, the rows in their order, and two more columns.
    expected_type = pa.Table if kind in ("capsule", "record batch") else type(frame)
    assert type(ranked) is expected_type
    assert values(ranked, "x") == columns["x"]
    rows = in_sql(columns, "SELECT score, rank FROM ltr_rank(?, 'frame') ORDER BY query_id, doc_id", (model,))
    assert list(zip(values(ranked, "score"), values(ranked, "rank"))) == rows
    sql = "SELECT value FROM ltr_evaluate(?, 'frame') WHERE query_id IS NULL"
    assert evaluate(frame, model) == {"ndcg@10": in_sql(columns, sql, (model,))[0][0]}


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_a_third_column(kind):
    chance = random.Random(3)
    queries = [row // 10 for row in range(600)]
    x = [query * 7 % 60 / 15 + chance.random() for query in queries]
    grades = [int(value / 2 + chance.random()) for value in x]
    columns = {"query_id": queries, "doc_id": list(range(600)), "relevance": grades, "x": x}
    frame = KINDS[kind](columns)
    model = train(frame, "regression", options=OPTIONS | {"probability": True})
    rows = in_sql(columns, "SELECT probability FROM ltr_rank(?, 'frame') ORDER BY query_id, doc_id", (model,))
    probabilities = [probability for (probability,) in rows]
    assert values(rank(frame, model), "probability") == probabilities
    kept = rank(frame, model, options={"min_probability": 0.5})
    assert values(kept, "probability") == [probability for probability in probabilities if probability >= 0.5]


@pytest.mark.parametrize("kind", KINDS)
def test_short_lists_leave_rows_out(kind):
    frame = KINDS[kind](judgments())
    ranked = rank(frame, fit(frame), options={"k": 2})
    assert sorted(values(ranked, "rank")) == [1] * QUERIES + [2] * QUERIES
    assert values(ranked, "query_id") == sorted(values(ranked, "query_id"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_candidates(kind):
    columns = judgments()
    model = fit(columns)
    empty = {name: column[:0] for name, column in columns.items()}
    if kind == "rows":
        with pytest.raises(ValueError, match="the list of rows is empty"):
            rank([], model)
        return
    frame = pd.DataFrame(columns).head(0) if kind == "pandas" else KINDS[kind](empty)
    ranked = rank(frame, model)
    assert values(ranked, "score") == values(ranked, "rank") == []
    if kind == "pandas":
        assert [str(ranked[name].dtype) for name in ("score", "rank")] == ["float64", "int64"]


def test_no_judgments():
    with pytest.raises(sqlite3.OperationalError, match="the frame: 0 rows"):
        fit(pd.DataFrame(judgments()).head(0))


@pytest.mark.parametrize("frame", [pd.DataFrame(), pl.DataFrame(), {}])
def test_no_columns(frame):
    with pytest.raises(ValueError, match="the data frame has no columns"):
        fit(frame)


@pytest.mark.parametrize("thing", ["judgments.csv", 3, None, [1, 2]])
def test_no_frame(thing):
    with pytest.raises(TypeError, match="not a data frame: .* expected a data frame of pandas"):
        fit(thing)


def test_a_lazy_frame_is_collected_first():
    with pytest.raises(TypeError, match=r"polars.*LazyFrame has no rows; pass the result of its method collect\(\)"):
        fit(pl.LazyFrame(judgments()))


def test_columns_of_different_lengths():
    with pytest.raises(ValueError, match="different lengths: 2, 3"):
        fit({"x": [1, 2], "y": [1, 2, 3]})


@pytest.mark.parametrize("column", ["abc", 3, None])
def test_columns_that_are_no_lists(column):
    with pytest.raises(TypeError, match='column "y": .* is not a list of values'):
        fit({**judgments(), "y": column})


def test_columns_that_can_be_read_once():
    columns = judgments()
    model = fit(columns)
    assert rank({**columns, "y": iter(columns["y"])}, model, options={"k": 3}) == rank(columns, model, options={"k": 3})


def test_columns_of_the_same_name():
    frame = pd.DataFrame(judgments())
    for name in ("x", "X"):
        with pytest.raises(ValueError, match=f'two columns are named "{name}"'):
            fit(pd.concat([frame, frame[["x"]].rename(columns={"x": name})], axis=1))


def test_rows_with_different_keys():
    rows = pa.table(judgments()).to_pylist()
    del rows[4]["y"]
    with pytest.raises(sqlite3.OperationalError, match='row 5 .*column "y": NULL'):
        fit(rows)


def test_the_index_of_pandas_stays():
    frame = pd.DataFrame(judgments(), index=[f"row {i}" for i in range(ROWS)])
    ranked = rank(frame, fit(frame), options={"k": 3})
    assert set(ranked.index) < set(frame.index)
    assert (ranked["x"] == frame["x"][ranked.index]).all()


class TestRoles:
    def test_columns_with_other_names(self):
        columns = judgments()
        renamed = pd.DataFrame(columns).rename(columns={"query_id": "search", "doc_id": "hotel", "relevance": "stars"})
        model = fit(renamed, query="search", doc="hotel", relevance="stars")
        roles = info(model)["roles"]
        assert [roles[role] for role in ("query", "doc", "relevance")] == ["search", "hotel", "stars"]
        assert roles["features"] == ["x", "y"]
        assert evaluate(renamed, model) == evaluate(columns, fit(columns))

    def test_no_query(self):
        with pytest.raises(sqlite3.OperationalError, match="no query column"):
            fit(pd.DataFrame(judgments()).drop(columns="query_id"))

    def test_a_column_that_does_not_exist(self):
        with pytest.raises(sqlite3.OperationalError, match='column "grad", which does not exist'):
            fit(judgments(), relevance="grad")

    def test_without_a_query_all_candidates_are_one_query(self):
        columns = judgments()
        model = fit(columns)
        del columns["query_id"]
        with pytest.warns(UserWarning, match="no query column .* all its rows are ranked as one query"):
            ranked = rank(columns, model)
        assert sorted(ranked["rank"]) == list(range(1, ROWS + 1))

    @pytest.mark.parametrize("name", ["score", "rank", "Rank"])
    def test_a_column_that_rank_adds(self, name):
        columns = judgments()
        with pytest.raises(ValueError, match=f'has a column "{name.lower()}", which rank'):
            rank({**columns, name: columns["x"]}, fit(columns))

    def test_a_missing_feature(self):
        columns = judgments()
        model = fit(columns)
        del columns["x"]
        with pytest.raises(sqlite3.OperationalError, match=r"^rank\(\): .*x"):
            rank(columns, model)

    def test_names_that_sql_must_quote(self):
        frame = pd.DataFrame(judgments()).rename(columns={"x": 'the "x"', "y": "select"})
        assert info(fit(frame))["roles"]["features"] == ['the "x"', "select"]
        assert len(rank(frame, fit(frame))) == ROWS

    def test_numbers_as_names(self):
        frame = pd.DataFrame(judgments()).rename(columns={"x": 0, "y": 1})
        model = fit(frame)
        assert info(model)["roles"]["features"] == ["0", "1"]
        assert list(rank(frame, model).columns) == [*frame.columns, "score", "rank"]

    def test_equal_scores_are_ranked_by_row(self):
        columns = judgments()
        model = fit(columns)
        same = {name: column[:1] * 4 for name, column in columns.items()}
        assert rank(same, model)["rank"] == [1, 2, 3, 4]


class TestGroups:
    def test_sizes_are_the_queries(self):
        columns = judgments()
        frame = pd.DataFrame(columns).drop(columns=["query_id"])
        model = fit(frame, group=[DOCUMENTS] * QUERIES)
        ranked = rank(frame, model, group=np.full(QUERIES, DOCUMENTS))
        assert list(ranked.columns) == [*frame.columns, "score", "rank"]
        assert list(ranked["rank"]) == rank(columns, fit(columns))["rank"]
        assert evaluate(frame, model, group=pd.Series([DOCUMENTS] * QUERIES)) == evaluate(columns, model)

    @pytest.mark.parametrize(
        ("sizes", "message"),
        [
            ([DOCUMENTS] * (QUERIES - 1), "sizes sum to 190, the data have 200 rows"),
            ([DOCUMENTS] * (QUERIES + 1), "sizes sum to 210, the data have 200 rows"),
            ([], "sizes sum to 0, the data have 200 rows"),
            ([0, ROWS], "size 0 at position 0"),
            ([ROWS, -1], "size -1 at position 1"),
            ([1.5, 198.5], "size 1.5 at position 0"),
            # Queries of rows instead of sizes.
            ([2**62] * ROWS, "the data have 200 rows; .* the query of each row is a column"),
            (["boots"] * ROWS, "size boots at position 0; .* the query of each row is a column"),
        ],
    )
    def test_sizes_that_do_not_fit(self, sizes, message):
        frame = pd.DataFrame(judgments()).drop(columns="query_id")
        for call in (fit, lambda f, group: rank(f, fit(judgments()), group=group)):
            with pytest.raises(ValueError, match=message):
                call(frame, group=sizes)

    @pytest.mark.parametrize("name", ["query_id", "qid", "Query"])
    def test_groups_beside_a_query_column(self, name):
        frame = pd.DataFrame(judgments()).rename(columns={"query_id": name})
        with pytest.raises(ValueError, match="either group or the query column"):
            fit(frame, group=[DOCUMENTS] * QUERIES)

    @pytest.mark.parametrize(
        ("role", "expected"),
        [("query", _call.QUERY_NAMES), ("doc", _engine._DOC_NAMES), ("relevance", _engine._RELEVANCE_NAMES)],
    )
    def test_names_of_roles_match_sql(self, role, expected):
        page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "sources.md").read_text()
        (names,) = re.findall(rf"^\| {role} \| (.*?) \|", page, flags=re.MULTILINE)
        assert tuple(re.findall(r"`(\w+)`", names)) == expected

    def test_groups_beside_the_argument_query(self):
        frame = pd.DataFrame(judgments()).rename(columns={"query_id": "search"})
        with pytest.raises(ValueError, match='either group or the query column "search"'):
            fit(frame, query="search", group=[DOCUMENTS] * QUERIES)


class TestValues:
    @pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.uint64, bool])
    def test_numbers_of_numpy(self, kind):
        columns = judgments()
        z = np.array([row % 7 for row in range(ROWS)], dtype=kind)
        plain = fit({**columns, "z": [float(value) for value in z]})
        assert fit(pd.DataFrame({**columns, "z": z})) == plain
        # Scalars of numpy in a column of objects
        assert fit(pd.DataFrame({**columns, "z": pd.Series(list(z), dtype=object)})) == plain

    @pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
    def test_missing_values(self, missing):
        columns = judgments()
        frame = pd.DataFrame({**columns, "x": pd.Series([missing, *columns["x"][1:]], dtype=object)})
        with pytest.raises(sqlite3.OperationalError, match='row 1 .*column "x": NULL; use the option "missing"'):
            fit(frame)
        model = train(frame, algorithm="rank_svm", options={**OPTIONS, "missing": "mean"})
        assert rank(frame, model)["score"].notna().all()

    @pytest.mark.parametrize(("column", "role"), [("query_id", "query"), ("relevance", "relevance")])
    def test_missing_ids_and_grades(self, column, role):
        frame = pd.DataFrame(judgments()).astype({column: "Int64"})
        frame.loc[5, column] = pd.NA
        with pytest.raises(sqlite3.OperationalError, match=f'row 6.*"?{column}"?'):
            fit(frame)

    def test_infinity(self):
        columns = judgments()
        columns["x"][3] = float("inf")
        with pytest.raises(sqlite3.OperationalError, match='row 4 .*column "x"'):
            fit(columns)

    def test_text_as_query(self):
        columns = judgments()
        text = {**columns, "query_id": [f"search {query:02}" for query in columns["query_id"]]}
        assert rank(text, fit(text))["rank"] == rank(columns, fit(columns))["rank"]

    def test_integers_beyond_a_float_are_ids(self):
        columns = judgments()
        columns["query_id"] = [2**60 + query for query in columns["query_id"]]
        assert info(fit(columns))["training"]["queries"] == QUERIES
        assert sorted(rank(columns, fit(columns))["rank"])[:QUERIES] == [1] * QUERIES

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
    def test_integers_beyond_64_bits(self, value):
        columns = judgments()
        columns["query_id"][2] = value
        with pytest.raises(ValueError, match=f'column "query_id", row 3: the integer {value} is beyond 64 bits'):
            fit(columns)

    @pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
    def test_categories_are_features(self, kind):
        columns = judgments()
        color = ["red", "blue"] * (ROWS // 2)
        frame = {
            "pandas": lambda: pd.DataFrame(columns).assign(color=pd.Categorical(color)),
            "polars": lambda: pl.DataFrame(columns).with_columns(pl.Series("color", color, pl.Categorical)),
            "pyarrow": lambda: pa.table({**columns, "color": pa.array(color).dictionary_encode()}),
        }[kind]()
        model = fit(frame)
        assert model == fit({**columns, "color": color})
        assert info(model)["roles"]["categories"] == ["color"]

    @pytest.mark.parametrize("codes", [[1, 2, 3], ["07", "08", "11"]])
    def test_a_category_of_numbers_is_told(self, codes):
        frame = pd.DataFrame(judgments()).assign(city=pd.Categorical(codes * (ROWS // 3) + codes[: ROWS % 3]))
        with pytest.warns(UserWarning, match='"city": a categorical type whose values are numbers counts as a number'):
            assert "city" in info(fit(frame))["roles"]["features"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            options = {**OPTIONS, "columns": {"features": ["x", "y"], "categories": ["city"]}}
            model = train(frame, algorithm="rank_svm", options=options)
        assert info(model)["roles"]["categories"] == ["city"]

    def test_dates_are_days(self):
        columns = judgments()
        day = datetime.date(2026, 11, 22)
        days = [day + datetime.timedelta(row % 3) for row in range(ROWS)]
        model = fit(pd.DataFrame({**columns, "day": days}))
        assert "day" in info(model)["roles"]["features"]

    @pytest.mark.parametrize("unit", ["ns", "us", "D"])
    def test_dates_of_numpy_are_text_and_missing_ones_are_told(self, unit):
        columns = judgments()
        days = np.array(["2026-11-22", "NaT"] * (ROWS // 2), dtype=f"datetime64[{unit}]")
        for day in (days, list(days)):
            with pytest.warns(UserWarning, match='"missing"'):
                fit({**columns, "day": day})
        with pytest.raises(sqlite3.OperationalError, match="row 2.*query_id.*NULL"):
            fit({**columns, "query_id": days})

    def test_decimals_are_numbers(self):
        columns = judgments()
        z = [decimal.Decimal(row % 7) / 2 for row in range(ROWS)]
        assert fit({**columns, "z": z}) == fit({**columns, "z": [float(value) for value in z]})

    @pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "columns"])
    def test_vectors(self, kind):
        columns = judgments()
        vectors = {name: columns[name] for name in ("query_id", "doc_id", "relevance")}
        vectors["features"] = [list(pair) for pair in zip(columns["x"], columns["y"])]
        frame = KINDS[kind](vectors)
        assert list(values(rank(frame, fit(frame)), "rank")) == rank(columns, fit(columns))["rank"]

    def test_vectors_of_numpy_numbers(self):
        columns = judgments()
        vectors = {name: columns[name] for name in ("query_id", "doc_id", "relevance")}
        features = [[np.float32(x), np.float32(y)] for x, y in zip(columns["x"], columns["y"])]
        arrays = pd.DataFrame({**vectors, "features": [np.array(pair) for pair in features]})
        assert fit(pd.DataFrame({**vectors, "features": features})) == fit(arrays)

    @pytest.mark.parametrize("kind", [bytearray, memoryview])
    def test_vectors_of_other_bytes(self, kind):
        columns = judgments()
        pairs = [np.array(pair, "<f4").tobytes() for pair in zip(columns.pop("x"), columns.pop("y"))]
        assert fit({**columns, "features": [kind(pair) for pair in pairs]}) == fit({**columns, "features": pairs})

    def test_durations_and_mappings_of_numbers_are_features(self):
        columns = judgments()
        spans = [datetime.timedelta(seconds=row % 7) for row in range(ROWS)]
        assert "span" in info(fit({**columns, "span": spans}))["roles"]["features"]
        log = [{"bm25": np.float64(row % 5), "clicks": row % 3} for row in range(ROWS)]
        for frame in (pd.DataFrame({**columns, "log": log}), pl.DataFrame({**columns, "log": log})):
            model = fit(frame)
            assert info(model)["roles"]["features"][-2:] == ["bm25", "clicks"]
            assert len(rank(frame, model)) == ROWS
        log[0] = {"bm25": float("nan"), "clicks": 1}
        model = train({**columns, "log": log}, algorithm="rank_svm", options={**OPTIONS, "missing": "mean"})
        assert "bm25" in info(model)["roles"]["features"]

    @pytest.mark.parametrize("value", [object()])
    def test_values_that_sqlite_cannot_store(self, value):
        columns = judgments()
        columns["z"] = [0, 0, value, *[0] * (ROWS - 3)]
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        with pytest.raises(TypeError, match=f'column "z", row 3: SQLite cannot store {re.escape(name)}; convert it'):
            fit(columns)


class TestModels:
    def test_no_model(self):
        with pytest.raises(TypeError, match="a model is bytes, not str: .* SELECT model FROM ltr_models"):
            rank(judgments(), "rank_svm")

    @pytest.mark.parametrize("name", ["score", "rank"])
    def test_a_feature_with_a_name_that_rank_adds(self, name):
        columns = judgments()
        columns[name] = columns.pop("x")
        with pytest.raises(ValueError, match="rename it, for a feature in the training too"):
            rank(columns, fit(columns))

    @pytest.mark.parametrize("options", ['{"lambda": 0.1}', {"columns": "job"}])
    def test_options_that_are_no_dictionary(self, options):
        with pytest.raises(TypeError, match="is a dictionary such as {.*}, not str"):
            train(judgments(), options=options)

    def test_pickle_and_sql(self):
        columns = judgments()
        model = pickle.loads(pickle.dumps(fit(columns)))
        assert type(model) is sqlite_ltr.Model
        assert type(bytes(model)) is bytes
        scores = in_sql(columns, "SELECT ltr_score(?, json_array(x, y)) FROM frame", (model,))
        assert [score for (score,) in scores] == pytest.approx(rank(columns, model)["score"], rel=1e-9)

    def test_the_default_is_auto(self):
        assert info(train(judgments()))["algorithm"] == "auto"

    def test_a_function_for_each_query(self):
        columns = judgments()
        columns["q_length"] = [float(query % 3) for query in columns["query_id"]]
        model = train(columns, algorithm="q_svm", options=OPTIONS)
        assert info(model)["roles"]["query_features"] == ["q_length"]
        assert rank(columns, model)["rank"].count(1) == QUERIES

    def test_recommendation(self):
        ratings = judgments()
        ratings = {"user": ratings["query_id"], "item": ratings["doc_id"], "rating": ratings["relevance"]}
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "the .* column")
            model = train({**ratings, "price": ratings["rating"]}, algorithm="cofi_rank")
        ranked = rank(pd.DataFrame(ratings).sample(frac=1, random_state=3), model).sort_index()
        sql = "SELECT rank FROM ltr_rank(?, 'frame') ORDER BY query_id, doc_id"
        assert [(rank,) for rank in ranked["rank"]] == in_sql(ratings, sql, (model,))

    def test_slots_of_a_page(self):
        rows = [
            {
                "query_id": day,
                "doc_id": 10 * day + article,
                "slot": slot,
                "relevance": int(article == slot),
                "x": float(article == slot) + (article * 7 + day) % 5 / 10,
            }
            for day in range(12)
            for article in range(3)
            for slot in range(2)
        ]
        model = train(rows, algorithm="matching")
        ranked = rank(rows, model)
        assert len(ranked) == 24
        assert all(row["relevance"] == 1 and row in rank(rows, model) for row in ranked)

    def test_options_of_numpy(self):
        model = train(judgments(), algorithm="rank_svm", options={"lambda": np.logspace(-2, 0, 3), "seed": np.int64(3)})
        assert info(model)["training"]["lambda"] in (0.01, 0.1, 1)

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"lamda": 1}, "unknown option 'lamda', did you mean 'lambda'"), ({"lambda": -1}, "lambda")],
    )
    def test_errors_of_sql_come_through(self, options, message):
        with pytest.raises(sqlite_ltr.Error, match=rf"^train\(\): .*{message}"):
            train(judgments(), options=options)

    def test_a_model_that_is_none(self):
        with pytest.raises(sqlite3.OperationalError, match="not a model"):
            rank(judgments(), b"no model")

    def test_warnings_name_the_line_of_the_caller(self):
        with pytest.warns(UserWarning, match="width") as caught:
            fit({**judgments(), "width": [f"{row} cm" for row in range(ROWS)]})
        assert {warning.filename for warning in caught} == {__file__}

    def test_no_relevant_document(self):
        columns = judgments()
        model = fit(columns)
        assert np.isnan(evaluate({**columns, "relevance": [0] * ROWS}, model)["ndcg@10"])


def long_training():
    chance = np.random.default_rng(0)
    rows = 4000
    frame = {f"x{i}": chance.random(rows) for i in range(20)}
    judged = {**frame, "query_id": np.arange(rows) // 20, "relevance": chance.integers(0, 4, rows)}
    train(judged, algorithm="auto", options={"effort": 5})


@pytest.mark.parametrize("version", [sqlite3.sqlite_version_info, (3, 31, 0)])
def test_control_c_stops_a_training(monkeypatch, request, version):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    # A shell starts background jobs with the signal ignored.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, previous))
    timer = threading.Timer(1, signal.raise_signal, [signal.SIGINT])
    request.addfinalizer(timer.cancel)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long_training()
    assert time.monotonic() - start < 3


def test_folds_have_whole_groups():
    columns = judgments()
    frame = {**columns, "season": [query // 4 for query in columns["query_id"]]}
    report = train(frame, algorithm="rank_svm", options={"group_by": "season"}).report
    assert report["validation"]["held_out"].endswith("of whole groups")
    assert report["roles"]["features"] == ["x", "y"]
    with pytest.raises(sqlite_ltr.Error, match="nothing to choose"):
        train(frame, algorithm="boosted_trees", options={"group_by": "season", "trees": 20})


def test_apsw_takes_the_place_of_an_old_sqlite(monkeypatch):
    model = fit(judgments())
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 0))
    assert fit(judgments()) == model
    # The same class and text as with sqlite3.
    with pytest.raises(sqlite_ltr.Error, match=r"^train\(\): unknown option"):
        train(judgments(), options={"lamda": 1})


def test_without_apsw_an_incapable_python_gets_the_ways_out(monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 0))
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Incapable(":memory:"))
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(sqlite3.NotSupportedError, match="pip install apsw"):
        fit(judgments())


def test_the_package_imports_no_other():
    others = "('numpy', 'pandas', 'sklearn', 'apsw')"
    code = f"import sqlite_ltr, sys; sqlite_ltr.train; print([name for name in {others} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
