#!/usr/bin/env python3
"""Write docs/reference/python.md from the docstrings. python/tests/test_pages.py compares them (LTR_BLESS=1 writes)."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TypeAlias

PYTHON = Path(__file__).resolve().parent
PAGE = PYTHON.parent / "docs" / "reference" / "python.md"
# Files and the names in them, in the order of the page. A name is a function or a class.
CHAPTERS = {
    "sqlite_ltr": [
        ("_load", "load", "load_async", "loadable_path"),
        ("_rank", "train"),
        ("_model", "Model"),
        ("_rank", "rank", "evaluate", "compare", "cross_validate"),
        ("_inspect", "explain", "importance", "report"),
        ("_show", "Report", "Plot"),
        ("_rank", "info"),
        ("_search", "search", "judgments", "fts_features"),
        ("_import", "import_model"),
        ("_onnx", "to_onnx"),
        ("_error", "Error"),
    ],
    "sqlite_ltr.sklearn": [("sklearn", "LtrRanker")],
    "sqlite_ltr.spark": [("spark", "train", "rank", "evaluate")],
    "sqlite_ltr.ray": [("ray", "train", "rank", "evaluate")],
    "sqlite_ltr.dask": [("dask", "train", "rank", "evaluate")],
}
# The parts of a docstring that become tables.
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
COLUMNS = {"Args": "argument", "Attributes": "attribute", "Raises": "error"}
HEAD = """\
# Python functions

Every function of the Python package, generated from its docstrings. [Python](../guide/python.md) begins with \
examples, [engines](../guide/engines.md) is about Spark, Ray and Dask. `Rows` is a data frame: the result is of the \
kind that was given.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(line for chapter in CHAPTERS for line in _chapter(chapter))]).rstrip() + "\n"


def _chapter(module: str) -> list[str]:
    lines = [f"## {module}", ""]
    for file, *names in CHAPTERS[module]:
        tree = ast.parse((PYTHON / "sqlite_ltr" / f"{file}.py").read_text(encoding="utf-8"))
        # The last definition of a name is the function; those before are overloads.
        found = {node.name: node for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))}
        for name in names:
            lines += _entry(module, found[name])
    return lines


def _entry(module: str, node: Function | ast.ClassDef) -> list[str]:
    head = [f"### {module}.{node.name}", ""]
    if not isinstance(node, ast.ClassDef):
        return [*head, *_function(node)]
    methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
    made_by = next((methods[name] for name in ("__init__", "__new__") if name in methods), None)
    lines = [*head, *([] if made_by is None else _code(made_by, node.name)), *_text(node)]
    for method in methods.values():
        is_property = any(isinstance(by, ast.Name) and by.id == "property" for by in method.decorator_list)
        if not method.name.startswith("_") and not is_property:
            lines += [f"#### {node.name}.{method.name}", "", *_function(method)]
    return lines


def _function(node: Function) -> list[str]:
    return [*_code(node, node.name), *_text(node)]


def _code(node: Function, name: str) -> list[str]:
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args)).replace("=", " = ")
    returns = "" if node.name in ("__init__", "__new__") else f" -> {ast.unparse(node.returns)}"
    if len(arguments) > 80:
        # A comma within a type is not followed by a name with a type.
        arguments = "\n    " + re.sub(r", (?=\*|\w+: )", ",\n    ", arguments) + ",\n"
    return ["```text", f"{name}({arguments}){returns}", "```", ""]


def _text(node: Function | ast.ClassDef) -> list[str]:
    """Return a docstring with its lists of arguments and errors as tables, and its example as code."""
    lines = []
    for part in (ast.get_docstring(node) or "").split("\n\n"):
        title, _, body = part.partition(":\n")
        if title in COLUMNS:
            entries = re.findall(r"^    (\S.*?): (.*(?:\n        .*)*)", body, flags=re.MULTILINE)
            rows = [f"| {_names(names)} | {_line(text)} |" for names, text in entries]
            lines += [f"| {COLUMNS[title]} | meaning |", "|---|---|", *rows, ""]
        elif title == "Example":
            lines += ["```text", *re.sub("^    ", "", body, flags=re.MULTILINE).splitlines(), "```", ""]
        elif title == "Returns":
            lines += [f"Returns: {_line(body)}", ""]
        else:
            lines += [_line(part), ""]
    return lines


def _names(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
