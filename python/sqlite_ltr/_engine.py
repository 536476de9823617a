"""Shared code of the Spark, Ray and Dask adapters: calls SQL functions in in-memory databases. Requires pyarrow.

A bucket has all rows of its queries. Training, ranking and evaluation are maps over buckets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute

from sqlite_ltr._call import (
    QUERY_NAMES,
    applied,
    card,
    database,
    quote,
    scalar,
    select,
    text_columns,
    to_json,
    warn,
    warn_again,
    with_columns,
)
from sqlite_ltr._frame import _storable, read
from sqlite_ltr._model import Model
from sqlite_ltr._rank import info, rank

# The default of the option `buckets`.
BUCKETS = 256
# The column with the bucket of each row. It exists only between two maps.
BUCKET = "_ltr_bucket"
# A row's features as JSON, next to the columns of the frame.
_VECTOR = "features as JSON"
# The names that SQL recognizes as the document and as the relevance.
_DOC_NAMES = ("doc_id", "docid", "document_id", "document", "doc", "item_id", "item")
_RELEVANCE_NAMES = ("relevance", "label", "rel", "grade", "rating", "judgment", "judgement")
_ROLES = ("query", "doc", "relevance", "weight", "doc_weight")


@dataclass(frozen=True)
class Training:
    """A training in buckets, which is sent to the workers to pack rows."""

    algorithm: str
    options: Mapping[str, Any]
    buckets: int
    roles: Mapping[str, Any]

    @property
    def query(self) -> str:
        """The query column."""
        name: str = self.roles["query"]
        return name

    @property
    def columns(self) -> list[str]:
        """The columns read in training."""
        vector = self.roles["features"]
        others = [self.roles.get(role) for role in _ROLES]
        return [name for name in others if name] + ([vector] if isinstance(vector, str) else vector)

    def packs(self, rows: pyarrow.Table) -> pyarrow.Table:
        """Return the packs of complete buckets: the columns `bucket` and `rows`."""
        buckets = rows[BUCKET].unique().to_pylist()
        packs = [self._pack(rows.filter(pyarrow.compute.equal(rows[BUCKET], bucket))) for bucket in buckets]
        return pyarrow.table({"bucket": pyarrow.array(buckets, "int32"), "rows": pyarrow.array(packs, "binary")})

    def run(self, ask: Callable[[bytes], Any]) -> Model:
        """Train. `ask` returns the merged answers of all packs for a state."""
        with database(None) as connection:
            state = scalar(connection, "SELECT ltr_begin(?, ?)", self.algorithm, to_json(self.options))
            while not scalar(connection, "SELECT ltr_info(?) ->> 'done'", state):
                state = scalar(connection, "SELECT ltr_step(?, ?)", state, ask(state))
            model = Model(scalar(connection, "SELECT ltr_finish(?)", state))
            warn_again(connection)
        return model

    def _pack(self, rows: pyarrow.Table) -> bytes:
        vector, names = self.roles["features"], [self.roles.get(role) for role in _ROLES]
        frame = read(rows.select([name for name in [*names, vector] if isinstance(name, str)]))
        if not isinstance(vector, str):
            # JSON keeps all 64 bits of a number. It has no NaN, so missing values become null.
            values = zip(*read(_without_booleans(rows.select(vector))).columns)
            frame.add(_VECTOR, [json.dumps(row).replace("NaN", "null") for row in values])
            vector = _VECTOR
        query, doc, relevance, *weights = ["NULL" if name is None else quote(name) for name in names]
        arguments = [query, doc, relevance, quote(vector), "NULL", *weights]
        with database(frame) as connection:
            pack: bytes = scalar(connection, f"SELECT ltr_pack({', '.join(arguments)}) FROM frame")
        return pack


def begin(schema: pyarrow.Schema, algorithm: str, options: Mapping[str, Any] | None, **roles: str | None) -> Training:
    """Check the columns and options for training, and determine the column roles like `ltr_fit`."""
    settings = with_columns(options, roles)
    columns = settings.pop("columns")
    buckets = settings.setdefault("buckets", BUCKETS)
    # Training on two rows, which differ in relevance, gives the roles or the error.
    grades = {*_RELEVANCE_NAMES, str(columns.get("relevance")).lower()}
    rows = {field.name: _examples(field.type, field.name.lower() in grades) for field in schema}
    with database(read(rows)) as connection:
        # Errors in the options come first.
        scalar(connection, "SELECT ltr_begin(?, ?)", algorithm, to_json(settings))
        example = to_json({"lambda": 1, "missing": "zero", "columns": columns})
        known = card(connection, scalar(connection, "SELECT ltr_fit('rank_svm', 'frame', ?)", example))["roles"]
    for text in text_columns(known, columns):
        warn(text)
    settings["columns"] = {role: known[role] for role in _ROLES if known.get(role)}
    if not isinstance(known["features"], str):
        settings["columns"]["features"] = known["features"]
    return Training(algorithm, settings, buckets, known)


def _names(rows: Any) -> list[str]:
    return list(rows.column_names if isinstance(rows, pyarrow.Table) else rows.columns)


@dataclass(frozen=True)
class Applied:
    """A model and its options, which are sent to the workers, and the query and document columns."""

    model: bytes
    options: Mapping[str, Any]
    query: str
    doc: str | None

    def rank(self, rows: Any) -> Any:
        """Rank complete queries, in a pyarrow table or a pandas data frame.

        Equal scores are ranked in document order, as in SQL.
        """
        rows = rows.drop(columns=BUCKET)
        if self.doc is not None:
            sort = rows.sort_by if isinstance(rows, pyarrow.Table) else rows.sort_values
            rows = sort(self.doc)
        ranked = rank(rows, self.model, options=self.options)
        # Engines must know the added columns, score and rank, before a row is ranked.
        added = set(_names(ranked)) - set(_names(rows)) - {"score", "rank"}
        return ranked.drop(columns=list(added)) if added else ranked

    def measure(self, rows: pyarrow.Table) -> pyarrow.Table:
        """Return the metrics of complete queries: the columns `query`, `metric` and `value`."""
        sql = "SELECT query_id, metric, value FROM ltr_evaluate(?, 'frame', ?) WHERE query_id IS NOT NULL"
        frame = read(rows.drop_columns(BUCKET))
        values = []
        if frame.rows:
            with applied(frame, self.model, None, self.options) as (connection, settings):
                values = select(connection, sql, self.model, to_json(settings))
        kinds = {"query": rows.schema.field(self.query).type, "metric": pyarrow.string(), "value": pyarrow.float64()}
        return pyarrow.Table.from_pylist([dict(zip(kinds, row)) for row in values], schema=pyarrow.schema(kinds))

    def means(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
        """Return the means of `measure`, summed in query order, as in a single process."""
        default = {"zero": 0.0, "one": 1.0}.get(str(self.options.get("undefined")))
        sums: dict[str, tuple[float, int]] = {}
        for row in sorted(rows, key=lambda row: row["query"]):
            metric, value = row["metric"], default if row["value"] is None else row["value"]
            if metric == "mre_pooled":
                raise ValueError("mre_pooled is not a mean over queries; measure it in one process, or use mre")
            total, count = sums.get(metric, (0.0, 0))
            sums[metric] = (total, count) if value is None else (total + value, count + 1)
        return {metric: total / count if count else float("nan") for metric, (total, count) in sums.items()}


def apply(names: Iterable[str], model: bytes, options: Mapping[str, Any] | None) -> Applied:
    """Find the query and document columns in a frame."""
    # Engines run a task on each core.
    settings = {"threads": 1, **with_columns(options, {})}
    trained, given = info(model)["roles"], settings["columns"]
    lower = {name.lower(): name for name in names}

    def find(role: str, defaults: Iterable[str]) -> str | None:
        wanted = [name.lower() for name in (given.get(role), trained[role], *defaults) if name is not None]
        return next((lower[name] for name in wanted if name in lower), None)

    query = find("query", QUERY_NAMES)
    if query is None:
        raise ValueError("no query column: name it query_id, or give it under options['columns']")
    return Applied(model, settings, query, find("doc", _DOC_NAMES))


def bucket_numbers(ids: list[Any], buckets: int) -> pyarrow.Array:
    """Return the bucket of each query."""
    ids = _storable("query", ids)
    with database(None) as connection:
        numbers = {query: scalar(connection, "SELECT ltr_bucket(?, ?)", query, buckets) for query in set(ids)}
    return pyarrow.array([numbers[query] for query in ids], "int32")


def partial(state: bytes, packs: Iterable[tuple[int, Any]]) -> Iterator[bytes]:
    """Yield the merged answer of packs; nothing if there are none."""
    merged = None
    sql = "SELECT ltr_merge(answer) FROM (SELECT ? AS answer UNION ALL SELECT ltr_partial(?, ?, ?))"
    with database(None) as connection:
        for bucket, rows in packs:
            merged = scalar(connection, sql, merged, state, bucket, rows)
    if merged is not None:
        yield merged


def answer(state: bytes, packs: pyarrow.Table) -> bytes | None:
    """Return the merged answer of a table of packs; None if it is empty."""
    return next(partial(state, zip(packs["bucket"].to_pylist(), packs["rows"].to_pylist())), None)


def merge(*answers: bytes | None) -> bytes:
    """Return answers as one. None is left out."""
    sql = f"SELECT ltr_merge(column1) FROM (VALUES {', '.join(['(?)'] * len(answers))})"
    with database(None) as connection:
        merged: bytes = scalar(connection, sql, *answers)
    return merged


def tree(answers: list[Any], join: Callable[..., Any]) -> Any:
    """Join answers of workers, eight at a time, until one is left."""
    while len(answers) > 1:
        answers = [join(*answers[i : i + 8]) for i in range(0, len(answers), 8)]
    return answers[0]


def _without_booleans(rows: pyarrow.Table) -> pyarrow.Table:
    """Return the numbers 0 and 1 instead of booleans, as SQLite stores them."""
    types = pyarrow.types
    fields = [field.with_type(pyarrow.int8()) if types.is_boolean(field.type) else field for field in rows.schema]
    return rows.cast(pyarrow.schema(fields))


def _examples(kind: pyarrow.DataType, differ: bool) -> list[Any]:
    """Return two values of a column."""
    types = pyarrow.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return [[1.0], [1.0]]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [bytes(4), bytes(4)]
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    return [1, 2 if differ else 1] if is_number else ["a", "a"]
