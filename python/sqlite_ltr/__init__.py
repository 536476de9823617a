"""Learning to rank in SQLite.

    import sqlite3, sqlite_ltr

    connection = sqlite3.connect("shop.db")
    sqlite_ltr.load(connection)
    connection.execute("SELECT ltr_train('auto', 'judgments')")

`train`, `rank` and `evaluate` do the same for data frames. `sqlite_ltr.sklearn` has an estimator of scikit-learn.
`sqlite_ltr.spark`, `sqlite_ltr.ray` and `sqlite_ltr.dask` work on the workers of an engine. `to_onnx` writes an
exported model as ONNX.
"""

from __future__ import annotations

from sqlite_ltr._load import load, loadable_path
from sqlite_ltr._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sqlite_ltr._onnx import to_onnx
    from sqlite_ltr._rank import evaluate, info, rank, train

__all__ = ["__version__", "evaluate", "info", "load", "loadable_path", "rank", "to_onnx", "train"]


def __getattr__(name: str) -> Any:
    # Data frames are imported when they are used: `load` alone stays fast.
    if name == "to_onnx":
        from sqlite_ltr._onnx import to_onnx

        return to_onnx
    if name in __all__:
        from sqlite_ltr import _rank

        return getattr(_rank, name)
    raise AttributeError(f"module 'sqlite_ltr' has no attribute '{name}'")
