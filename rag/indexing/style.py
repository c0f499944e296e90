"""Style: how the running text of a paper looks, to tell everything else from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.indexing.layout import Row
from rag.indexing.page import Line


@dataclass(frozen=True)
class BodyStyle:
    """How running text looks in a paper: its size and line distance in points, its fonts."""

    size: float
    leading: float
    fonts: frozenset[str]

    def owns(self, line: Line) -> bool:
        """Whether the line's font is of the text's families; labels in figures rarely are."""
        return _family(line.font) in self.fonts


def _family(font: str) -> str:
    """The family of a font name: "NimbusRomNo9L-Medi" and "…-Regu" are one, so are CMR and CMBX."""
    name = font.split("+")[-1]
    return name[:2] if name.startswith(("CM", "SF", "LM")) else name[:8].split("-")[0].split(",")[0]


def body_style(rows: Sequence[Row]) -> BodyStyle:
    """The commonest size, line distance and fonts of the long lines."""
    sizes: Counter[float] = Counter()
    fonts: Counter[str] = Counter()
    for row in rows:
        sizes[round(row.line.size * 2) / 2] += len(row.line.text)
        fonts[_family(row.line.font)] += len(row.line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    steps: Counter[float] = Counter()
    for before, row in pairwise(rows):
        step = row.line.baseline - before.line.baseline
        if (
            before.column == row.column
            and abs(row.line.size - size) < 0.6
            and size < step < 3 * size
        ):
            steps[round(step * 2) / 2] += 1
    leading = steps.most_common(1)[0][0] if steps else 1.2 * size
    total = sum(fonts.values())
    return BodyStyle(
        size, leading, frozenset(font for font, count in fonts.items() if count > 0.04 * total)
    )
