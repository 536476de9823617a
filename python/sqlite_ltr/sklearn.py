"""A scikit-learn estimator. Requires scikit-learn 1.6 or newer, which `import sqlite_ltr` does not import."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

try:
    import numpy
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError("LtrRanker needs scikit-learn 1.6 or newer: pip install 'scikit-learn>=1.6'") from error

from sqlite_ltr._call import database, scalar, scores_rows_alone, select, warn, with_parameters
from sqlite_ltr._frame import sizes_to_ids
from sqlite_ltr._rank import evaluate, info, train

_QUERY, _RELEVANCE, _WEIGHT = "query_id", "relevance", "doc_weight"
# Algorithms that accept missing numbers without the option `missing`.
_TREES = ("boosted_trees", "lambdamart")
# Arguments of other libraries, and their equivalents here.
_OTHERS = {
    **dict.fromkeys(["callbacks", "early_stopping_rounds"], "the number of trees is chosen on eval_set"),
    **dict.fromkeys(["eval_metric", "eval_at"], 'model_.evaluate(frame, options={"metric": ["ndcg@5", "map"]})'),
    "categorical_feature": "columns of texts or of a categorical type are categories",
    "feature_name": "X as a data frame names the features",
    "init_model": "models are trained from the start; ltr_update continues a perceptron",
    "pred_contrib": "model_.explain(X)",
    "num_iteration": "set trees= in the training",
    "raw_score": "scores are raw",
}


class LtrRanker(BaseEstimator):  # type: ignore[misc]
    """A learning-to-rank estimator: predicts scores that order the documents of a query.

    Rows of X are documents. Columns are numbers or categories (text and categorical types). Queries are given by
    `group`, the number of rows per query in row order, or by `qid`, the query of each row. With neither, all rows are
    one query.

    Args:
        algorithm: an algorithm of `ltr_train`. The default ranks with one linear function, trains fast, and works even
            with one query. "auto" compares scalings and kernels by cross-validation and needs 10 queries.
        options: options of `ltr_fit`, such as {"lambda": 0.1}. With {"missing": "mean"}, numbers may be NaN; trees
            accept NaN without it. Texts may be missing.
        parameters: options by name, such as `trees=200`; `lambda_` is the option `lambda`. They also work with
            `get_params`, `set_params` and parameter searches.

    Attributes:
        model_: the trained `sqlite_ltr.Model`. SQL can use it: features are named like the columns of X, or x0, x1,
            ...
        coef_: the weights of the scaled features, whose names are `get_feature_names_out()`. Only models with one
            linear function have it.
        feature_importances_: the share of each column of X in the absolute weights, or in the splits of trees; shares
            sum to 1. Other models do not have it, but `sqlite_ltr.importance` works with all.
        categories_: the names of the category columns.
        evals_result_: NDCG@10 on `eval_set`, as {"valid_0": {"ndcg@10": ...}}; only with `eval_set`.
        n_features_in_, feature_names_in_: as in all scikit-learn estimators.

    Example:
        >>> from sqlite_ltr.sklearn import LtrRanker
        >>> ranker = LtrRanker("boosted_trees", trees=20)
        >>> ranker = ranker.fit(judged[["price", "stars"]], judged["relevance"], qid=judged["query_id"])
        >>> ranker.get_params()
        {'algorithm': 'boosted_trees', 'options': None, 'trees': 20}
        >>> ranker.model_
        <Model boosted_trees: 2 features, 40 queries>
    """

    # With metadata routing, searches and pipelines pass these on.
    __metadata_request__fit = {"qid": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def __init__(
        self, algorithm: str = "rank_svm", *, options: Mapping[str, Any] | None = None, **parameters: Any
    ) -> None:
        """Store the parameters unchecked, as scikit-learn requires."""
        self.algorithm = algorithm
        self.options = options
        # Attributes that end with `_`, such as `lambda_`, would look like fitted ones.
        self._parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters: `algorithm`, `options`, and options given by name."""
        return {**super().get_params(deep), **self._parameters}

    def set_params(self, **params: Any) -> LtrRanker:
        """Set parameters: `algorithm`, `options`, or options by name."""
        own = {name: params.pop(name) for name in ("algorithm", "options") if name in params}
        super().set_params(**own)
        self._parameters = {**self._parameters, **params}
        return self

    def fit(
        self,
        X: Any,
        y: Any,
        group: Iterable[int] | None = None,
        qid: Iterable[Any] | None = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        **others: Any,
    ) -> LtrRanker:
        """Train a model.

        Args:
            X: features, shape (documents, features).
            y: relevance of each document; higher is better.
            group: number of rows per query, in row order.
            qid: query of each row, instead of `group`; rows may be in any order.
            sample_weight: weight of each row, with the role `doc_weight`. Some losses do not accept it.
            eval_set: held-out judgments (X, y), or a list with one such pair, used instead of folds of X to choose
                lambda or the number of trees. "auto", "perceptron" and a fixed number of `trees` are only evaluated on
                it.
            eval_group: `group` for eval_set, or a list with it.
            eval_qid: `qid` for eval_set, or a list with it.
            others: arguments of other libraries raise errors that name the equivalent here.

        Raises:
            ValueError, TypeError: X, y, group or qid cannot be used; the message says why.
            sqlite_ltr.Error: an error in training, for example if y is the same in all rows.
        """
        _refuse("fit", others)
        texts = _text_columns(X)
        X, y = validate_data(self, X, y, ensure_min_samples=2, y_numeric=True, **self._checks(texts))
        frame = {**self._frame(X, group, qid), _RELEVANCE: y}
        if sample_weight is not None:
            weights = column_or_1d(sample_weight, dtype="f8")
            check_consistent_length(y, weights)
            if not weights.any():
                raise ValueError("sample_weight: all weights are zero")
            if (weights != 1).any():
                frame[_WEIGHT] = weights
        options = self._options()
        names, given = self._names(), options.get("columns") or {}
        ignored = given.get("ignore", ())
        found = [names[column] for column in texts if names[column] not in ignored]
        self.categories_ = list(given.get("categories", found))
        numbers = [name for name in names if name not in self.categories_ and name not in ignored]
        listed = {"features": numbers, "categories": self.categories_}
        columns = {**{key: columns for key, columns in listed.items() if columns}, **given}
        _warn_without_queries(frame, group, qid)
        held_out = None if eval_set is None else self._held_out(eval_set, eval_group, eval_qid)
        if held_out is not None and self._can_validate(options):
            options["validation"] = held_out
        self.model_ = train(
            frame, self.algorithm, query=_QUERY, relevance=_RELEVANCE, options={**options, "columns": columns}
        )
        if held_out is not None:
            self.evals_result_ = {"valid_0": self.model_.evaluate(held_out, options={"metric": "ndcg@10"})}
        return self

    def predict(
        self, X: Any, group: Iterable[int] | None = None, qid: Iterable[Any] | None = None, **others: Any
    ) -> Any:
        """Return the score of each row, shape (documents,); higher is better.

        Scores depend on `group` or `qid` if the algorithm or its scaling depends on the query, as for `q_svm`.

        Raises:
            ValueError, TypeError, sklearn.exceptions.NotFittedError, sqlite_ltr.Error: as for `fit`.
        """
        _refuse("predict", others)
        frame, known = self._candidates(X, group, qid), self.model_.card
        # Scores depend on other rows of the query.
        if not scores_rows_alone(known):
            _warn_without_queries(frame, group, qid)
        return self.model_.predict(frame)

    def score(
        self,
        X: Any,
        y: Any,
        group: Iterable[int] | None = None,
        qid: Iterable[Any] | None = None,
        sample_weight: None = None,
    ) -> float:
        """Return the mean NDCG@10 over the queries; NaN if no query has a relevant document.

        Queries without a relevant document (y above 0) are omitted from the mean. `sample_weight` must be None: it
        only exists because scikit-learn pipelines pass it.

        Raises:
            ValueError, TypeError, sklearn.exceptions.NotFittedError, sqlite_ltr.Error: as for `fit`.
        """
        if sample_weight is not None:
            raise ValueError("score() does not accept row weights: queries count equally")
        frame = self._candidates(X, group, qid)
        _warn_without_queries(frame, group, qid)
        y = column_or_1d(y)
        check_consistent_length(frame[_QUERY], y)
        frame[_RELEVANCE] = y
        return evaluate(frame, self.model_, options={"metric": "ndcg@10"})["ndcg@10"]

    @property
    def coef_(self) -> Any:
        """The weights of the scaled features."""
        return numpy.array([weight for _, weight in self._weights()], "f8")

    @property
    def feature_importances_(self) -> Any:
        """The share of each column of X."""
        check_is_fitted(self)
        columns = self._columns_of_features()
        if info(self.model_)["capabilities"]["linear"]:
            parts = numpy.abs(self.coef_).reshape(-1, len(columns)).sum(axis=0)
        else:
            splits = [split % len(columns) for split in self._splits()]
            parts = numpy.bincount(splits, minlength=len(columns)).astype("f8")
        of_columns = numpy.bincount(columns, weights=parts, minlength=self.n_features_in_)
        return of_columns / (of_columns.sum() or 1)

    def _columns_of_features(self) -> list[int]:
        """Return the column of X for each model feature: numbers, then the values of each category."""
        card, names = info(self.model_), self._names()
        features = card["feature_names"]
        columns = [names.index(number) for number in card["roles"]["features"]]
        for category in sorted(card["roles"].get("categories", [])):
            # The last features of a category are NULL and the mean.
            last = features.index(f"{category}=(NULL)", len(columns))
            if features[last + 1 : last + 2] == [f"{category}=(mean)"]:
                last += 1
            columns += [names.index(category)] * (last + 1 - len(columns))
        return columns

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the scaled features of a linear model, or of the features of other models."""
        check_is_fitted(self)
        if input_features is not None and list(input_features) != self._names():
            raise ValueError(f"input_features: the model has the features {', '.join(self._names())}")
        linear = hasattr(self, "coef_")
        return numpy.array([name for name, _ in self._weights()] if linear else self._names(), dtype=object)

    def _weights(self) -> list[tuple[Any, ...]]:
        """Return name and weight of each scaled feature."""
        check_is_fitted(self)
        can = info(self.model_)["capabilities"]
        if not can["linear"] or can["query_dependent"]:
            raise AttributeError(f"coef_: the model of {self.algorithm} is not one linear function")
        with database(None) as connection:
            return select(connection, "SELECT feature, weight FROM ltr_weights(?)", self.model_)

    def _splits(self) -> list[int]:
        """Return the feature index of each tree split."""
        terms = []
        if info(self.model_)["form"] == "linear":
            with database(None) as connection:
                terms = json.loads(scalar(connection, "SELECT ltr_export(?, 'json')", self.model_))["terms"]
        if not terms or not all("trees" in term for term in terms):
            raise AttributeError(
                f"feature_importances_: the model of {self.algorithm} is neither linear nor a sum of trees; "
                "sqlite_ltr.importance works with every model"
            )
        return [feature for term in terms for feature, *_ in term["trees"]["splits"]]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that y is needed, and whether X may have NaN."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self._finite() == "allow-nan"
        return tags

    def _options(self) -> dict[str, Any]:
        """Return the options, including options given by name."""
        return with_parameters(self.options, self._parameters)

    def _can_validate(self, options: Mapping[str, Any]) -> bool:
        """Return whether training uses given rows to choose."""
        if isinstance(options.get("trees"), Number):
            return False
        sql = "SELECT count(*) FROM ltr_algorithms WHERE name = ? AND parameters ->> '$.validation' IS NOT NULL"
        with database(None) as connection:
            return bool(scalar(connection, sql, self.algorithm))

    def _finite(self) -> Any:
        """Return which values of X scikit-learn should accept."""
        return "allow-nan" if self.algorithm in _TREES or "missing" in self._options() else True

    def _checks(self, texts: list[Any]) -> dict[str, Any]:
        """Return how scikit-learn checks X. Texts stay unchanged and may be missing; SQL also checks numbers."""
        if texts:
            return {"dtype": None, "ensure_all_finite": "allow-nan"}
        return {"ensure_all_finite": self._finite()}

    def _candidates(self, X: Any, group: Iterable[int] | None, qid: Iterable[Any] | None) -> dict[str, Any]:
        """Return the frame of X with the training features."""
        check_is_fitted(self)
        # In some rows, all texts of a column may be missing.
        X = validate_data(self, X, reset=False, **self._checks(self.categories_ or _text_columns(X)))
        return self._frame(X, group, qid)

    def _held_out(self, eval_set: Any, group: Any, qid: Any) -> dict[str, Any]:
        """Return the frame of an `eval_set`."""
        pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
        if len(pairs) != 1:
            raise ValueError(f"eval_set has {len(pairs)} pairs (X, y); give one, which is used to choose")
        ((X, y),) = pairs
        # A list has one entry per pair.
        group, qid = (each[0] if isinstance(each, list) and len(each) == 1 else each for each in (group, qid))
        X = validate_data(self, X, reset=False, **self._checks(self.categories_ or _text_columns(X)))
        frame = self._frame(X, group, qid)
        _warn_without_queries(frame, group, qid)
        return {**frame, _RELEVANCE: column_or_1d(y)}

    def _frame(self, X: Any, group: Iterable[int] | None, qid: Iterable[Any] | None) -> dict[str, Any]:
        """Return the columns of X, and the query of each row."""
        names = self._names()
        for name in (_QUERY, _RELEVANCE, _WEIGHT):
            if name in map(str.lower, names):
                raise ValueError(f'a feature is named "{name}", which is the name of another column: rename it')
        if group is not None and qid is not None:
            raise ValueError("give either group or qid, not both")
        rows = len(X)
        if qid is not None:
            queries = column_or_1d(qid).tolist()
            check_consistent_length(X, queries)
        else:
            queries = [0] * rows if group is None else sizes_to_ids(group, rows)
        return {_QUERY: queries, **dict(zip(names, numpy.asarray(X).T))}

    def _names(self) -> list[str]:
        """Return the names of the features."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)


