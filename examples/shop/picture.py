"""Draws both rankings of a search side by side as SVG: picture.py DATABASE LIBRARY > shop.svg

It has the same rows, marks and reasons as the page, and follows the reader's light or dark theme.
"""

import pathlib
import re
import sys

import pages
import shop
import visitors
from server import EXAMPLE

WIDTH, TOP, ROW, LEFT, RIGHT = 830, 92, 40, 342, 416
FORMS = (
    "text{font:13px system-ui,'Segoe UI','DejaVu Sans',sans-serif}text.s{font-size:11px}"
    "text.h{font-size:15px;font-weight:600}path{fill:none;stroke-width:2}path.line{stroke-width:1}"
)


def style():
    """The colors of the pages, light and dark."""
    pairs = re.findall(r"--(\w+): (#\w+)", pages.STYLE)
    half = len(pairs) // 2
    rules = []
    for colors in (dict(pairs[:half]), dict(pairs[half:])):
        fills = "".join(f"text.{name}{{fill:{colors[name]}}}" for name in ("soft", "up", "down"))
        lines = "".join(f"path.{name}{{stroke:{colors[name]}}}" for name in ("soft", "up", "down", "line"))
        rules.append(f"rect{{fill:{colors['card']}}}text{{fill:{colors['text']}}}{fills}{lines}")
    return FORMS + f"{rules[0]}@media(prefers-color-scheme:dark){{{rules[1]}}}"


def text(x, y, content, kind="", end=False):
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x}" y="{y}" class="{kind}"{anchor}>{pages.e(content)}</text>\n'


def draw(query, found, gain):
    parts = text(16, 30, f"“{query}”: before and after learning from clicks", "h")
    score = f"NDCG@10 of {gain['searches']} new searches: BM25 {gain['today']:.2f}, learned {gain['learned']:.2f}"
    parts += text(16, 52, score, "soft") + text(16, 80, "BM25", "h") + text(RIGHT, 80, "Learned from clicks", "h")
    for place in range(len(found["today"])):
        base = TOP + 16 + ROW * place
        parts += f'<path class="line" d="M16 {base - 16}H{WIDTH - 16}"/>\n'
        for name, x in (("today", 16), ("learned", RIGHT)):
            doc = found[name][place]
            before, now = found["places"][doc]
            direction, mark = pages.move(before, now)
            parts += text(x + 16, base, place + 1, "soft", end=True)
            parts += text(x + (24 if name == "today" else 66), base, found["products"][doc]["title"])
            if name == "learned":
                parts += text(x + 58, base, mark, direction, end=True)
                parts += text(x + 66, base + 15, f"was {before}: {pages.reasons(found, doc)}", "s soft")
                continue
            parts += text(x + 24, base + 15, f"now {now}", f"s {direction}")
            if doc in found["learned"]:
                start, end = base - 5, TOP + 11 + ROW * (now - 1)
                curve = f"M{LEFT} {start}C{LEFT + 40} {start} {RIGHT - 48} {end} {RIGHT - 8} {end}"
                parts += f'<path class="{direction}" d="{curve}"/>\n'
    height = TOP + ROW * len(found["today"]) + 8
    size = f'width="{WIDTH}" height="{height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}" role="img"
 aria-label="{pages.e(score)}"><style>{style()}</style><rect {size} rx="8"/>
{parts}</svg>
"""


def main():
    database, library = sys.argv[1:]
    store = shop.Shop(database, library)
    gain = visitors.Visitors(store, pathlib.Path(database).with_name("grades.csv")).gain
    sys.stdout.reconfigure(encoding="utf-8")
    print(draw(EXAMPLE, store.compare(EXAMPLE), gain), end="")


if __name__ == "__main__":
    main()
