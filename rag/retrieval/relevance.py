"""Relevance: one calibrated score from the signs that no single stage has.

The reranker reads words closely but is nearly blind to paraphrase (right passages of paraphrased
questions score 0.001-0.02 with it); the cosines and late interaction see paraphrase but not
detail. A logistic model joins them. Its weights are fitted on the tuning half of the questions
by ``scripts/calibrate.py``, which prints them; the reporting half is never read there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Signs:
    """What is known of a candidate: reranker score 0..1, cosine of its paper's abstract, late
    interaction with its paper's abstract (-1..1), its paper's best BM25 score as a share of the
    best of all papers (0..1), and 1 where the query calls the paper by name."""

    rerank: float
    abstract: float
    late: float
    keyword: float
    named: float = 0.0


@dataclass(frozen=True)
class RelevanceWeights:
    """Weights of the logistic model, in the order of ``features``, and its constant."""

    rerank: float
    abstract: float
    late: float
    keyword: float
    constant: float
    named: float = 0.0


@dataclass(frozen=True)
class EvidenceWeights:
    """Weights of the evidence score: the best of each sign over a whole pool."""

    rerank: float
    abstract: float
    late: float
    constant: float


def evidence(pool: Sequence[Signs], weights: EvidenceWeights) -> float:
    """Probability, 0..1, that the library is about what is asked at all.

    Looks at the best of each sign over all candidates of a sub-query: no single one tells an
    everyday question about a paper's subject from one about pizza, together they do.
    """
    if not pool:
        return 0.0
    total = (
        weights.constant
        + weights.rerank * log_odds(max(signs.rerank for signs in pool))
        + weights.abstract * 10 * max(signs.abstract for signs in pool)
        + weights.late * 10 * max(signs.late for signs in pool)
    )
    return logistic(total)


def features(signs: Signs) -> tuple[float, float, float, float, float]:
    """The signs on the scales on which they add up: the reranker's log-odds, tenths of a cosine."""
    return log_odds(signs.rerank), signs.abstract * 10, signs.late * 10, signs.keyword, signs.named


def relevance(signs: Signs, weights: RelevanceWeights) -> float:
    """Probability, 0..1, that a passage comes from a paper that answers the question."""
    factors = (weights.rerank, weights.abstract, weights.late, weights.keyword, weights.named)
    values = features(signs)
    return logistic(weights.constant + sum(f * v for f, v in zip(factors, values, strict=True)))


def logistic(total: float) -> float:
    """``1 / (1 + exp(-total))`` without overflow."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def log_odds(probability: float) -> float:
    """``log(p / (1 - p))``, held within ±13.8 so that 0 and 1 stay finite."""
    held = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(held / (1 - held))
