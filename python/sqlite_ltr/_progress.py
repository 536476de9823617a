"""The option `progress`: a bar of tqdm, in notebooks too. Without tqdm the library writes a line to a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Seconds between two looks at the call.
_PAUSE = 0.1


def take_progress(options: dict[str, Any]) -> Callable[[], int]:
    """Return what SQLite calls during a call with these options, from which `progress` is removed if tqdm shows it."""
    if options.get("progress") is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            del options["progress"]
            return _Bar(tqdm)
    # Python handles Ctrl-C when it runs Python code: this function.
    return lambda: 0


class _Bar:
    """A bar of the fits that are done. A second connection asks how far the call of this thread is."""

    def __init__(self, tqdm: Any) -> None:
        from sqlite_ltr._load import connect

        self._tqdm, self._connection, self._seen = tqdm, connect(), time.monotonic()
        self._bar: Any = None

    def __call__(self) -> int:
        now = time.monotonic()
        if now - self._seen >= _PAUSE:
            self._seen = now
            ((done, total),) = self._connection.execute(
                "SELECT ltr_debug() ->> '$.progress[0]', ltr_debug() ->> '$.progress[1]'"
            )
            if total:
                self._show(done, total)
        return 0

    def _show(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(total=total, unit="fit")
        self._bar.total, self._bar.n = total, done
        self._bar.refresh()

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.n = self._bar.total
            self._bar.close()
        self._connection.close()
