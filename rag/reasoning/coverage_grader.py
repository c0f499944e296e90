"""Grading without a model: are the named things of the question in one paper's passages?

A question that names things ("LATS", "ALFWorld") is answered only where they stand together: a
near-miss names a held method and something that its paper never speaks of. A question in everyday
words names nothing; there the calibrated relevance decides, since its words need not occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.reasoning.rule_planner import names_in
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.reranker import Calibration
from rag.retrieval.terms import terms

MOST_MISSING = 4
# A passage helps when its relevance is at least this share of the best one's.
HELPFUL_SHARE = 0.5
# A name counts as mentioned when this share of its terms' rarity is.
NAME_SHARE = 0.6
# Share of the question's rare terms that one paper's passages must mention. Of the answerable
# questions of the tuning half that name something the lowest has 0.34 (0.46 outside comparisons);
# those of at most three words have all of them; longer ones in everyday words have any share.
# Without reranker scores coverage alone has to tell.
NAMED_COVERAGE = 0.3
SHORT_COVERAGE = 0.75
SHORT_TERMS = 3
COVERAGE_WITHOUT_SCORES = 0.8


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
    """Sufficient when every part of the question is covered by the passages of some paper."""
    parts = [grade_part(query, evidence, lexicon, calibration) for query in plan.sub_queries]
    helpful = sorted({n for part in parts if part.covered for n in part.helpful})
    missing = [name for part in parts if not part.covered for name in part.missing]
    return InformationCheck(
        sufficient=bool(parts) and all(part.covered for part in parts),
        missing_elements=tuple(dict.fromkeys(missing))[:MOST_MISSING],
        relevant=tuple(helpful),
        reason="; ".join(_told(part) for part in parts),
    )


def needed_coverage(named: bool, terms_asked: int, *, scored: bool) -> float:
    """The share of its rare terms that a part of a question needs in one paper."""
    if not scored:
        return COVERAGE_WITHOUT_SCORES
    if named:
        return NAMED_COVERAGE
    return SHORT_COVERAGE if terms_asked <= SHORT_TERMS else 0.0


def grade_part(
    query: str,
    evidence: Sequence[Evidence],
    lexicon: Lexicon,
    calibration: Calibration | None,
) -> PartVerdict:
    """The verdict about one sub-query over all evidence, whichever query brought it."""
    names = names_in(query)
    wanted = lexicon.content_terms(query)
    texts = _texts_by_paper(evidence)
    judged = [
        (len(missing_names(names, text, lexicon)), -lexicon.coverage(wanted, text), paper_id)
        for paper_id, text in texts.items()
    ]
    if not judged:
        return PartVerdict(query, False, (), tuple(names or wanted), 0.0, 0.0)
    absent, negative, paper_id = min(judged)
    scores = [item.score or 0.0 for item in evidence]
    best = max(scores)
    needed = needed_coverage(bool(names), len(wanted), scored=calibration is not None)
    covered = absent == 0 and -negative >= needed
    helpful = [
        item.n
        for item in evidence
        if (item.score or 0.0) >= best * HELPFUL_SHARE or item.paper_id == paper_id
    ]
    missing = missing_names(names, texts[paper_id], lexicon) or [
        term for term in wanted if term not in lexicon.covered(wanted, texts[paper_id])
    ]
    return PartVerdict(query, covered, tuple(helpful), tuple(missing), best, -negative)


def missing_names(names: Sequence[str], text: str, lexicon: Lexicon) -> list[str]:
    """The named things of a question that a text does not mention, in any known form."""
    return [name for name in names if lexicon.coverage(terms(name), text) < NAME_SHARE]


def _texts_by_paper(evidence: Sequence[Evidence]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for item in evidence:
        heading = f"{item.title} {', '.join(item.names)}"
        texts[item.paper_id] = f"{texts.get(item.paper_id, heading)} {item.text}"
    return texts


def _told(part: PartVerdict) -> str:
    state = "covered" if part.covered else "not covered"
    return (
        f"{state}: “{part.query}” (best relevance {part.best:.2f}, "
        f"{part.coverage:.0%} of its rare terms in one paper)"
    )
