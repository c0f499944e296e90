"""What a refusal says."""

from __future__ import annotations

from builders import make_chunk

from rag.agent.refusal import NOT_COVERED, NOT_IN_SCOPE, nearest_papers, refusal_text
from rag.papers import Paper
from rag.retrieval.candidate import Candidate


def candidate(paper_id: str, score: float, topic: str | None = None, index: int = 1) -> Candidate:
    paper = Paper(paper_id, f"Title {paper_id}", topic=topic)
    return Candidate(make_chunk(paper_id, index, "Text."), paper, "q", score_relevance=score)


def test_an_empty_pool() -> None:
    assert refusal_text([], scoped=False) == NOT_COVERED
    assert nearest_papers([]) == ()


def test_the_nearest_topic_or_paper_is_named() -> None:
    pool = [candidate("A", 0.1, "Agents"), candidate("B", 0.4, "Vision"), candidate("C", 0.2)]
    assert (
        refusal_text(pool, scoped=False)
        == f"{NOT_COVERED} The nearest that it holds is the topic “Vision”."
    )
    assert "the paper “Title C”" in refusal_text(pool[2:], scoped=False)
    assert refusal_text(pool, scoped=True) == NOT_IN_SCOPE


def test_nearest_papers_are_told_once_and_best_first() -> None:
    pool = [
        candidate(name, score, None, n)
        for n, (name, score) in enumerate(
            [("A", 0.1), ("B", 0.4), ("A", 0.3), ("C", 0.2), ("D", 0.05)]
        )
    ]
    assert [(item.paper_id, item.score) for item in nearest_papers(pool)] == [
        ("B", 0.4),
        ("A", 0.3),
        ("C", 0.2),
    ]
