"""Which reranker the settings name, opened; and what happens when it cannot be had."""

from __future__ import annotations

import logging
import os

from rag.compute import ComputePool
from rag.errors import ModelUnavailableError, ProviderError
from rag.hosting import hosting_platform
from rag.retrieval.flashrank_reranker import FlashRankReranker
from rag.retrieval.reranker import Reranker
from rag.settings import Settings

logger = logging.getLogger(__name__)


def open_reranker(settings: Settings, pool: ComputePool) -> Reranker | None:
    """The reranker that the settings name; None when it is off, its files are unusable, its key is
    missing or its download fails. Retrieval then answers in fused order and says so (C48).

    Fails closed: on a public host Cohere, which bills each search, is used only when
    ``reranking.allow_paid_on_host`` says so, else the local reranker; with ``STRICT_HOSTING=1``
    the app refuses to start (``ProviderError``).
    """
    if settings.reranking.name == "none":
        return None
    try:
        return _open(settings, pool)
    except ModelUnavailableError as error:
        logger.warning("reranking is off: %s", error)
        return None


def _open(settings: Settings, pool: ComputePool) -> Reranker:
    models = settings.data_dir / "models"
    name = settings.reranking.name
    if name == "cohere" and may_be_billed(settings):
        from rag.retrieval.cohere_reranker import CohereReranker

        return CohereReranker(settings.reranking)
    if name == "flashrank-tinybert-l2":
        from rag.retrieval.tinybert_reranker import TinyBertReranker

        tinybert = TinyBertReranker(pool, models, settings.reranking)
        tinybert.load()
        return tinybert
    reranker = FlashRankReranker(pool, models)
    reranker.load()
    return reranker


def may_be_billed(settings: Settings) -> bool:
    """Whether visitors' questions may be sent to Cohere; a refusal is logged."""
    host = hosting_platform(os.environ, settings.serving.host)
    if host is None or settings.reranking.allow_paid_on_host:
        return True
    reason = (
        f"This app runs on {host} and Cohere bills each search, so passages are reranked by the "
        "local model; set RAG_RERANKING__ALLOW_PAID_ON_HOST=true to let visitors' questions be "
        "billed."
    )
    if os.environ.get("STRICT_HOSTING", "").strip() == "1":
        raise ProviderError(reason, provider="cohere", kind="configuration")
    logger.warning("%s", reason)
    return False
