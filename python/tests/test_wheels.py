"""What the wheels contain, and the address of the project in their metadata."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import files, metadata
from pathlib import Path

import pytest

import sqlite_ltr

PYTHON = Path(__file__).resolve().parents[1]
PLUGINS = ("datasette-sqlite-ltr", "sqlite-utils-sqlite-ltr")
LICENSES = {"licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"}
INFO = {"METADATA", "RECORD", "WHEEL"} | LICENSES
WRITTEN_BY_PIP = {"INSTALLER", "REQUESTED", "direct_url.json"}


def contents(package):
    """The installed files of a wheel; metadata files without the name of their folder."""
    paths = [path for path in files(package) if path.suffix != ".pyc" and not str(path).startswith("..")]
    names = {path.as_posix().partition(".dist-info/")[2] or path.as_posix() for path in paths}
    return names - WRITTEN_BY_PIP


def test_the_wheel_has_the_library_and_all_notices():
    modules = {path.name for path in (PYTHON / "sqlite_ltr").glob("*.py")} | {"_version.py", "py.typed"}
    library = Path(sqlite_ltr.loadable_path()).name
    expected = INFO | {f"sqlite_ltr/{name}" for name in modules | {library}}
    assert contents("sqlite-ltr") == expected | {"licenses/THIRD-PARTY-LICENSES", "sboms/sbom.cdx.json"}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_is_one_module_without_libraries(plugin):
    assert contents(plugin) == INFO | {"entry_points.txt", f"{plugin.replace('-', '_')}.py"}


@pytest.mark.parametrize("package", ["sqlite-ltr", *PLUGINS])
def test_the_address_matches_cargo_toml(package):
    repository = tomllib.loads((PYTHON.parent / "Cargo.toml").read_text())["package"].get("repository")
    found = metadata(package).get_all("Project-URL")
    assert found is None if repository is None else f"Repository, {repository}" in found


@pytest.mark.parametrize("project", [PYTHON, *(PYTHON / "plugins" / plugin for plugin in PLUGINS)])
def test_an_address_goes_into_the_project(project, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(PYTHON), *sys.path])
    from build import copy_project

    copy_project(project, [], "https://example.org/sqlite-ltr", tmp_path / "copy")
    copy = tomllib.loads((tmp_path / "copy" / "pyproject.toml").read_text())
    urls = copy["project"]["urls"]
    assert urls["Repository"] == "https://example.org/sqlite-ltr"
    assert sorted(urls) == ["Changelog", "Documentation", "Issues", "Repository"]
    for name in ("Changelog", "Documentation"):
        assert (PYTHON.parent / urls[name].partition("/blob/main/")[2]).exists()
