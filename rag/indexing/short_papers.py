"""ShortPaper: a paper of which there is no PDF, by its digest or its abstract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rag.chunks import Chunk
from rag.indexing.chunker import chunk_paper
from rag.indexing.digests import Digest, digest_chunks
from rag.indexing.document import PaperText
from rag.papers import Library, Paper, month_of_id
from rag.retrieval.embed import Embedder
from rag.sections import IndexingSettings
from rag.selection.records import PaperRecord

Preference = Literal["digest", "abstract"]


@dataclass(frozen=True)
class ShortPaper:
    """A paper and the chunks that stand for it; ``paper.holding`` says which kind."""

    paper: Paper
    chunks: tuple[Chunk, ...]


def short_papers(
    papers: Iterable[Paper],
    digests: Mapping[str, Digest],
    records: Mapping[str, PaperRecord],
    embedder: Embedder,
    settings: IndexingSettings,
    *,
    prefer: Preference = "digest",
) -> tuple[list[ShortPaper], list[str]]:
    """Each paper by its digest or its abstract, and the ids of papers with neither.

    ``prefer`` says which one is taken where there are both.
    """
    found: list[ShortPaper] = []
    missing: list[str] = []
    for paper in papers:
        digest, record = digests.get(paper.paper_id), records.get(paper.paper_id)
        abstract = record.abstract if record else None
        if abstract and (prefer == "abstract" or digest is None):
            found.append(_of_abstract(paper, abstract, embedder, settings))
        elif digest is not None:
            found.append(_of_digest(paper, digest, embedder))
        else:
            missing.append(paper.paper_id)
    return found, missing


def _of_digest(paper: Paper, digest: Digest, embedder: Embedder) -> ShortPaper:
    known = paper_of_digest(digest, Library([paper]))
    return ShortPaper(known, tuple(digest_chunks(digest, embedder)))


def _of_abstract(
    paper: Paper, abstract: str, embedder: Embedder, settings: IndexingSettings
) -> ShortPaper:
    nothing = PaperText(None, None, None, None, 0, (), ())
    chunks = chunk_paper(paper.paper_id, nothing, abstract, None, settings, embedder.count_tokens)
    return ShortPaper(replace(paper, holding="abstract"), tuple(chunks))


def paper_of_digest(digest: Digest, library: Library) -> Paper:
    """The facts of a digest's paper: from the manifest, else from the digest itself."""
    known = library.get(digest.paper_id)
    base = known or Paper(paper_id=digest.paper_id, title=digest.title, tier="hand_picked")
    return Paper(
        paper_id=base.paper_id,
        title=base.title,
        authors=base.authors or digest.authors,
        published=base.published or month_of_id(base.paper_id),
        categories=base.categories,
        topic=base.topic,
        tier=base.tier,
        version=base.version,
        names=base.names,
        search_terms=digest.search_terms,
        holding="digest",
    )
