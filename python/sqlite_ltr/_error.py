"""The error of the functions of this package. It says what the library found in terms of Python."""

from __future__ import annotations

import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

# SQL functions and the Python functions that call them.
_NAMES = {
    **dict.fromkeys(["ltr_train", "ltr_fit", "ltr_begin", "ltr_step", "ltr_finish"], "train"),
    "ltr_export": "Model.export",
    "ltr_import": "import_model",
    "ltr_plot": "Model.plot",
}
# Roles that are arguments of `train`. `options["columns"]` has the others.
_ARGUMENTS = ("query", "relevance", "doc")
# Names of other libraries, and the option that does the same.
_OTHERS = {
    **dict.fromkeys(["n_estimators", "num_iterations", "num_boost_round", "iterations"], "trees"),
    **dict.fromkeys(["max_depth", "num_leaves"], "depth"),
    **dict.fromkeys(["eta"], "learning_rate"),
    **dict.fromkeys(["random_state", "random_seed"], "seed"),
    **dict.fromkeys(["n_jobs", "num_threads", "thread_count"], "threads"),
    **dict.fromkeys(["colsample_bytree"], "feature_fraction"),
    **dict.fromkeys(["max_bin", "border_count"], "bins"),
    **dict.fromkeys(["eval_metric", "eval_at"], "metric"),
    **dict.fromkeys(["reg_lambda", "lambda_l2", "alpha", "C"], "lambda"),
    **dict.fromkeys(["objective"], "loss"),
    **dict.fromkeys(["monotone_constraints"], 'monotone={"price": -1}'),
    **dict.fromkeys(["lambdarank_truncation_level"], "truncation"),
    **dict.fromkeys(["early_stopping_rounds", "early_stopping"], 'trees="auto"'),
    **dict.fromkeys(["verbose", "verbosity"], "progress"),
}
# Row numbers of the frame serve as documents, so that ranked rows can be matched to the frame.
ROW = "row of the frame"


class Error(sqlite3.OperationalError):
    """An error from the library, raised by every function of this package.

    The class is the same for connections of `sqlite3` and `apsw`; `__context__` is the driver's error. SQL that you
    execute yourself raises the driver's error.

    Example:
        >>> try:
        ...     sqlite_ltr.train(judged, "ranksvm")
        ... except sqlite_ltr.Error as error:
        ...     print(error)
        train(): unknown algorithm 'ranksvm', did you mean 'rank_svm'?
    """


class LoadError(Error, sqlite3.NotSupportedError):
    """This Python cannot load extensions."""


def of_driver(error: Exception) -> BaseException | None:
    """Return the error that replaces an error of sqlite3 or apsw; None to keep the original."""
    text = str(error)
    if text == "interrupted" or text.endswith(": interrupted"):
        return KeyboardInterrupt()
    is_sql = isinstance(error, sqlite3.Error) or type(error).__module__.partition(".")[0] == "apsw"
    return Error(in_python(text)) if is_sql else None


def in_python(text: str) -> str:
    """Return a library message with Python arguments in place of JSON options."""
    import re

    function = re.match(r"ltr_\w+(?=: )", text)
    name = ""
    if function is not None:
        name = _NAMES.get(function[0], function[0].removeprefix("ltr_"))
        text = f"{name}(){text[function.end() :]}"
    text = text.replace(f", {ROW}", "").replace("source 'frame'", "the frame")
    unknown = re.search(r"unknown option '(\w+)'", text)
    if unknown is not None and unknown[1] in _OTHERS:
        text = f"unknown option '{unknown[1]}': it is {_OTHERS[unknown[1]]} here"
        text = f"{name}(): {text}" if name else text
    # Options as an SQL argument, in quotes, or alone.
    options = r"""(?:the options? )?(?:'(\{"(?:[^']|'')*\})'|(\{"columns": \{[^{}]*\}\}))"""
    with_roles = name in ("train", "cross_validate", "")
    return re.sub(options, lambda found: _arguments(found, with_roles), text)


def _arguments(found: re.Match[str], with_roles: bool) -> str:
    """Return JSON options as call arguments."""
    import json

    try:
        options = json.loads(found[2] or found[1].replace("''", "'"))
    except ValueError:
        return found[0]
    columns = {role: name for role, name in options.pop("columns", {}).items() if name != ROW}
    roles = {role: columns.pop(role) for role in _ARGUMENTS if with_roles and isinstance(columns.get(role), str)}
    rest: Mapping[str, Any] = {"columns": columns, **options} if columns else options
    as_text = json.dumps(rest, ensure_ascii=False)
    if any(word in as_text for word in ("true", "false", "null")):
        as_text = str(rest)
    return ", ".join([*(f'{role}="{name}"' for role, name in roles.items()), *([f"options={as_text}"] if rest else [])])
