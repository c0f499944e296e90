"""Search texts: what each searcher reads of a chunk, which is more than is shown of it.

A paper's title and the names that people call it by ("T5") stand with its first chunk in every
index, so that a question finds the paper by a name that its text never spells. No reader sees
these additions, and no citation rests on them.
"""

from __future__ import annotations

from rag.chunks import Chunk
from rag.papers import Paper
from rag.retrieval.terms import terms


def embedding_text(paper: Paper, chunk: Chunk) -> str:
    """What is embedded for a chunk: the title in front, the names with the first chunk."""
    return f"{_heading(paper, chunk)}\n{chunk.text}"


def late_text(paper: Paper, chunk: Chunk) -> str:
    """What stands for a whole paper in late interaction: title, names and first chunk."""
    return f"{_heading(paper, chunk)}. {chunk.text}"


def keyword_terms(paper: Paper, chunk: Chunk) -> list[str]:
    """The terms of a chunk for BM25; the first chunk has those of title and names as well."""
    if chunk.chunk_index:
        return terms(chunk.text)
    return terms(f"{paper.title}. {', '.join(search_names(paper))}. {chunk.text}")


def search_names(paper: Paper) -> list[str]:
    """Names and search terms of a paper, each once."""
    spelled: dict[str, str] = {}
    for name in (*paper.names, *paper.search_terms):
        spelled.setdefault(name.casefold(), name)
    return list(spelled.values())


def _heading(paper: Paper, chunk: Chunk) -> str:
    names = search_names(paper) if chunk.chunk_index == 0 else []
    return f"{paper.title} ({', '.join(names)})" if names else paper.title
