"""Data frames as columns of values that SQLite can store, and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

# A data frame. Functions return the same kind as they get.
Rows = TypeVar("Rows")
# Returns the frame with two more columns. Arguments: the rows to keep, or None for all of them; scores; ranks.
Extend = Callable[["list[int] | None", "dict[str, list[Any]]"], Any]
# Returns a frame of the same kind with these columns.
Make = Callable[["dict[str, list[Any]]"], Any]

_STORABLE = {int, float, str, bytes, bool, type(None)}
_ACCEPTED = (
    "a data frame of pandas, polars or pyarrow, an object with the Arrow PyCapsule interface if pyarrow is installed, "
    "a mapping of columns, or a list of rows that are mappings"
)
# Names of queries and documents that are often in the index of pandas frames.
_IDS = ("query_id", "qid", "query", "user_id", "doc_id", "document_id", "item_id")
_SIZES = (
    "group has the number of rows per query, in row order; the query of each row is a column of the "
    "frame, or qid= of LtrRanker"
)


@dataclass
class Frame:
    """The columns of a data frame."""

    names: list[str]
    columns: list[list[Any]]
    rows: int
    extend: Extend
    make: Make
    # Columns with a categorical type.
    categorical: list[str]

    @classmethod
    def of(cls, columns: dict[str, list[Any]]) -> Frame:
        """Return a frame whose columns have values that SQLite can store."""
        rows = len(next(iter(columns.values())))
        return cls(list(columns), list(columns.values()), rows, _dict_extend(columns), dict, [])

    def position(self, name: str) -> int | None:
        """Return the position of a column. Like SQL, ignores the case of names."""
        lower = [other.lower() for other in self.names]
        return lower.index(name.lower()) if name.lower() in lower else None

    def column(self, name: str) -> list[Any]:
        """Return a column by its name."""
        position = self.position(name)
        if position is None:
            raise ValueError(f'the data frame has no column "{name}"')
        return self.columns[position]

    def beyond_64_bits(self) -> str:
        """Return a message about the first integer that SQLite cannot store."""
        for name, column in zip(self.names, self.columns):
            for row, value in enumerate(column, 1):
                if isinstance(value, int) and not -(2**63) <= value < 2**63:
                    return (
                        f'column "{name}", row {row}: the integer {value} is beyond 64 bits; convert ids to text, '
                        "features to float"
                    )
        return "an integer is beyond 64 bits"

    def table(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Any:
        """Return rows as a frame of the same kind. A column with numbers and texts becomes a text column."""
        columns = [list(column) for column in zip(*rows)] or [[] for _ in names]
        return self.make({name: _uniform(column) for name, column in zip(names, columns)})

    def add(self, name: str, column: list[Any]) -> None:
        """Add a column that only SQL sees."""
        self.names.append(name)
        self.columns.append(column)


def read(frame: Any) -> Frame:
    """Return the columns of a data frame of any kind.

    Raises:
        TypeError: not a data frame, or a value that SQLite cannot store.
        ValueError: no columns, two columns with the same name, or columns of different lengths.
    """
    names, columns, extend, make = _columns(frame)
    if not names:
        raise ValueError("the data frame has no columns")
    lower = [name.lower() for name in names]
    for position, name in enumerate(names):
        if lower.index(name.lower()) < position:
            raise ValueError(f'two columns are named "{name}", ignoring case: rename one')
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"the columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
    storable = [_storable(name, column) for name, column in zip(names, columns)]
    return Frame(names, storable, lengths.pop(), extend, make, _categorical(frame, names))


def sizes_to_ids(sizes: Iterable[Any], rows: int) -> list[int]:
    """Return the query number of each row: [2, 3] becomes [0, 0, 1, 1, 1].

    Raises:
        ValueError: a size is not a whole number above 0, or the sizes do not sum to the number of rows.
    """
    counts = []
    for position, size in enumerate(sizes):
        if not _is_count(size):
            raise ValueError(f"group: size {size} at position {position}; sizes are whole numbers above 0; {_SIZES}")
        counts.append(int(size))
    if sum(counts) != rows:
        raise ValueError(f"group: the sizes sum to {sum(counts)}, the data have {rows} rows; {_SIZES}")
    return [query for query, count in enumerate(counts) for _ in range(count)]


def _is_count(size: Any) -> bool:
    try:
        return bool(int(size) == size and size > 0)
    except (TypeError, ValueError):
        return False


def _columns(frame: Any) -> tuple[list[str], list[list[Any]], Extend, Make]:
    """Return names, columns as lists, and functions that extend and make frames. Imports no data frame library."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        hidden = [name for name in frame.index.names if name in _IDS and name not in frame.columns]
        if hidden:
            raise ValueError(f'the index of the data frame has "{hidden[0]}": pass df.reset_index()')
        columns = [frame.iloc[:, i].tolist() for i in range(frame.shape[1])]
        return [str(name) for name in frame.columns], columns, _pandas_extend(frame), pandas.DataFrame
    if polars is not None and isinstance(frame, polars.DataFrame):
        columns = [column.to_list() for column in frame.get_columns()]
        return list(frame.columns), columns, _polars_extend(frame), polars.DataFrame
    if pyarrow is not None and isinstance(frame, (pyarrow.Table, pyarrow.RecordBatch)):
        columns = [column.to_pylist() for column in frame.columns]
        return list(frame.schema.names), columns, _arrow_extend(frame), pyarrow.table
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as arrow

        return _columns(arrow.table(frame))
    if isinstance(frame, Mapping):
        lists = {name: _values(name, column) for name, column in frame.items()}
        return [str(name) for name in lists], list(lists.values()), _dict_extend(lists), dict
    if isinstance(frame, Sequence) and frame and all(isinstance(row, Mapping) for row in frame):
        keys = list(dict.fromkeys(key for row in frame for key in row))
        columns = [[row.get(key) for row in frame] for key in keys]
        return [str(key) for key in keys], columns, _rows_extend(frame), _rows_make
    if isinstance(frame, Sequence) and not frame and not isinstance(frame, (str, bytes)):
        raise ValueError("the list of rows is empty")
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
    if kind.endswith(".LazyFrame"):
        raise TypeError(f"not a data frame yet: {kind} has no rows; pass the result of its method collect()")
    if kind.startswith(("numpy.", "scipy.sparse.")):
        raise TypeError(
            f"not a data frame: {kind} has no column names; LtrRanker of sqlite_ltr.sklearn takes dense arrays, "
            "and pandas.DataFrame(array, columns=names) names the columns"
        )
    way = ""
    if isinstance(frame, str) or kind.endswith(".Connection"):
        way = (
            ". Read the rows first, as with pandas.read_sql(sql, connection), or stay in SQL: "
            "connection.execute(\"SELECT ltr_train('auto', 'judgments')\")"
        )
    raise TypeError(f"not a data frame: {kind}; expected {_ACCEPTED}{way}")


