"""Plots and reports: strings that notebooks show as pictures and pages."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from typing_extensions import Self


class _Shown(str):
    """A string of SVG or HTML. `print` writes it; notebooks show it."""

    _kind, _ending = "", ""

    def save(self, path: str | os.PathLike[str]) -> Self:
        """Write it to a file, and return it."""
        Path(path).write_text(self, encoding="utf-8")
        return self

    def open(self) -> None:
        """Show it in the browser."""
        import tempfile
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=self._ending, delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(Path(file.name).as_uri())

    def __repr__(self) -> str:
        return f'<{self._kind}: {len(self):,} characters; save("{self._kind.lower()}{self._ending}"), open()>'


class Plot(_Shown):
    """A plot in SVG. Notebooks show it; `save(path)` and `open()` work without a notebook.

    Example:
        >>> model.plot("weights").save("weights.svg").startswith("<svg")
        True
    """

    _kind, _ending = "Plot", ".svg"

    def _repr_svg_(self) -> str:
        return str(self)


class Report(_Shown):
    """An HTML page. Notebooks show it; `save(path)` and `open()` work without a notebook.

    Example:
        >>> sqlite_ltr.report(held_out, model).save("report.html").startswith("<!DOCTYPE html>")
        True
    """

    _kind, _ending = "Report", ".html"

    def _repr_html_(self) -> str:
        # In a frame, so that the page's styles do not affect the notebook.
        page = html.escape(str(self), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'
