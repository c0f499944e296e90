"""What the tests of the extractive steps share."""

from __future__ import annotations

from collections.abc import Mapping

from rag.reasoning.protocol import Evidence
from rag.retrieval.lexicon import Lexicon

COMMON = frozenset({"model", "training", "models", "text"})


def lexicon(acronyms: Mapping[str, str] | None = None) -> Lexicon:
    """A lexicon in which every word is rare but a few."""
    return Lexicon(lambda term: 0.5 if term in COMMON else 4.0, acronyms or {})


def passage(
    n: int, text: str, paper: str = "", score: float | None = 0.5, title: str = "A Study"
) -> Evidence:
    paper = paper or f"P{n}"
    return Evidence(n, (f"{paper}:{n:04}:x",), paper, title, 2020, "", (n,), text, score, "q")