def _categorical(frame: Any, names: list[str]) -> list[str]:
    """Return the columns with a categorical type in pandas or Arrow. In polars these only have texts."""
    types = frame.dtypes if hasattr(frame, "dtypes") else getattr(getattr(frame, "schema", None), "types", [])
    kinds = map(str, types)
    return [name for name, kind in zip(names, kinds) if kind == "category" or kind.startswith("dictionary<")]


# The types of the columns that `rank` adds.
_NUMPY = {"score": "f8", "rank": "i8", "probability": "f8"}


def _pandas_extend(frame: Any) -> Extend:
    import numpy

    def extend(rows: list[int] | None, added: dict[str, list[Any]]) -> Any:
        kept = frame if rows is None else frame.iloc[rows]
        return kept.assign(**{name: numpy.array(values, _NUMPY[name]) for name, values in added.items()})

    return extend


def _polars_extend(frame: Any) -> Extend:
    from polars import Float64, Int64, Series

    def extend(rows: list[int] | None, added: dict[str, list[Any]]) -> Any:
        kept = frame if rows is None else frame[rows]
        types = {"f8": Float64, "i8": Int64}
        return kept.with_columns([Series(name, values, types[_NUMPY[name]]) for name, values in added.items()])

    return extend


def _arrow_extend(frame: Any) -> Extend:
    import pyarrow

    def extend(rows: list[int] | None, added: dict[str, list[Any]]) -> Any:
        types = {"f8": pyarrow.float64(), "i8": pyarrow.int64()}
        table = frame if isinstance(frame, pyarrow.Table) else pyarrow.Table.from_batches([frame])
        kept = table if rows is None else table.take(rows)
        for name, values in added.items():
            kept = kept.append_column(name, pyarrow.array(values, types[_NUMPY[name]]))
        return kept

    return extend


def _dict_extend(columns: dict[Any, list[Any]]) -> Extend:
    def extend(rows: list[int] | None, added: dict[str, list[Any]]) -> Any:
        kept = columns if rows is None else {name: [column[row] for row in rows] for name, column in columns.items()}
        return {**kept, **added}

    return extend


def _rows_extend(frame: Sequence[Mapping[Any, Any]]) -> Extend:
    def extend(rows: list[int] | None, added: dict[str, list[Any]]) -> Any:
        kept = frame if rows is None else [frame[row] for row in rows]
        return [{**row, **dict(zip(added, values))} for row, values in zip(kept, zip(*added.values()))]

    return extend


def _rows_make(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _uniform(column: list[Any]) -> list[Any]:
    """Return values of one kind, as required by polars and pyarrow."""
    kinds = {type(value) for value in column} - {type(None)}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    if len(kinds) > 1:
        return [None if value is None else str(value) for value in column]
    return column


def _values(name: Any, column: Any) -> list[Any]:
    """Return one column of a mapping as a list."""
    values = to_list(column)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f'column "{name}": {type(column).__qualname__} is not a list of values')
    return list(values)


def to_list(value: Any) -> Any:
    """Return numpy arrays and numbers, and series of any library, as Python values. Other values do not change."""
    # numpy returns dates in nanoseconds as integers, and dates in microseconds as dates.
    if type(value).__module__ == "numpy" and value.dtype.kind in "Mm":
        value = value.astype(f"{value.dtype.kind}8[us]")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _storable(name: str, column: list[Any]) -> list[Any]:
    """Return a column in which SQLite can store every value."""
    if not set(map(type, column)) <= _STORABLE:
        column = [_convert(name, row, value) for row, value in enumerate(column, 1)]
    return column


def _convert(name: str, row: int, value: Any) -> Any:
    """Return a value as SQLite stores it: numbers, text, or JSON of lists and mappings. Dates and times become text."""
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from uuid import UUID

    if type(value) in _STORABLE:
        return value
    # pandas NA and NaT.
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    value = to_list(value)
    if value is None or isinstance(value, (int, float, str, bytes)):
        return value
    if isinstance(value, Mapping):
        # JSON has no NaN.
        numbers = {key: to_list(number) for key, number in value.items()}
        value = {key: None if isinstance(x, float) and x != x else x for key, x in numbers.items()}
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, default=to_list)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        # pandas writes one day as "1 days 00:00:00".
        return str(timedelta(value.days, value.seconds, value.microseconds))
    if isinstance(value, (date, datetime, time, UUID)):
        return str(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise TypeError(
        f'column "{name}", row {row}: SQLite cannot store {kind}; convert it to numbers or text, or drop the column'
    )
