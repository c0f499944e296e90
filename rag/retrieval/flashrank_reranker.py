"""FlashRank with the local ms-marco-MiniLM-L-12-v2 (int8 ONNX)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag.compute import ComputePool
from rag.errors import ModelUnavailableError
from rag.local_models import (
    BGE_SMALL,
    FLASHRANK_FILE,
    FLASHRANK_MODEL,
    open_session,
    prepare_flashrank_directory,
    quiet_libraries,
)
from rag.retrieval.relevance import EvidenceWeights, RelevanceWeights
from rag.retrieval.reranker import Calibration

# Calibrated on the tuning half of corpus/eval/questions.jsonl; see docs/decisions.md.
MINILM_CALIBRATION = Calibration(
    relevance=RelevanceWeights(
        rerank=0.168, abstract=0.514, late=1.632, keyword=2.0, constant=-18.582, named=2.032
    ),
    evidence=EvidenceWeights(rerank=0.095, abstract=1.286, late=2.988, constant=-30.443),
    bar=0.01,
    strict_bar=0.02,
    floor_minimum=0.005,
    evidence_floor=0.5,
    embedder=BGE_SMALL.name,
    without_cosine=Calibration(
        relevance=RelevanceWeights(
            rerank=0.187, abstract=0.0, late=2.273, keyword=2.0, constant=-19.86, named=2.0
        ),
        evidence=EvidenceWeights(rerank=0.186, abstract=0.0, late=5.726, constant=-44.287),
        bar=0.01,
        strict_bar=0.02,
        floor_minimum=0.005,
        evidence_floor=0.5,
    ),
)


class FlashRankReranker:
    """MiniLM-L-12 through FlashRank, one pair a call on the compute pool.

    FlashRank puts all passages through one padded batch, in which an int8 score depends on its
    company (up to 0.04, DESIGN §6), sorts the caller's list in place and returns numpy floats;
    a call per pair with a fresh dict avoids all three. The model is loaded at first use.
    Raises ``ModelUnavailableError`` when its files are missing or damaged.
    """

    name = f"flashrank {FLASHRANK_MODEL}"
    calibration = MINILM_CALIBRATION
    model = FLASHRANK_MODEL
    model_file = FLASHRANK_FILE

    def __init__(self, pool: ComputePool, cache_dir: Path) -> None:
        self._pool = pool
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._ranker: Any = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores in 0..1, in the order of the pairs."""
        if not pairs:
            return []
        self.load()
        return self._pool.map(self._score_one, pairs)

    def load(self) -> None:
        """Load the model now; construction is not thread-safe in FlashRank, hence the lock."""
        with self._lock:
            if self._ranker is None:
                self._ranker = self._open()

    def _prepare(self) -> Path:
        """Lay out the model's files; the folder that FlashRank is to look in."""
        return prepare_flashrank_directory(self._cache_dir)

    def _open(self) -> Any:
        cache_dir = self._prepare()
        quiet_libraries()
        from flashrank import Ranker

        try:
            ranker = Ranker(self.model, cache_dir=str(cache_dir), log_level="WARNING")
        except Exception as error:
            raise ModelUnavailableError("The reranker's files could not be loaded.") from error
        # FlashRank's session spreads one run over all cores; a thread a run is faster here.
        ranker.session = open_session(cache_dir / self.model / self.model_file)
        ranker.tokenizer.encode_special_tokens = True
        return ranker

    def _score_one(self, pair: tuple[str, str]) -> float:
        from flashrank import RerankRequest

        query, passage = pair
        if not passage.strip():
            return 0.0
        request = RerankRequest(query=query, passages=[{"id": 0, "text": passage}])
        score = float(self._ranker.rerank(request)[0]["score"])
        return score if math.isfinite(score) else 0.0
