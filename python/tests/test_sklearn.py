"""`LtrRanker` keeps the contract of scikit-learn's estimators, and ranks as SQL does."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from data import DOCUMENTS, QUERIES, judgments
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sqlite_ltr import info, rank, train
from sqlite_ltr.sklearn import LtrRanker

pytestmark = pytest.mark.filterwarnings(
    "ignore:on validation ndcg", "ignore:too few judged queries", "ignore:ndcg@10 is", "ignore:no group and no qid"
)

# Checks that scikit-learn makes and an estimator refuses, with the reason. docs/guide/python.md has the same list.
TEN_QUERIES = '"auto" compares candidates by cross-validation over queries; the check fits without groups: one query'
SCALED_BY_QUERY = "features are scaled by the least and greatest value of the query: a score depends on the other rows"
WEIGHTS = "lambda is chosen on folds, and the scaling counts rows: a weight of 2 is not two rows"
EVERY = {"check_sample_weight_equivalence_on_dense_data": WEIGHTS}
REFUSED = {
    "all": EVERY,
    "online": dict.fromkeys(
        ["check_sample_weights_list", "check_sample_weights_not_overwritten"], "the perceptron does not weigh documents"
    ),
    "scaled by query": {"check_methods_subset_invariance": SCALED_BY_QUERY},
    "auto": dict.fromkeys(
        [
            "check_dict_unchanged",
            "check_dont_overwrite_parameters",
            "check_dtype_object",
            "check_estimators_dtypes",
            "check_estimators_fit_returns_self",
            "check_estimators_nan_inf",
            "check_estimators_overwrite_params",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_fit2d_1feature",
            "check_fit2d_predict1d",
            "check_fit_check_is_fitted",
            "check_fit_idempotent",
            "check_fit_score_takes_y",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_pipeline_consistency",
            "check_positive_only_tag_during_fit",
            "check_readonly_memmap_input",
            "check_sample_weights_list",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
        ],
        TEN_QUERIES,
    ),
}
ESTIMATORS = {
    "default": LtrRanker(),
    "missing values": LtrRanker(options={"missing": "mean"}),
    "a function for each query": LtrRanker("q_svm"),
    "listwise": LtrRanker("list_net"),
    "online": LtrRanker("perceptron"),
    "with a kernel": LtrRanker(options={"kernel": "gaussian"}),
    "scaled by query": LtrRanker(options={"scale": "query_minmax"}),
    "auto": LtrRanker("auto"),
}


def arrays():
    columns = judgments()
    return np.column_stack([columns["x"], columns["y"]]), np.array(columns["relevance"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learns_own_checks(name):
    refused = EVERY | REFUSED.get(name, {})
    results = check_estimator(ESTIMATORS[name], expected_failed_checks=refused, on_skip=None, on_fail=None)
    statuses = {status: {r["check_name"] for r in results if r["status"] == status} for status in ("failed", "xfail")}
    assert not statuses["failed"]
    # The list has no check that passes. Older versions of scikit-learn have fewer checks.
    known = {result["check_name"] for result in results}
    assert statuses["xfail"] == set(refused) & known
    assert len(results) >= 40


GROUPS = [DOCUMENTS] * QUERIES
QIDS = np.repeat([f"query {i:02}" for i in range(QUERIES)], DOCUMENTS)


def test_it_is_the_model_of_train():
    X, y = arrays()
    ranker = LtrRanker(options={"lambda": 0.1}).fit(X, y, group=GROUPS)
    frame = {"query_id": np.repeat(np.arange(QUERIES), DOCUMENTS), "relevance": y, "x0": X[:, 0], "x1": X[:, 1]}
    assert ranker.model_ == train(
        frame, algorithm="rank_svm", options={"lambda": 0.1, "columns": {"features": ["x0", "x1"]}}
    )
    assert list(ranker.predict(X)) == rank(frame, ranker.model_)["score"]


def test_groups_and_qids_say_the_same():
    X, y = arrays()
    # The ids of the queries decide which fold holds them out, so lambda is given.
    given = {"lambda": 0.1}
    by_group = LtrRanker(options=given).fit(X, y, group=GROUPS)
    by_qid = LtrRanker(options=given).fit(X, y, qid=QIDS)
    assert (by_group.predict(X) == by_qid.predict(X)).all()
    assert by_group.score(X, y, group=GROUPS) == by_qid.score(X, y, qid=QIDS) > 0.9
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = LtrRanker(options=given).fit(X[order], y[order], qid=QIDS[order])
    assert shuffled.score(X, y, qid=QIDS) == pytest.approx(by_qid.score(X, y, qid=QIDS), abs=1e-3)


def test_score_is_the_mean_ndcg_at_10():
    X, y = arrays()
    ranker = LtrRanker().fit(X, y, group=GROUPS)
    gains = (2.0**y - 1).reshape(QUERIES, DOCUMENTS)
    scores = ranker.predict(X).reshape(QUERIES, DOCUMENTS)
    discounts = 1 / np.log2(np.arange(2, 12))
    ranked = np.take_along_axis(gains, np.argsort(-scores, axis=1), axis=1) @ discounts
    ideal = -np.sort(-gains, axis=1) @ discounts
    assert ranker.score(X, y, group=GROUPS) == pytest.approx((ranked / ideal)[ideal > 0].mean(), rel=1e-12)
    assert np.isnan(ranker.score(X, np.zeros(len(X)), group=GROUPS))


def test_without_groups_all_rows_are_one_query():
    X, y = arrays()
    one = LtrRanker().fit(X, y)
    assert (one.predict(X) == LtrRanker().fit(X, y, group=[len(X)]).predict(X)).all()
    assert one.score(X, y) == one.score(X, y, group=[len(X)])


def test_a_warning_says_that_all_rows_are_one_query():
    X, y = arrays()
    ranker = LtrRanker().fit(X, y, group=GROUPS)
    by_query = LtrRanker("q_svm").fit(X, y, group=GROUPS)
    calls = [lambda: LtrRanker().fit(X, y), lambda: ranker.score(X, y), lambda: by_query.predict(X)]
    for call in calls:
        with pytest.warns(UserWarning, match="no group and no qid: all 200 rows are one query") as caught:
            call()
        # The line of the caller, not one of the package.
        assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.predict(X)


@pytest.mark.parametrize("name", ["score", "Rank"])
def test_features_may_have_the_names_that_rank_adds(name):
    X, y = arrays()
    frame = pd.DataFrame(X, columns=["price", name])
    ranker = LtrRanker(options={"lambda": 0.1}).fit(frame, y, group=GROUPS)
    plain = LtrRanker(options={"lambda": 0.1}).fit(X, y, group=GROUPS)
    assert (ranker.predict(frame) == plain.predict(X)).all()


def test_scores_of_a_function_for_each_query_depend_on_the_groups():
    X, y = arrays()
    ranker = LtrRanker("q_svm").fit(X, y, group=GROUPS)
    assert (ranker.predict(X, group=GROUPS) != ranker.predict(X)).any()


def test_clone_pickle_and_parameters():
    X, y = arrays()
    ranker = LtrRanker("list_net", options={"lambda": 0.1}).fit(X, y, group=GROUPS)
    assert ranker.get_params() == {"algorithm": "list_net", "options": {"lambda": 0.1}}
    assert (pickle.loads(pickle.dumps(ranker)).predict(X) == ranker.predict(X)).all()
    copy = clone(ranker)
    assert copy.get_params() == ranker.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert copy.set_params(algorithm="rank_svm").fit(X, y, group=GROUPS).score(X, y, group=GROUPS) > 0.9


def test_names_of_features():
    X, y = arrays()
    frame = pd.DataFrame(X, columns=["price", "q_stars"])
    ranker = LtrRanker().fit(frame, y, group=GROUPS)
    connection = sqlite3.connect(":memory:")
    import sqlite_ltr

    sqlite_ltr.load(connection)
    names = connection.execute("SELECT feature FROM ltr_weights(?)", (ranker.model_,)).fetchall()
    assert [name for (name,) in names] == ["price", "q_stars"]
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(frame.rename(columns={"price": "cost"}))
    with pytest.raises(ValueError, match='a feature is named "relevance"'):
        LtrRanker().fit(frame.rename(columns={"price": "Relevance"}), y)


def test_cross_validation_by_query():
    X, y = arrays()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LtrRanker().set_fit_request(qid=True).set_score_request(qid=True)
        params = {"qid": QIDS, "groups": QIDS}
        scores = cross_val_score(ranker, X, y, cv=GroupKFold(4), params=params)
        assert len(scores) == 4
        assert scores.min() > 0.8
        grid = {"options": [{"lambda": 0.01}, {"lambda": 100}]}
        search = GridSearchCV(ranker, grid, cv=GroupKFold(4)).fit(X, y, **params)
        assert search.best_score_ > 0.8


def test_in_a_pipeline():
    X, y = arrays()
    pipeline = make_pipeline(StandardScaler(), LtrRanker()).fit(X, y, ltrranker__group=GROUPS)
    assert pipeline.predict(X).shape == (len(X),)
    with pytest.raises(ValueError, match="does not accept row weights"):
        pipeline.score(X, y, sample_weight=y)


def test_cross_validation_of_a_pipeline():
    X, y = arrays()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LtrRanker().set_fit_request(qid=True).set_score_request(qid=True)
        params = {"qid": QIDS, "groups": QIDS}
        scores = cross_val_score(make_pipeline(StandardScaler(), ranker), X, y, cv=GroupKFold(4), params=params)
    assert scores.min() > 0.8


class TestRefusals:
    def test_groups_that_do_not_fit(self):
        X, y = arrays()
        with pytest.raises(ValueError, match="sizes sum to 10, the data have 200 rows"):
            LtrRanker().fit(X, y, group=[DOCUMENTS])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            LtrRanker().fit(X, y, qid=QIDS[:-1])
        with pytest.raises(ValueError, match="should be a 1d array"):
            LtrRanker().fit(X, y, qid=X)
        with pytest.raises(ValueError, match="either group or qid"):
            LtrRanker().fit(X, y, group=GROUPS, qid=QIDS)
        ranker = LtrRanker().fit(X, y, group=GROUPS)
        with pytest.raises(ValueError, match="sizes sum to 10"):
            ranker.score(X, y, group=[DOCUMENTS])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ranker.score(X, y[:-1])

    def test_missing_values(self):
        X, y = arrays()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="Input X contains NaN"):
            LtrRanker().fit(X, y, group=GROUPS)
        ranker = LtrRanker(options={"missing": "mean"}).fit(X, y, group=GROUPS)
        assert np.isfinite(ranker.predict(X)).all()
        with pytest.raises(ValueError, match="Input y contains NaN"):
            LtrRanker().fit(X[:2], [0, np.nan])

    def test_equal_relevance(self):
        X, y = arrays()
        with pytest.raises(sqlite3.OperationalError, match="nothing to learn"):
            LtrRanker().fit(X, np.ones_like(y), group=GROUPS)

    def test_one_row(self):
        with pytest.raises(ValueError, match=r"1 sample\(s\)"):
            LtrRanker().fit([[1.0]], [1])

    def test_sparse(self):
        X, y = arrays()
        with pytest.raises(TypeError, match="Sparse data was passed"):
            LtrRanker().fit(scipy.sparse.csr_array(X), y)

    def test_no_relevance(self):
        with pytest.raises(ValueError, match="requires y to be passed"):
            LtrRanker().fit(arrays()[0], None)

    def test_auto_with_one_query(self):
        with pytest.raises(sqlite3.OperationalError, match="'auto' needs 10"):
            LtrRanker("auto").fit(*arrays())

    def test_an_unknown_algorithm(self):
        with pytest.raises(sqlite3.OperationalError, match="did you mean 'rank_svm'"):
            LtrRanker("ranksvm").fit(*arrays())


def test_without_scikit_learn():
    code = "import sys; sys.modules['sklearn'] = None; import sqlite_ltr; sqlite_ltr.train; import sqlite_ltr.sklearn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: LtrRanker needs scikit-learn 1.6 or newer: pip install 'scikit-learn>=1.6'" in run.stderr


def shop(kind="text"):
    """Return a frame, grades and queries: the brand decides, the noise does not."""
    rows = np.arange(20 * 12)
    brand = np.array([f"b{row * 7 % 5}" for row in rows], dtype=object)
    frame = pd.DataFrame({"noise": rows * 31 % 17 / 17, "brand": brand, "price": rows * 13 % 11 / 11})
    if kind == "category of numbers":
        frame["brand"] = pd.Categorical(rows * 7 % 5)
    elif kind != "text":
        frame["brand"] = frame["brand"].astype(kind)
    return frame, rows * 7 % 5 > 2, rows // 12


class TestTexts:
    @pytest.mark.parametrize("kind", ["text", "category", "string", "category of numbers"])
    @pytest.mark.parametrize("algorithm", ["rank_svm", "boosted_trees"])
    def test_texts_and_categorical_types_are_categories(self, kind, algorithm):
        frame, grades, queries = shop(kind)
        options = {"lambda": 0.01} if algorithm == "rank_svm" else {"trees": 10}
        model = LtrRanker(algorithm, options=options).fit(frame, grades, qid=queries)
        judged = frame.assign(query_id=queries, relevance=grades.astype(int))
        columns = {"features": ["noise", "price"], "categories": ["brand"]}
        assert model.model_ == train(judged, algorithm=algorithm, options={**options, "columns": columns})
        assert model.score(frame, grades, qid=queries) == 1.0
        noise, brand, price = model.feature_importances_
        assert brand > 0.5
        assert noise + price == pytest.approx(1 - brand)
        assert pickle.loads(pickle.dumps(model)).predict(frame, qid=queries).tolist() == (
            model.predict(frame, qid=queries).tolist()
        )

    def test_texts_may_be_missing_and_numbers_may_not(self):
        frame, grades, queries = shop()
        frame.loc[::9, "brand"] = None
        model = LtrRanker(options={"lambda": 0.01}).fit(frame, grades, qid=queries)
        assert np.isfinite(model.predict(frame, qid=queries)).all()
        assert np.isfinite(model.predict(frame.iloc[:3].assign(brand=None), qid=queries[:3])).all()
        assert LtrRanker().fit(frame[["brand"]], grades, qid=queries).n_features_in_ == 1
        options = {"lambda": 0.01, "columns": {"ignore": ["brand"]}}
        ignored = LtrRanker(options=options).fit(frame, grades, qid=queries)
        assert info(ignored.model_)["roles"]["features"] == ["noise", "price"]
        frame.loc[4, "price"] = np.nan
        with pytest.raises(sqlite3.OperationalError, match='"price"'):
            LtrRanker(options={"lambda": 0.01}).fit(frame, grades, qid=queries)

    def test_arrays_of_objects_and_cross_validation(self):
        frame, grades, queries = shop()
        values = frame.to_numpy(dtype=object)
        model = LtrRanker(options={"lambda": 0.01}).fit(values, grades, qid=queries)
        assert model.feature_importances_[1] > 0.5
        with sklearn.config_context(enable_metadata_routing=True):
            ranker = LtrRanker(options={"lambda": 0.01}).set_fit_request(qid=True).set_score_request(qid=True)
            found = cross_val_score(ranker, frame, grades, cv=GroupKFold(4), params={"qid": queries, "groups": queries})
        assert found.tolist() == [1.0] * 4
