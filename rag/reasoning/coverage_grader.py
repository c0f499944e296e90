"""Grading without a model: reranker score, and coverage of the question's rare terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.reasoning.lexicon import Lexicon
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.retrieval.reranker import Calibration

MOST_MISSING = 4


@dataclass(frozen=True)
class PartVerdict:
    """What the evidence holds for one sub-query."""

    query: str
    covered: bool
    helpful: tuple[int, ...]
    missing: tuple[str, ...]
    best: float
    coverage: float


def grade_by_coverage(
    plan: QueryPlan,
    evidence: Sequence[Evidence],
    lexicon: Lexicon,
    calibration: Calibration | None,
) -> InformationCheck:
    """Sufficient when every part of the question is covered by passages of one paper.

    A part is covered when a paper's passages mention enough of its rare terms, where "enough"
    falls as the reranker's score rises: a sure score needs less, an uncertain one nearly all.
    Without a reranker coverage alone decides.
    """
    parts = [grade_part(query, evidence, lexicon, calibration) for query in plan.sub_queries]
    helpful = sorted({n for part in parts if part.covered for n in part.helpful})
    missing = list(dict.fromkeys(name for part in parts if not part.covered for name in part.missing))
    sufficient = bool(parts) and all(part.covered for part in parts)
    return InformationCheck(
        sufficient=sufficient,
        missing_elements=tuple(missing[:MOST_MISSING]),
        relevant=tuple(helpful),
        reason=_reason(parts),
    )


def grade_part(
    query: str, evidence: Sequence[Evidence], lexicon: Lexicon, calibration: Calibration | None
) -> PartVerdict:
    """The verdict about one sub-query over all evidence, whichever query brought it."""
    wanted = lexicon.content_terms(query)
    best_paper, coverage = _best_paper(wanted, evidence, lexicon)
    scores = [item.score or 0.0 for item in evidence if item.paper_id == best_paper]
    best = max(scores, default=0.0)
    covered = bool(evidence) and coverage >= needed_coverage(best, calibration)
    helpful = tuple(item.n for item in evidence if _helps(item, wanted, lexicon, best, calibration))
    held = {
        term
        for item in evidence
        if item.paper_id == best_paper
        for term in lexicon.covered(wanted, f"{item.title} {item.text}")
    }
    absent = [term for term in wanted if term not in held]
    absent.sort(key=lambda term: -lexicon.rarity(term))
    return PartVerdict(query, covered, helpful, tuple(absent or wanted), best, coverage)


def needed_coverage(score: float, calibration: Calibration | None) -> float:
    """Share of the rare terms that must be mentioned at a given best reranker score.

    Falls on a straight line from ``demanding`` at the evidence floor to ``lenient`` at ``sure``;
    calibrated on the tuning half of the questions (docs/decisions.md).
    """
    demanding, lenient = 0.80, 0.35
    if calibration is None:
        return demanding
    if score >= calibration.sure:
        return lenient
    span = calibration.sure - calibration.evidence_floor
    share = max(0.0, score - calibration.evidence_floor) / span
    return demanding + (lenient - demanding) * share


def _best_paper(
    wanted: Sequence[str], evidence: Sequence[Evidence], lexicon: Lexicon
) -> tuple[str, float]:
    """The paper whose passages together mention most of the wanted terms."""
    texts: dict[str, str] = {}
    for item in evidence:
        texts[item.paper_id] = f"{texts.get(item.paper_id, item.title)} {item.text}"
    scored = [(lexicon.coverage(wanted, text), paper_id) for paper_id, text in texts.items()]
    if not scored:
        return "", 0.0
    coverage, paper_id = max(scored, key=lambda pair: pair[0])
    return paper_id, coverage


def _helps(
    item: Evidence,
    wanted: Sequence[str],
    lexicon: Lexicon,
    best: float,
    calibration: Calibration | None,
) -> bool:
    """A passage helps when its score is not far below the best, or it covers much itself."""
    if calibration is None or item.score is None:
        return lexicon.coverage(wanted, f"{item.title} {item.text}") >= 0.5
    return item.score >= min(calibration.sure, best * 0.2)


def _reason(parts: Sequence[PartVerdict]) -> str:
    told = [
        f"{'covered' if part.covered else 'not covered'}: “{part.query}” "
        f"(best score {part.best:.2f}, {part.coverage:.0%} of its rare terms)"
        for part in parts
    ]
    return "; ".join(told)
