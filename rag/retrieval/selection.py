"""Selection: which reranked candidates are kept, and why the others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.reranker import Calibration
from rag.sections import RerankingSettings, RetrievalSettings

OUTSIDE = "the library seems not to be about this"
BELOW_BAR = "below the bar"
BELOW_STRICT_BAR = "below the strict bar"
PAPER_FULL = "enough passages of this paper"
LIMIT = "beyond the limit"
# Above this reranker score its own order can be trusted; see docs/decisions.md.
SURE_RERANK = 0.5
DUPLICATE = "same text as a kept passage"


@dataclass(frozen=True)
class Bars:
    """The bars in force for one request; all None when no reranker score exists, since a bar for
    reranker scores means nothing for fused scores (C48)."""

    bar: float | None
    strict_bar: float | None
    floor_minimum: float
    evidence_floor: float | None


def bars_for(settings: RerankingSettings, calibration: Calibration | None) -> Bars:
    """The settings' bars, with the reranker's calibrated values where none is set."""
    if calibration is None:
        return Bars(None, None, 0.0, None)
    bar = calibration.bar if settings.bar is None else settings.bar
    strict = calibration.strict_bar if settings.strict_bar is None else settings.strict_bar
    floor = settings.evidence_floor
    return Bars(
        bar=bar,
        strict_bar=max(bar, strict),
        floor_minimum=calibration.floor_minimum,
        evidence_floor=calibration.evidence_floor if floor is None else floor,
    )


def apply_bars(pool: Pool, bars: Bars, settings: RerankingSettings) -> list[Candidate]:
    """Mark each candidate of one pool as kept or dropped by its bar, best first.

    Below the evidence floor nothing is kept. Trusted fusion ranks need ``bar``, later ones
    ``strict_bar``. A hand-picked paper at a trusted rank is raised to the bar when its own score
    is at least the calibrated minimum and another chunk clears its bar unaided; its score stays.
    When nothing clears a bar, the single best chunk is kept if it is above ``bar``.
    """
    if bars.bar is None:
        return [replace(candidate, kept=True) for candidate in pool.candidates]
    if _outside(pool, bars):
        dropped = [replace(candidate, drop_reason=OUTSIDE) for candidate in pool.candidates]
        return sorted(dropped, key=lambda candidate: candidate.order)
    unaided = [_judge(candidate, bars, settings) for candidate in pool.candidates]
    any_cleared = any(candidate.kept for candidate in unaided)
    floored = [_floor(candidate, bars, settings, any_cleared) for candidate in unaided]
    ordered = sorted(floored, key=lambda candidate: candidate.order)
    if ordered and not any_cleared:
        best = ordered[0]
        if (best.score_relevance or 0.0) >= bars.bar:
            ordered[0] = replace(best, kept=True, drop_reason=None)
    return ordered


def _outside(pool: Pool, bars: Bars) -> bool:
    """Whether the pool's evidence score is below the floor."""
    if bars.evidence_floor is None or not pool.candidates:
        return False
    return (pool.candidates[0].score_evidence or 0.0) < bars.evidence_floor


def _judge(candidate: Candidate, bars: Bars, settings: RerankingSettings) -> Candidate:
    trusted = (candidate.rank_fused or 0) <= settings.trusted_ranks
    needed = bars.bar if trusted else bars.strict_bar
    if (candidate.score_relevance or 0.0) >= (needed or 0.0):
        return replace(candidate, kept=True)
    return replace(candidate, drop_reason=BELOW_BAR if trusted else BELOW_STRICT_BAR)


def _floor(
    candidate: Candidate, bars: Bars, settings: RerankingSettings, any_cleared: bool
) -> Candidate:
    raised = (
        settings.hand_picked_floor
        and any_cleared
        and not candidate.kept
        and candidate.paper.hand_picked
        and (candidate.rank_fused or 0) <= settings.trusted_ranks
        and (candidate.score_relevance or 0.0) >= bars.floor_minimum
    )
    return replace(candidate, kept=True, floored=True, drop_reason=None) if raised else candidate


def merge_pools(judged: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """One entry a chunk over all sub-queries, under the sub-query where it does best.

    ``also_in`` names the other sub-queries whose pool holds it.
    """
    best: dict[str, Candidate] = {}
    queries: dict[str, list[str]] = {}
    for candidates in judged:
        for candidate in candidates:
            key = candidate.chunk.chunk_id
            queries.setdefault(key, []).append(candidate.sub_query)
            held = best.get(key)
            if held is None or (not candidate.kept, candidate.order) < (not held.kept, held.order):
                best[key] = candidate
    return [
        replace(
            candidate,
            also_in=tuple(query for query in queries[key] if query != candidate.sub_query),
        )
        for key, candidate in best.items()
    ]


@dataclass(frozen=True)
class Room:
    """What the reader is given: most passages, most of one paper, and the size of each context
    in wordpieces. More passages have smaller contexts, so that the whole stays as long."""

    passages: int
    per_paper: int
    context_tokens: int


def room_for(candidates: Sequence[Candidate], several: bool, settings: RetrievalSettings) -> Room:
    """Few passages a paper where several papers are asked for; one a paper, and more papers,
    where no score of the reranker says which paper is right."""
    if several:
        return Room(settings.keep, settings.keep_per_paper, settings.context_tokens)
    sure = max((item.score_rerank or 0.0 for item in candidates if item.kept), default=1.0)
    if sure >= SURE_RERANK:
        return Room(settings.keep, settings.keep, settings.context_tokens)
    passages = max(settings.keep, settings.keep_unsure)
    context = settings.context_tokens * settings.keep // passages
    return Room(passages, settings.keep_per_paper_unsure, context)


def choose(candidates: Sequence[Candidate], room: Room) -> list[Candidate]:
    """At most as many kept candidates, in all and of one paper, as there is room; others drop.

    Sub-queries take turns, so that a compound question's weaker part is not crowded out; within
    a sub-query the order is by score. An identical text is kept once.
    """
    chosen: list[Candidate] = []
    dropped: list[Candidate] = [item for item in candidates if not item.kept]
    papers: Counter[str] = Counter()
    texts: set[str] = set()
    for candidate in take_turns([item for item in candidates if item.kept]):
        text = " ".join(candidate.chunk.text.split())
        if text in texts:
            dropped.append(_drop(candidate, DUPLICATE))
        elif len(chosen) >= room.passages:
            dropped.append(_drop(candidate, LIMIT))
        elif papers[candidate.paper.paper_id] >= room.per_paper:
            dropped.append(_drop(candidate, PAPER_FULL))
        else:
            chosen.append(candidate)
            texts.add(text)
            papers[candidate.paper.paper_id] += 1
    return [*chosen, *sorted(dropped, key=lambda candidate: candidate.order)]


def take_turns(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates in rounds, the best of each sub-query first, floored ones after the others."""
    lines: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda item: (item.floored, item.order)):
        lines.setdefault(candidate.sub_query, []).append(candidate)
    rounds: list[Candidate] = []
    for turn in range(max((len(line) for line in lines.values()), default=0)):
        heads = [line[turn] for line in lines.values() if turn < len(line)]
        rounds += sorted(heads, key=lambda item: (item.floored, item.order))
    return rounds


def _drop(candidate: Candidate, reason: str) -> Candidate:
    return replace(candidate, kept=False, drop_reason=reason)
