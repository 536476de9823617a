"""The option `progress`: a tqdm bar, also in notebooks. Without tqdm, the library writes a line to the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Seconds between progress updates.
_PAUSE = 0.1


def take_progress(options: dict[str, Any]) -> Callable[[], int]:
    """Return the handler for a call with these options, from which `progress` is removed if tqdm shows it."""
    if options.get("progress") is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            del options["progress"]
            return _Bar(tqdm)
    # Python only handles Ctrl-C while it runs Python code, such as this function.
    return lambda: 0


class _Bar:
    """A progress bar of finished fits. A second connection queries the progress of this thread's call."""

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
        """Close the bar."""
        if self._bar is not None:
            self._bar.n = self._bar.total
            self._bar.close()
        self._connection.close()
