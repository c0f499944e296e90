"""Anchors: every paper is asked to find itself, by title, by paraphrase and by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.errors import InvalidSettingError
from rag.papers import Paper
from rag.results import Scope
from rag.retrieval.search import Searcher
from rag.settings import Settings

Way = Literal["title", "paraphrase", "name"]
WAYS: tuple[Way, ...] = ("title", "paraphrase", "name")


class AnchorRecord(BaseModel):
    """A line of ``anchors.jsonl``: the title in other words, without the method's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper_id: str
    title: str
    paraphrase: str


@dataclass(frozen=True)
class Anchor:
    """One way to ask for one paper."""

    paper_id: str
    way: Way
    query: str


@dataclass(frozen=True)
class AnchorRow:
    """Where the paper was found: its rank among the papers of the pool before and after
    reranking, from 1, and whether a passage of it was kept; None when it is not there."""

    anchor: Anchor
    rank_fused: int | None
    rank_judged: int | None
    kept: bool


def read_anchors(path: Path) -> dict[str, AnchorRecord]:
    """Paper id -> record; raises ``InvalidSettingError`` when the file is unusable."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [AnchorRecord.model_validate_json(line) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError, ValidationError):
        raise InvalidSettingError(f"The anchor file {path.name} is missing or damaged.") from None
    return {record.paper_id: record for record in records}


def anchors_of(papers: Iterable[Paper], records: dict[str, AnchorRecord]) -> Iterator[Anchor]:
    """All ways to ask for these papers; a paper without names is not asked for by name."""
    for paper in papers:
        yield Anchor(paper.paper_id, "title", paper.title)
        if paper.paper_id in records:
            yield Anchor(paper.paper_id, "paraphrase", records[paper.paper_id].paraphrase)
        if paper.names:
            yield Anchor(paper.paper_id, "name", f"What is {paper.names[0]}?")


def find_anchor(searcher: Searcher, settings: Settings, anchor: Anchor) -> AnchorRow:
    """Search for one anchor and see where its paper stands."""
    pools = searcher.retrieve([anchor.query], settings, Scope(), frozenset())
    fused = _papers(candidate.paper.paper_id for candidate in pools[0].candidates)
    judged = searcher.judge(pools, settings, several=False)
    ordered = sorted(judged.candidates, key=lambda candidate: candidate.order)
    ranked = _papers(candidate.paper.paper_id for candidate in ordered)
    kept = {item.paper.paper_id for item in judged.candidates if item.kept}
    return AnchorRow(
        anchor=anchor,
        rank_fused=_rank(anchor.paper_id, fused),
        rank_judged=_rank(anchor.paper_id, ranked),
        kept=anchor.paper_id in kept,
    )


def _papers(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _rank(paper_id: str, ranked: Sequence[str]) -> int | None:
    return ranked.index(paper_id) + 1 if paper_id in ranked else None
