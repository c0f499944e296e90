"""The calibrated scores: monotone, bounded, finite."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION
from rag.retrieval.relevance import (
    EvidenceWeights,
    RelevanceWeights,
    Signs,
    evidence,
    log_odds,
    logistic,
    relevance,
)

WEIGHTS = MINILM_CALIBRATION.relevance
LOW = Signs(0.01, 0.4, 0.3, 0.1)
SHARE = st.floats(0, 1)


def test_known_values() -> None:
    assert logistic(0) == 0.5
    assert log_odds(0.5) == 0
    assert log_odds(0.9) == pytest.approx(math.log(9))
    weights = RelevanceWeights(1.0, 0.0, 0.0, 0.0, 0.0)
    assert relevance(Signs(0.7, 0.0, 0.0, 0.0), weights) == pytest.approx(0.7)
    only_abstract = RelevanceWeights(0.0, 1.0, 0.0, 0.0, -5.0)
    assert relevance(Signs(0.0, 0.5, 0.0, 0.0), only_abstract) == pytest.approx(0.5)


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 2.0])
def test_the_ends_stay_finite(value: float) -> None:
    assert math.isfinite(log_odds(value))
    assert 0 < logistic(value * 1e9) < 1


@given(SHARE, SHARE, SHARE, SHARE)
def test_relevance_is_a_probability(
    rerank: float, abstract: float, late: float, keyword: float
) -> None:
    assert 0 < relevance(Signs(rerank, abstract, late, keyword), WEIGHTS) < 1


@pytest.mark.parametrize("sign", ["rerank", "abstract", "late", "keyword"])
def test_every_sign_speaks_for_a_passage(sign: str) -> None:
    assert relevance(replace(LOW, **{sign: 0.9}), WEIGHTS) > relevance(LOW, WEIGHTS)


def test_evidence_takes_the_best_of_each_sign() -> None:
    weights = EvidenceWeights(1.0, 1.0, 1.0, -10.0)
    parts = (Signs(0.9, 0, 0, 0), Signs(0.1, 0.8, 0, 0), Signs(0.1, 0, 0.7, 0))
    whole = Signs(0.9, 0.8, 0.7, 0)
    assert evidence(parts, weights) == evidence([whole], weights) > evidence(parts[:1], weights)
    assert evidence((), weights) == 0.0
