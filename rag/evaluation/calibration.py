"""Calibration: fit the relevance and evidence scores on the tuning half of the questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.engine import Engine
from rag.errors import ModelUnavailableError
from rag.evaluation.questions import Question
from rag.reasoning.rule_planner import plan_by_rules
from rag.results import Scope
from rag.retrieval.candidate import Candidate
from rag.retrieval.relevance import EvidenceWeights, RelevanceWeights, log_odds

Vector = npt.NDArray[np.float64]
# Held fixed: the fitted weight (5.7) keeps as many right papers but puts them first less often
# (0.37 instead of 0.56 of the paraphrased questions of the tuning half).
KEYWORD_WEIGHT = 2.0
RIDGE = 0.001
EVIDENCE_RIDGE = 0.01
STEPS = 80


@dataclass(frozen=True)
class ScoredQuestion:
    """A question with the reranked candidates of all its sub-queries."""

    question: Question
    candidates: tuple[Candidate, ...]

    def best(self, sign: str) -> float:
        """The best value of one sign over all candidates, on the scale of the model."""
        return max((signs_of(item)[sign] for item in self.candidates), default=0.0)


def score_questions(engine: Engine, questions: Sequence[Question]) -> list[ScoredQuestion]:
    """Retrieve and rerank each question as the first pass of the graph does.

    Raises ``ModelUnavailableError`` when the reranker fails: nothing can be fitted to its scores.
    """
    scored: list[ScoredQuestion] = []
    for question in questions:
        queries = plan_by_rules(question.question, (), engine.searcher.names).sub_queries
        pools = engine.searcher.retrieve(queries, engine.settings, Scope(), frozenset())
        judged = engine.searcher.judge(pools, engine.settings, several=False)
        if judged.degraded:
            raise ModelUnavailableError(judged.degraded)
        scored.append(ScoredQuestion(question, judged.candidates))
    return scored


def signs_of(item: Candidate) -> dict[str, float]:
    """The signs of a candidate on the scales on which they add up; without a reranker its sign is
    0 everywhere, so that its fitted weight is 0."""
    match = item.match
    return {
        "rerank": 0.0 if item.score_rerank is None else log_odds(item.score_rerank),
        "abstract": 10 * match.abstract if match else 0.0,
        "late": 10 * match.late if match else 0.0,
        "keyword": match.keyword if match else 0.0,
        "named": float(item.named),
    }


def fit_relevance(scored: Sequence[ScoredQuestion], *, cosine: bool = True) -> RelevanceWeights:
    """Does a candidate come from a paper that answers the question? All candidates are examples.

    Without ``cosine`` the weights are those for another embedder (``without_cosine``).
    """
    rows = [signs_of(item) for entry in scored for item in entry.candidates]
    labels = [
        float(item.paper.paper_id in entry.question.papers)
        for entry in scored
        for item in entry.candidates
    ]
    table = _table(rows, ("rerank", "abstract", "late", "named"), cosine)
    offset = KEYWORD_WEIGHT * np.array([row["keyword"] for row in rows])
    rerank, abstract, late, named, constant = (
        round(float(value), 3) for value in fit_logistic(table, np.array(labels), RIDGE, offset)
    )
    return RelevanceWeights(rerank, abstract, late, KEYWORD_WEIGHT, constant, named)


def fit_evidence(scored: Sequence[ScoredQuestion], *, cosine: bool = True) -> EvidenceWeights:
    """Is the library about the question? Near-misses are left out: they are about its subjects."""
    used = [entry for entry in scored if entry.question.category != "near_miss"]
    signs = ("rerank", "abstract", "late")
    rows = [{sign: entry.best(sign) for sign in signs} for entry in used]
    labels = np.array([float(entry.question.answerable) for entry in used])
    weights = fit_logistic(_table(rows, signs, cosine), labels, EVIDENCE_RIDGE)
    return EvidenceWeights(*(round(float(value), 3) for value in weights))


def _table(rows: Sequence[dict[str, float]], signs: Sequence[str], cosine: bool) -> Vector:
    used = [0.0 if sign == "abstract" and not cosine else 1.0 for sign in signs]
    return np.array(
        [
            [*(factor * row[sign] for sign, factor in zip(signs, used, strict=True)), 1.0]
            for row in rows
        ]
    )


def fit_logistic(
    table: Vector, labels: Vector, ridge: float, offset: Vector | float = 0.0
) -> Vector:
    """Weights of a ridge logistic regression by Newton's method; the last column is the constant.

    Columns are standardised for the penalty and the weights given back on their own scales;
    ``offset`` is what fixed terms contribute to the log-odds of each row.
    """
    centre, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    centre[-1], spread[-1] = 0.0, 1.0
    scaled = (table - centre) / spread
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(scaled @ weights + offset)))
        slope = scaled.T @ (chance - labels) / len(labels) + ridge * weights
        curve = (scaled * (chance * (1 - chance))[:, None]).T @ scaled / len(labels)
        weights = weights - np.linalg.solve(curve + ridge * np.eye(len(weights)), slope)
    fitted: Vector = weights / spread
    fitted[-1] = weights[-1] - float((weights[:-1] * centre[:-1] / spread[:-1]).sum())
    return fitted
