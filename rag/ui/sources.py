"""Sources: the cited passages as cards beside the answer and as a table under it.

Cards and table hold the same papers, those that the answer cites; passages that were read but
not cited are named in one line, so that nothing is hidden and nothing is passed off as a source.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from rag.results import ChunkRecord, CitationRecord, Result
from rag.ui.escape import arxiv_url, link, markdown_link, markdown_text, shorten, text

COLUMNS = ("n", "Paper", "Year", "Pages", "Section", "Score", "Found by")
_AROUND = 170  # characters of a passage shown on each side of its first supporting sentence


def render_sources(result: Result | None, *, running: bool = False) -> str:
    """One card a cited paper, its passages under it."""
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
    section = shorten(chunk.section, 60)
    if section and section[0].isdigit():
        section = f"§{section}"
    return ", ".join(part for part in (section, pages_of(chunk)) if part)


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
    """The part around the first supporting sentence, cut at words, and whether any was cut."""
    start, end = spans[0] if spans else (0, min(len(context), _AROUND))
    first, last = max(0, start - _AROUND), min(len(context), end + _AROUND)
    if first > 0:
        first = context.find(" ", first, start) + 1 or start
    if last < len(context):
        last = max(context.rfind(" ", end, last), end)
    lead, tail = "… " if first > 0 else "", " …" if last < len(context) else ""
    return lead + mark_spans(context, spans, first, last) + tail, bool(lead or tail)


def _why_found(chunk: ChunkRecord) -> str:
    chips = [
        _chip("d", "dense", chunk.rank_dense, "rank by meaning"),
        _chip("b", "BM25", chunk.rank_bm25, "rank by words"),
        _chip("f", "fused", chunk.rank_fused, "rank after fusing both"),
    ]
    if chunk.score_rerank is not None:
        chips.append(
            _chip("k", "rerank", f"{chunk.score_rerank:.2f}", "score of the reranker, 0 to 1")
        )
    if chunk.floored:
        chips.append('<span title="Hand-picked paper, raised to the bar">raised</span>')
    return f'<div class="why" aria-label="Why it was found">{"".join(chips)}</div>'


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
    ranks = (("dense", chunk.rank_dense), ("BM25", chunk.rank_bm25), ("fused", chunk.rank_fused))
    section = markdown_text(shorten(chunk.section, 60))
    return (
        citation.n,
        markdown_link(chunk.url or citation.url, shorten(citation.title, 140)),
        citation.year or chunk.year or "",
        pages_of(chunk),
        f"{section} (digest)" if chunk.chunk_type == "digest" else section,
        "" if chunk.score_rerank is None else f"{chunk.score_rerank:.2f}",
        " · ".join(f"{name} {rank}" for name, rank in ranks if rank is not None),
    )