def _text_columns(X: Any) -> list[int]:
    """Return the positions of columns with texts or a categorical type."""
    types = list(X.dtypes) if hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    if all(getattr(kind, "kind", "O") in "biufc" for kind in types):
        return []
    values = numpy.asarray(X, dtype=object)
    if values.ndim != 2:
        return []
    named = [getattr(kind, "name", "") == "category" for kind in types] if len(types) == values.shape[1] else []
    texts = [any(isinstance(value, str) for value in column) for column in values.T]
    return [at for at, is_text in enumerate(texts) if is_text or (named and named[at])]


def _refuse(function: str, others: Mapping[str, Any]) -> None:
    """Refuse unknown arguments like Python, and name the equivalent here."""
    for name in others:
        way = f"; here: {_OTHERS[name]}" if name in _OTHERS else ""
        raise TypeError(f"LtrRanker.{function}() got an unexpected keyword argument '{name}'{way}")


def _warn_without_queries(frame: Mapping[str, Any], group: Iterable[int] | None, qid: Iterable[Any] | None) -> None:
    rows = len(frame[_QUERY])
    if group is None and qid is None:
        warn(
            f"no group and no qid: all {rows} rows are one query. Pass qid=, the query of each row, or group=[{rows}] "
            "if they are one query. Cross-validation passes qid with metadata routing only"
        )
