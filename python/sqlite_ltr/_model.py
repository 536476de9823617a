"""A model: the same bytes as in SQL, with methods for the functions that take a model."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlite_ltr
from sqlite_ltr._call import database, scalar, select, to_json
from sqlite_ltr._error import Error

if TYPE_CHECKING:
    from sqlite_ltr._frame import Rows
    from sqlite_ltr._show import Plot

# Files with these suffixes are databases, in which models are rows of `ltr_models`.
_DATABASES = (".db", ".sqlite", ".sqlite3")
# Counts in training, and their singular.
_COUNTS = {"features": "feature", "queries": "query", "users": "user", "items": "item"}
# Training rows that create the table `ltr_models` and a new version, which then gets the model.
_ANY_ROWS = "SELECT 1 AS query_id, column1 AS relevance, column1 AS x FROM (VALUES (0), (1))"


class Model(bytes):
    """A trained model: `bytes`, as from `ltr_fit`, with information about training. SQL accepts it unchanged.

    Functions that take a model also take `bytes` from a database or a file. `Model(blob)` adds the methods.

    Attributes:
        report: the training report, as returned by `ltr_train`; None for a model from a file or from bytes.
        card: the model's description, as returned by `ltr_info`.
        features: the names of the columns that it reads: numbers, then categories.
        warnings: the training warnings; empty without a report.

    Example:
        >>> model = sqlite_ltr.train(judged, "rank_svm", options={"lambda": 0.1})
        >>> model
        <Model rank_svm: 2 features, 40 queries>
        >>> model.features
        ['price', 'stars']
        >>> ranked = model.rank(candidates)
    """

    report: dict[str, Any] | None

    def __new__(cls, data: bytes, report: Mapping[str, Any] | None = None) -> Model:
        """Make a model from bytes and, if known, the training report."""
        model = super().__new__(cls, data)
        model.report = None if report is None else dict(report)
        return model

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str | None = None) -> Model:
        """Read a model from a file, or from the table `ltr_models` of a database: .db, .sqlite, .sqlite3.

        Args:
            path: the file.
            name: a stored model in the database, such as "shop" or "shop@3"; not needed if there is only one name.

        Raises:
            sqlite_ltr.Error: the database has no such model.
            FileNotFoundError: there is no such file.
        """
        if Path(path).suffix not in _DATABASES:
            return cls(Path(path).read_bytes())
        with _opened(path, must_exist=True) as connection:
            if name is None:
                names = select(connection, "SELECT DISTINCT name FROM ltr_models ORDER BY name")
                if len(names) != 1:
                    listed = ", ".join(name for (name,) in names) or "none"
                    raise Error(f"{path} has the models {listed}: name one, as in Model.load(path, name)")
                ((name,),) = names
            stored = json.loads(scalar(connection, "SELECT ltr_info(?)", name))
            sql = "SELECT model, report FROM ltr_models WHERE name = ? AND version = ?"
            ((data, report),) = select(connection, sql, stored["name"], stored["version"])
        return cls(data, json.loads(report))

    def save(self, path: Any, name: str | None = None) -> Model:
        """Write the model to a file, or to a database (.db, .sqlite, .sqlite3) as a new active version in `ltr_models`.

        Args:
            path: the file, or an open connection with the functions. A file that is not a database only gets the
                bytes, not the report.
            name: name of the stored model; by default the name used in training, otherwise the algorithm's.

        Returns:
            The model.
        """
        if hasattr(path, "execute"):
            self._store(path, name)
        elif Path(path).suffix not in _DATABASES:
            Path(path).write_bytes(self)
        else:
            with _opened(path) as connection:
                self._store(connection, name)
        return self

    def rank(self, df: Rows, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None) -> Rows:
        """Rank the documents of every query: `sqlite_ltr.rank`."""
        return sqlite_ltr.rank(df, self, group=group, options=options)

    def predict(self, df: Any, *, group: Iterable[int] | None = None) -> Any:
        """Return the score of each row, in row order, as a numpy array, or as a list without numpy.

        Args:
            df: a frame, as for `rank`, or an array with the columns of `features` in order.
            group: the number of rows per query, if scores depend on the query and df has no query column.

        Example:
            >>> model.predict(candidates).round(2)[:3]
            array([ 0.5 ,  0.48, -0.63])
        """
        from sqlite_ltr._rank import predict

        return predict(df, self, group)

    def evaluate(
        self, df: Any, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> dict[str, float]:
        """Measure the model on judged documents: `sqlite_ltr.evaluate`, which also has `per_query`."""
        return sqlite_ltr.evaluate(df, self, group=group, options=options)

    def explain(
        self,
        df: Any,
        row: Any = None,
        *,
        above: int | None = None,
        group: Iterable[int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Explain scores: `sqlite_ltr.explain`."""
        return sqlite_ltr.explain(df, self, row, above=above, group=group, options=options)

    def importance(
        self, df: Rows, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> Rows:
        """Measure which features matter: `sqlite_ltr.importance`."""
        return sqlite_ltr.importance(df, self, group=group, options=options)

    def plot(
        self,
        kind: str,
        df: Any = None,
        *,
        other: bytes | None = None,
        feature: str | None = None,
        group: Iterable[int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Plot:
        """Draw a plot.

        Args:
            kind: "validation", "training", "learning" (the first of these that the model has) and "weights" only need
                the model. "importance", "calibration", "scores" and "comparison" need judged documents, "effect" any
                documents.
            df: documents, as for `evaluate`.
            other: the model to compare with, for "comparison".
            feature: the name of a feature, for "effect".
            group: the number of rows per query, in row order.
            options: options of `ltr_evaluate`, or of `ltr_importance` for "importance".

        Raises:
            ValueError: df, other or feature is missing.
            sqlite_ltr.Error: the model has no such plot.

        Example:
            >>> model.plot("effect", held_out, feature="price").startswith("<svg")
            True
        """
        from sqlite_ltr._inspect import plot

        return plot(self, kind, df, other, feature, group, options)

    def export(self, form: str, path: str | os.PathLike[str] | None = None) -> Any:
        """Return the model as text for another program, or as an ONNX graph.

        Args:
            form: "json", "sql", "elasticsearch", "opensearch", "solr", "xgboost", "lightgbm" or "onnx".
            path: a file to write to.

        Raises:
            sqlite_ltr.Error: the model cannot be expressed in this format; the message names formats that work.

        Example:
            >>> model.export("sql")[:9]
            'CASE WHEN'
        """
        if form == "onnx":
            graph = sqlite_ltr.to_onnx(self)
            if path is not None:
                Path(path).write_bytes(graph.SerializeToString())
            return graph
        with database(None) as connection:
            is_lightgbm = form == "lightgbm"
            text: str = scalar(connection, "SELECT ltr_export(?, ?)", self, "json" if is_lightgbm else form)
        if is_lightgbm:
            from sqlite_ltr._lightgbm import to_lightgbm

            text = to_lightgbm(text)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @property
    def card(self) -> dict[str, Any]:
        """The model's description of itself."""
        return sqlite_ltr.info(self)

    @property
    def features(self) -> list[str]:
        """The names of the columns that the model reads."""
        known = self.card
        columns = known["roles"]["features"]
        if not isinstance(columns, list):
            return list(known["feature_names"] or [])
        return [*columns, *known["roles"].get("categories", [])]

    @property
    def warnings(self) -> list[str]:
        """The training warnings."""
        return list((self.report or {}).get("warnings", []))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (bytes(self), self.report)

    def __repr__(self) -> str:
        try:
            known = self.card
        except sqlite_ltr.Error:
            return f"<Model: {len(self)} bytes, not a model>"
        training, validation = known["training"], known["training"].get("validation") or {}
        # Imported models have no information about training.
        known["training"].setdefault("features", len(self.features))
        counts = [(training.get(key), key, one) for key, one in _COUNTS.items()]
        parts = [f"{count} {one if count == 1 else key}" for count, key, one in counts if count]
        if validation.get("best") is not None:
            error = f" ± {validation['error']:.3f}" if validation.get("error") else ""
            parts.append(f"{validation['metric']} {validation['best']:.3f}{error} held out")
        return f"<Model {known['algorithm']}: {', '.join(parts)}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the line of `repr`, the warnings, and the training settings and results."""
        try:
            known = self.card
        except sqlite_ltr.Error:
            known = {"settings": {}, "training": {}}
        texts = [f"<p>⚠ {html.escape(text)}</p>" for text in self.warnings]
        values = {**known["settings"], **known["training"], **(known["training"].get("validation") or {})}
        rows = [
            f"<tr><td>{html.escape(key)}</td><td>{html.escape(str(value))}</td></tr>"
            for key, value in values.items()
            if isinstance(value, (str, int, float))
        ]
        table = f"<details><summary>training</summary><table>{''.join(rows)}</table></details>"
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{''.join(texts)}{table}"

    def _store(self, connection: Any, name: str | None = None) -> str:
        """Store the model as a new active version in `ltr_models`, with the report, and return its name."""
        report = dict(self.report or {})
        name = name or report.get("name") or self.card["algorithm"]
        connection.execute("SAVEPOINT sqlite_ltr_store")
        try:
            options = to_json({"name": name, "lambda": 1, "missing": "zero", "progress": False})
            trained = json.loads(scalar(connection, "SELECT ltr_train('rank_svm', ?, ?)", _ANY_ROWS, options))
            report.update(name=name, version=trained["version"])
            sql = "UPDATE ltr_models SET algorithm = ?, report = ?, model = ? WHERE name = ? AND version = ?"
            select(connection, sql, self.card["algorithm"], to_json(report), bytes(self), name, trained["version"])
        except BaseException:
            connection.execute("ROLLBACK TO sqlite_ltr_store")
            raise
        finally:
            connection.execute("RELEASE sqlite_ltr_store")
        return str(name)


def _opened(path: str | os.PathLike[str], must_exist: bool = False) -> Any:
    """Open a database file with the library, for a `with` statement that closes it."""
    from contextlib import closing

    from sqlite_ltr._load import connect

    if must_exist and not Path(path).exists():
        raise FileNotFoundError(f"no file {path}")
    return closing(connect(os.fspath(path)))
