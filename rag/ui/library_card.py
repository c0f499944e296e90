"""The card of one paper: its facts, its digest or abstract, its chunks, BibTeX and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rag.bibtex import bibtex_entry
from rag.cards import PaperCard, SimilarPaper
from rag.chunks import Chunk
from rag.indexing.digests import SECTION_NAMES, Digest, DigestParagraph
from rag.papers import Paper
from rag.ui.escape import clean, link, shorten, text

HOLDING_WORDS = {
    "full_text": "The full text is indexed: a question searches every page of it.",
    "digest": "A digest is indexed: a summary written for this project, not the paper itself.",
    "abstract": "The abstract is indexed, not the paper’s full text.",
    "metadata": "Only the facts are listed; the text is not in this index. Build the full library "
    "to ask about it.",
}
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_KINDS = {"passage": "passage", "abstract": "abstract", "digest": "digest"}
_AUTHORS_SHOWN = 12
_MANY_AUTHORS = 16


def render_card(card: PaperCard | None) -> str:
    """The whole card as HTML; a sentence for a paper that is not listed."""
    if card is None:
        return (
            '<article class="paper"><h2 class="title" tabindex="-1">Not listed</h2>'
            "<p>This library does not list that paper any more.</p></article>"
        )
    paper = card.paper
    return (
        '<article class="paper" aria-labelledby="paper-title">'
        f'<h2 class="title" id="paper-title" tabindex="-1">{text(clean(paper.title))}</h2>'
        f"{_authors(paper)}{_facts(paper)}{_links(paper)}"
        f'<p class="holding {paper.holding}">{text(HOLDING_WORDS[paper.holding])}</p>'
        f"{_words(card)}{_chunks(card)}{_similar(card.similar)}{_bibtex(paper)}</article>"
    )


def published_words(published: str | None) -> str:
    """ "17 June 2021", "June 2021" or "2021": as precise as is known, never more."""
    if not published:
        return ""
    year, *rest = published.split("-")
    numbers = [int(part) if part.isdecimal() else 0 for part in rest]
    if not numbers or not 1 <= numbers[0] <= 12:
        return year
    month = _MONTHS[numbers[0] - 1]
    day = f"{numbers[1]} " if len(numbers) > 1 and 1 <= numbers[1] <= 31 else ""
    return f"{day}{month} {year}"


def page_words(pages: Iterable[int]) -> str:
    """ "p. 3", "pp. 1, 4–6" or "" for pages in any order."""
    ordered = sorted(set(pages))
    if not ordered:
        return ""
    breaks = [0, *(at for at, (a, b) in enumerate(pairwise(ordered), 1) if b != a + 1)]
    runs = [ordered[start:end] for start, end in pairwise([*breaks, len(ordered)])]
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
    return f"{'p.' if len(ordered) == 1 else 'pp.'} {shown}"


def _authors(paper: Paper) -> str:
    names = [text(shorten(name, 80)) for name in paper.authors]
    if not names:
        return ""
    if len(names) <= _MANY_AUTHORS:
        return f'<p class="authors">{", ".join(names)}</p>'
    rest = len(names) - _AUTHORS_SHOWN
    return (
        f'<p class="authors">{", ".join(names[:_AUTHORS_SHOWN])}</p>'
        f'<details class="fold small" data-key="authors-{text(paper.paper_id)}"><summary>and '
        f"{rest:,} more authors</summary><p>{', '.join(names[_AUTHORS_SHOWN:])}</p></details>"
    )


def _facts(paper: Paper) -> str:
    facts = [
        published_words(paper.published),
        ", ".join(paper.categories),
        paper.topic or "",
        "hand-picked" if paper.hand_picked else "",
    ]
    called = f"Known as {', '.join(paper.names)}" if paper.names else ""
    lines = [" · ".join(fact for fact in facts if fact), shorten(called, 200)]
    return "".join(f'<p class="m">{text(line)}</p>' for line in lines if line)


def _links(paper: Paper) -> str:
    about = link(paper.abs_url, f"arXiv:{text(paper.versioned_id)} ↗", title="The page on arXiv")
    whole = link(paper.pdf_url(), "PDF ↗", title="The PDF on arXiv")
    return f'<p class="links">{about} {whole}</p>'


def _words(card: PaperCard) -> str:
    """The abstract, then the digest; the digest is folded where the abstract is there."""
    digest = _digest(card.paper, card.digest) if card.digest else ""
    if card.abstract:
        shown = f"<section><h3>Abstract</h3><p>{text(card.abstract)}</p></section>"
        return shown + (_fold(card.paper, "digest", "Digest", digest) if digest else "")
    if not digest:
        return ""
    searched = "" if card.paper.searchable else " (not in this index)"
    return f"<section><h3>Digest{searched}</h3>{digest}</section>"


def _digest(paper: Paper, digest: Digest) -> str:
    return "".join(
        f"<h4>{text(SECTION_NAMES[part.kind])} {_digest_pages(paper, part)}</h4>"
        f"<p>{text(part.text)}</p>"
        for part in digest.paragraphs
    )


def _digest_pages(paper: Paper, part: DigestParagraph) -> str:
    if not part.pages:
        return ""
    words = page_words(part.pages)
    return f"<small>{link(paper.pdf_url(min(part.pages)), text(words))}</small>"


def _chunks(card: PaperCard) -> str:
    """The chunks in the order of the paper; each row opens to its text."""
    if not card.chunks:
        return ""
    total = sum(chunk.tokens for chunk in card.chunks)
    number = len(card.chunks)
    rows = "".join(_chunk(chunk) for chunk in card.chunks)
    table = (
        '<div class="chunks" tabindex="0" role="region" aria-label="Chunks of this paper"><table>'
        '<thead><tr><th scope="col">#</th><th scope="col">Section</th><th scope="col">Pages</th>'
        f'<th scope="col">Tokens</th><th scope="col">Kind</th></tr></thead>{rows}</table></div>'
    )
    words = "chunk" if number == 1 else "chunks"
    title = f"As the system sees it: {number:,} {words}, {total:,} tokens"
    return _fold(card.paper, "chunks", title, table)


def _chunk(chunk: Chunk) -> str:
    section = text(shorten(chunk.section, 80) or "–")
    pages = {page for page in (chunk.page_start, chunk.page_end) if page is not None}
    shown = "–".join(str(page) for page in sorted(pages))
    kind = _KINDS.get(chunk.chunk_type, chunk.chunk_type)
    return (
        f'<tbody><tr><td class="num">{chunk.chunk_index + 1}</td><td><button type="button" '
        f'class="opens" aria-expanded="false">{section}</button></td>'
        f'<td class="num">{shown or "–"}</td><td class="num">{chunk.tokens:,}</td>'
        f"<td>{text(kind)}</td></tr>"
        f'<tr class="said" hidden><td colspan="5">{text(chunk.text)}</td></tr></tbody>'
    )


def _similar(similar: Sequence[SimilarPaper]) -> str:
    if not similar:
        return ""
    rows = "".join(
        f'<li><button type="button" class="near" data-paper="{text(item.paper.paper_id)}">'
        f"<span>{text(shorten(item.paper.title, 140))}</span> <small>"
        f"{text(' · '.join(filter(None, (item.paper.short_authors, str(item.paper.year or '')))))}"
        f"</small></button>"
        f'<span class="num" title="Cosine of the first passages, at most 1">{item.score:.2f}</span>'
        "</li>"
        for item in similar
    )
    heading = "<h3>Similar papers <small>by vector</small></h3>"
    return f'<section>{heading}<ol class="similar">{rows}</ol></section>'


def _bibtex(paper: Paper) -> str:
    entry = clean(bibtex_entry(paper))
    lines = min(entry.count("\n") + 2, 10)
    return (
        '<section class="bibtex"><h3>BibTeX <button type="button" class="copies">Copy</button>'
        '<span class="copied" role="status"></span></h3>'
        f'<textarea readonly rows="{lines}" spellcheck="false" aria-label="BibTeX entry">'
        f"{text(entry)}</textarea></section>"
    )


def _fold(paper: Paper, kind: str, title: str, inner: str) -> str:
    key = text(f"{kind}-{paper.paper_id}")
    return (
        f'<details class="fold" data-key="{key}"><summary>{text(title)}</summary>{inner}</details>'
    )
