"""Build hook of hatchling: the wheel holds a library of one platform and runs on every Python 3."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface[Any]):
    """Sets the tag of the wheel from the environment variable SQLITE_LTR_PLATFORM, which `build.py` sets."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag, or say how the wheel is built."""
        platform = os.environ.get("SQLITE_LTR_PLATFORM")
        if platform is None:
            raise RuntimeError("the wheel needs a built library: run python/build.py, or `pip install sqlite-ltr`")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
