"""The two plots of the Library tab: papers per topic and per year, as lists that look like bars.

Both keep the scale of the whole catalogue, so that a filter only shortens bars and moves nothing.
They are HTML lists with their figures as text; a reader without sight hears "Diffusion 12 of 50".
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from rag.ui.escape import shorten, text


def render_plots(found: pd.DataFrame, everything: pd.DataFrame) -> str:
    """Both plots: what passes the filters in front of all that is listed."""
    topics = _bars(_counts(found, "_topic"), _counts(everything, "_topic"))
    years = _columns(_counts(found, "_year"), _counts(everything, "_year"))
    return (
        '<details class="plots" data-key="library-plots" data-open="wide">'
        "<summary>Papers per topic and per year</summary>"
        f'<div class="plot-pair">{topics}{years}</div></details>'
    )


def _counts(frame: pd.DataFrame, column: str) -> dict[object, int]:
    return {key: int(number) for key, number in frame[column].dropna().value_counts().items()}


def _bars(found: Mapping[object, int], listed: Mapping[object, int]) -> str:
    largest = max(listed.values(), default=1)
    rows = "".join(
        f'<li title="{text(topic)}: {found.get(topic, 0):,} of {total:,} papers">'
        f'<span class="name">{text(shorten(str(topic), 70))}</span>'
        f'<span class="track" aria-hidden="true"><s style="width:{_share(total, largest)}%"></s>'
        f'<u style="width:{_share(found.get(topic, 0), largest)}%"></u></span>'
        f'<b>{found.get(topic, 0):,}<span class="sr-only"> of {total:,}</span></b></li>'
        for topic, total in sorted(listed.items(), key=lambda item: (-item[1], str(item[0])))
    )
    caption = "<figcaption>Papers per topic</figcaption>"
    return f'<figure class="by-topic">{caption}<ul>{rows}</ul></figure>'


def _columns(found: Mapping[object, int], listed: Mapping[object, int]) -> str:
    per_year = {int(str(year).split(".")[0]): number for year, number in listed.items()}
    shown = {int(str(year).split(".")[0]): number for year, number in found.items()}
    largest = max(per_year.values(), default=1)
    years = range(min(per_year), max(per_year) + 1) if per_year else range(0)
    rows = "".join(
        f'<li title="{year}: {shown.get(year, 0):,} of {per_year.get(year, 0):,} papers">'
        f"<b>{shown.get(year, 0):,}</b>"
        '<span class="track" aria-hidden="true">'
        f'<s style="height:{_share(per_year.get(year, 0), largest)}%"></s>'
        f'<u style="height:{_share(shown.get(year, 0), largest)}%"></u></span>'
        f'<span class="year"><i>{str(year)[:2]}</i>{str(year)[2:]}</span></li>'
        for year in years
    )
    caption = "<figcaption>Papers per year</figcaption>"
    return f'<figure class="by-year">{caption}<ol>{rows}</ol></figure>'


def _share(number: int, largest: int) -> str:
    """Per cent of the largest; what is there at all stays visible."""
    return f"{max(100 * number / largest, 2.5):.1f}" if number else "0"
