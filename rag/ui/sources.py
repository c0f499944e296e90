"""Sources: the cited passages as cards beside the answer and as a table under it.

Cards and table hold the same papers, those that the answer cites; passages that were read but
not cited are named in one line, so that nothing is hidden and nothing is passed off as a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from rag.results import ChunkRecord, CitationRecord, Result
from rag.ui.escape import arxiv_url, link, markdown_link, markdown_text, shorten, text

COLUMNS = ("n", "Paper", "Year", "Pages", "Section", "Relevance", "Found by")
_AROUND = 130  # characters of a passage shown on each side of a supporting sentence
_ALONE = 340  # characters shown of a passage without one
_BRIDGE = 60  # a gap in the excerpt that is shorter than this is shown
_LIST_START = re.compile(r"^(\d+)([.)])(?=\s)")


def render_sources(
    result: Result | None, *, topics: Mapping[str, int] | None = None, running: bool = False
) -> str:
    """One card a cited paper, its passages under it; after a refusal what the library covers."""
    if result is not None and result.route == "refusal" and topics:
        return f'<aside class="sources" aria-label="The library">{_covered(topics)}</aside>'
    if result is None or not result.citations:
        note = "Sources appear with the answer." if running else ""
        shown = f'<p class="dim">{note}</p>' if note else ""
        return f'<aside class="sources" aria-label="Sources">{shown}</aside>'
    cards = "".join(_card(result, citation) for citation in result.citations)
    return f'<aside class="sources" aria-label="Sources">{cards}{_unused(result)}</aside>'


def _card(result: Result, citation: CitationRecord) -> str:
    passages = _passages(result, citation)
    facts = [citation.authors, str(citation.year) if citation.year else ""]
    about = " · ".join(text(fact) for fact in facts if fact)
    url = f"https://arxiv.org/abs/{citation.paper_id}"
    where = link(url if arxiv_url(url) else citation.url, f"arXiv:{text(citation.paper_id)} ↗")
    digest = (
        '<span class="tag">digest</span>'
        if any(item.chunk_type == "digest" for item in passages) or citation.chunk_type == "digest"
        else ""
    )
    meta = " · ".join(part for part in (about, where) if part)
    body = "".join(_passage(result, citation, item) for item in passages)
    return (
        f'<section class="src" id="src-{citation.n}" tabindex="-1" '
        f'aria-label="Source {citation.n}"><h4><span class="n">[{citation.n}]</span> '
        f'{text(shorten(citation.title, 220))} {digest}</h4><div class="m">{meta}</div>'
        f"{body}</section>"
    )


def _passages(result: Result, citation: CitationRecord) -> list[ChunkRecord]:
    """The cited passages of a paper, each context once, in the order of the citation."""
    by_id = {chunk.chunk_id: chunk for chunk in result.chunks}
    found = [by_id[name] for name in citation.chunk_ids if name in by_id]
    if not found:
        found = [item for item in result.chunks if item.kept and item.paper_id == citation.paper_id]
    return list({item.context or item.text: item for item in reversed(found)}.values())[::-1]


def _passage(result: Result, citation: CitationRecord, chunk: ChunkRecord) -> str:
    spans = [
        (item.start, item.end)
        for sentence in result.sentences
        for item in sentence.evidence
        if item.chunk_id == chunk.chunk_id
    ]
    context = chunk.context or chunk.text
    spans = merge_spans(spans, len(context))
    place = link(chunk.url or citation.url, text(_place(chunk) or "open the paper"))
    short, cut = excerpt(context, spans)
    whole = (
        f'<details class="whole" data-key="whole-{text(chunk.chunk_id)}">'
        f"<summary>whole passage</summary><q>{mark_spans(context, spans)}</q></details>"
        if cut
        else ""
    )
    why = _why_found(chunk)
    return f'<div class="pas"><div class="m">{place}</div><q>{short}</q>{whole}{why}</div>'


def _place(chunk: ChunkRecord) -> str:
    """The page first, then the section; a digest reports on pages and stands on none itself."""
    section = shorten(chunk.section, 60)
    if section and section[0].isdigit():
        section = f"§{section}"
    pages = pages_of(chunk)
    if chunk.chunk_type == "digest":
        pages = f"digest · {pages} of the paper" if pages else "digest"
    return " · ".join(part for part in (pages, section) if part)


def pages_of(chunk: ChunkRecord) -> str:
    """``p. 4``, ``pp. 4–5`` or nothing."""
    if chunk.page_start is None:
        return ""
    if chunk.page_end is None or chunk.page_end == chunk.page_start:
        return f"p. {chunk.page_start}"
    return f"pp. {chunk.page_start}–{chunk.page_end}"


def merge_spans(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Spans clipped to the text, in order, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(length, end)) for start, end in spans):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def mark_spans(
    context: str, spans: list[tuple[int, int]], first: int = 0, last: int | None = None
) -> str:
    """``context[first:last]`` escaped, with the spans in ``<mark>``."""
    last = len(context) if last is None else last
    out, position = [], first
    for start, end in spans:
        start, end = max(start, first), min(end, last)
        if end <= start:
            continue
        out += [text(context[position:start]), f"<mark>{text(context[start:end])}</mark>"]
        position = end
    return "".join([*out, text(context[position:last])])


def excerpt(context: str, spans: list[tuple[int, int]]) -> tuple[str, bool]:
    """Every supporting sentence whole, with what stands around it, and whether any was cut.

    Cuts fall between words and never inside a supporting sentence.
    """
    windows = [(start - _AROUND, end + _AROUND) for start, end in spans] or [(0, _ALONE)]
    parts: list[tuple[int, int]] = []
    for first, last in merge_spans(windows, len(context)):
        first, last = _at_words(context, first, last, spans)
        if parts and first - parts[-1][1] <= _BRIDGE:
            parts[-1] = (parts[-1][0], last)
        else:
            parts.append((first, last))
    if not parts:
        return "", False
    shown = " … ".join(mark_spans(context, spans, first, last).strip() for first, last in parts)
    lead = "… " if parts[0][0] > 0 else ""
    tail = " …" if parts[-1][1] < len(context) else ""
    return lead + shown + tail, bool(lead or tail) or len(parts) > 1


def _at_words(context: str, first: int, last: int, spans: list[tuple[int, int]]) -> tuple[int, int]:
    """The window moved inwards to spaces, as far as no supporting sentence is cut."""
    inside = [(start, end) for start, end in spans if first <= start and end <= last]
    begin, stop = (inside[0][0], inside[-1][1]) if inside else (first, first)
    if first > 0:
        first = context.find(" ", first, begin) + 1 or begin
    if last < len(context):
        last = max(context.rfind(" ", stop, last), stop)
    return first, last


def _covered(topics: Mapping[str, int]) -> str:
    chips = "".join(
        f"<li>{text(shorten(topic, 48))} <i>{number}</i></li>" for topic, number in topics.items()
    )
    return f'<h3>What the library covers</h3><ul class="topics">{chips}</ul>'


def _why_found(chunk: ChunkRecord) -> str:
    found = chunk.rank_dense is not None or chunk.rank_bm25 is not None
    chips = [
        _chip(
            "r", "relevance", _decimals(chunk.score_relevance), "calibrated, 0 to 1; bars judge it"
        ),
        _chip("d", "dense", chunk.rank_dense, "rank by meaning"),
        _chip("b", "BM25", chunk.rank_bm25, "rank by words"),
        _chip("f", "fused", chunk.rank_fused, "rank after fusing both"),
    ]
    chips += [
        # Told where nothing else says how the passage came into the pool; the table has it always.
        _chip("p", "paper", None if found else chunk.rank_paper, "its paper matches as a whole"),
        _chip("k", "rerank", _decimals(chunk.score_rerank), "raw score of the reranker"),
    ]
    if chunk.floored:
        chips.append('<span title="Hand-picked paper, raised to the bar">raised</span>')
    return f'<div class="why" aria-label="Why it was found">{"".join(chips)}</div>'


def _decimals(score: float | None) -> str | None:
    return None if score is None else f"{score:.2f}"


def _chip(kind: str, name: str, value: int | str | None, hint: str) -> str:
    return "" if value is None else f'<span class="{kind}" title="{hint}">{name} {value}</span>'


def _unused(result: Result) -> str:
    cited = {item.paper_id for item in result.citations}
    titles = {
        item.paper_id: item.title
        for item in result.chunks
        if item.kept and item.paper_id not in cited
    }
    if not titles:
        return ""
    rows = "".join(
        f"<li>{link(f'https://arxiv.org/abs/{paper_id}', text(shorten(title, 120)))}</li>"
        for paper_id, title in titles.items()
    )
    papers = "paper" if len(titles) == 1 else "papers"
    return (
        '<details class="unused" data-key="unused"><summary>'
        f"Read but not cited: {len(titles)} {papers}</summary><ul>{rows}</ul></details>"
    )


def sources_frame(result: Result | None) -> pd.DataFrame:
    """One row a kept passage of a cited paper, grouped by paper, in the order of citation."""
    rows: list[tuple[object, ...]] = []
    if result is None:
        return pd.DataFrame(rows, columns=list(COLUMNS))
    for citation in result.citations:
        kept = [item for item in result.chunks if item.paper_id == citation.paper_id and item.kept]
        rows += [_row(citation, chunk) for chunk in kept or _passages(result, citation)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(citation: CitationRecord, chunk: ChunkRecord) -> tuple[object, ...]:
    ranks = (
        ("dense", chunk.rank_dense),
        ("BM25", chunk.rank_bm25),
        ("fused", chunk.rank_fused),
        ("paper", chunk.rank_paper),
        ("rerank", _decimals(chunk.score_rerank)),
    )
    section = _LIST_START.sub(r"\1\\\2", markdown_text(shorten(chunk.section, 60)))
    return (
        citation.n,
        markdown_link(chunk.url or citation.url, shorten(citation.title, 140)),
        citation.year or chunk.year or "",
        pages_of(chunk),
        f"{section} (digest)" if chunk.chunk_type == "digest" else section,
        _decimals(chunk.score_relevance) or "",
        " · ".join(f"{name} {rank}" for name, rank in ranks if rank is not None),
    )
