"""The page docs/experiments.md against the program that makes its tables, with one replication: papers.py LIBRARY

A changed default must not make the page and `benches/papers.py` disagree: each error of table 1, scenario III, for
observed and novel queries is near the page's, which is a mean of three replications. Prints what it compares.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
import papers  # noqa: E402

# Two and a half standard deviations of one replication and of the mean of three; errors of the page are up to .023.
NEAR = 0.06
PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")


def numbers(cells):
    """Our numbers in cells such as ".16/.20" and ".341 (.014)"."""
    return [float(re.search(r"(?:/|^)(\.\d+)(?: |$)", cell.strip()).group(1)) for cell in cells]


def row(first):
    """The cells after the beginning of a row of the page."""
    line = next(line for line in PAGE.splitlines() if line.startswith(first))
    return [cell for cell in line[len(first) :].split("|") if cell.strip()]


def check(name, found, expected):
    print(f"{name}: {found:.3f}, page {expected:.3f}")
    assert abs(found - expected) < NEAR, name


def main(library):
    db = papers.connect(library)
    # The default differs too much between replications of scenario III.
    for scenario, first, methods in [("III", "| | III |", papers.METHODS), ("II", "| | II |", ["default"])]:
        papers.simulate(db, 1, scenario, 40, 50, 40, 0)
        expected = dict(zip([*papers.METHODS, "default"], numbers(row(first)[:5])))
        for method in methods:
            papers.train(db, method, papers.options(method, 1))
            check(f"{scenario} {method}", papers.error(db), expected[method])
    papers.simulate(db, 1, "III", 40, 50, 40, 0, novel=0.2)
    papers.train(db, "q_svm", papers.options("q_svm", 1))
    for name, where, expected in zip(["observed", "novel"], ["query_id >= 8", "query_id < 8"], numbers(row("| `q_svm` |")[:2])):
        check(f"q_svm {name}", papers.error(db, where), expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
