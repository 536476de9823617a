"""Build hook of hatchling: the wheel holds a library of one platform and runs on every Python 3."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface[Any]):
    """Sets the tag of the wheel from the environment variable SQLITE_LTR_PLATFORM, which `build.py` sets.

    Without it, as when pip installs the source distribution, the folder `rust` is compiled for this machine.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag, or say how the wheel is built."""
        if self.target_name != "wheel":
            return
        platform, root = os.environ.get("SQLITE_LTR_PLATFORM"), Path(self.root)
        if platform is None:
            if not (root / "rust").exists():
                raise RuntimeError("the wheel needs a built library: run python/build.py, or `pip install sqlite-ltr`")
            if shutil.which("cargo") is None:
                raise RuntimeError(
                    "compiling sqlite-ltr needs Rust: https://rustup.rs; or install a wheel of another version"
                )
            subprocess.run(["cargo", "ext"], cwd=root / "rust", check=True)
            name = {"win32": "sqlite_ltr.dll", "darwin": "libsqlite_ltr.dylib"}.get(sys.platform, "libsqlite_ltr.so")
            target = Path(os.environ.get("CARGO_TARGET_DIR", root / "rust" / "target"))
            shutil.copy(target / "loadable" / name, root / "sqlite_ltr")
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
