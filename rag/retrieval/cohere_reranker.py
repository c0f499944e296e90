"""Cohere's hosted reranker: the question and the passages leave this machine, and it is billed."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from pydantic import SecretStr

from rag.errors import ModelUnavailableError
from rag.retrieval.outside import BrokenReplyError, blocks_of, usable_address
from rag.retrieval.reranker import unfitted_calibration
from rag.sections import RerankingSettings
from rag.settings import secret_from_environment

KEY_VARIABLE = "COHERE_API_KEY"
MOST_REPLY_BYTES = 2_000_000
DEFAULT_WAIT = 1.0
_REFUSALS = {
    401: f"refused the key in {KEY_VARIABLE}",
    402: "says that the account has no credit left",
    403: f"refused the key in {KEY_VARIABLE}",
    404: "does not know the model in RAG_RERANKING__COHERE_MODEL",
    429: "asks for fewer calls",
}
# Not fitted: that needs a key. Cohere's scores spread less than a cross-encoder's, hence the
# larger weight. To fit it: python scripts/calibrate.py --index DIR --reranker cohere
COHERE_CALIBRATION = unfitted_calibration(0.1)


class CohereReranker:
    """Cohere's rerank API, version 2; one request for all passages of one query.

    Raises ``ModelUnavailableError`` with one sentence, never with the key or anything of the
    answer: when made, for a missing or unusable key or address; by ``score``, when the service
    refuses, fails, is too slow, or says nothing usable. All requests of one call share the time.
    """

    calibration = COHERE_CALIBRATION

    def __init__(self, settings: RerankingSettings) -> None:
        self.name = f"cohere {settings.cohere_model}"
        self._model = settings.cohere_model
        self._seconds = settings.cohere_timeout_seconds
        self._url = settings.cohere_url.strip().rstrip("/") + "/v2/rerank"
        if not usable_address(self._url):
            raise ModelUnavailableError(
                "The address of Cohere is not https or not usable (RAG_RERANKING__COHERE_URL)."
            )
        self._key = _key_from_environment()

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores in 0..1, in the order of the pairs; 0 for a blank passage, which is not sent, and
        for one that the answer leaves out."""
        rows: dict[str, list[int]] = {}
        for row, (query, passage) in enumerate(pairs):
            if passage.strip():
                rows.setdefault(query, []).append(row)
        scores = [0.0] * len(pairs)
        if not rows:
            return scores
        until = time.monotonic() + self._seconds
        with httpx.Client(follow_redirects=False) as client:
            for query, places in rows.items():
                found = self._ask(client, query, [pairs[row][1] for row in places], until)
                for index, score in found.items():
                    scores[places[index]] = score
        return scores

    def _ask(
        self, client: httpx.Client, query: str, passages: list[str], until: float
    ) -> dict[int, float]:
        """The scores of the passages by their index; one more try when asked to wait."""
        body = json.dumps({"model": self._model, "query": query, "documents": passages})
        status, headers, content = self._send(client, body, until)
        if status == 429:
            wait = seconds_to_wait(headers)
            if time.monotonic() + wait >= until:
                raise _failed(_REFUSALS[429])
            time.sleep(wait)
            status, _, content = self._send(client, body, until)
        if status != 200:
            raise _failed(_REFUSALS.get(status, f"failed (HTTP {status})"))
        return scores_in(content, len(passages))

    def _send(
        self, client: httpx.Client, body: str, until: float
    ) -> tuple[int, httpx.Headers, bytes]:
        rest = until - time.monotonic()
        if rest <= 0:
            raise _failed("took too long")
        headers = {
            "Authorization": f"Bearer {self._key.get_secret_value()}",
            "Content-Type": "application/json",
        }
        try:
            with client.stream(
                "POST", self._url, content=body, headers=headers, timeout=rest
            ) as response:
                content = b"".join(blocks_of(response, until, MOST_REPLY_BYTES))
        except httpx.TimeoutException:
            raise _failed("took too long") from None
        except BrokenReplyError as error:
            raise _failed(f"gave no usable answer: {error}") from None
        except httpx.HTTPError:
            raise _failed("could not be reached or broke off") from None
        return response.status_code, response.headers, content


def scores_in(content: bytes, passages: int) -> dict[int, float]:
    """The usable scores of an answer by index; raises ``ModelUnavailableError`` for none at all,
    since scores of 0 throughout would mean that the library is not about the question."""
    try:
        reply: Any = json.loads(content)
    except (ValueError, RecursionError):
        reply = None
    results = reply.get("results") if isinstance(reply, dict) else None
    scores: dict[int, float] = {}
    for item in results if isinstance(results, list) else ():
        index = item.get("index") if isinstance(item, dict) else None
        if type(index) is int and 0 <= index < passages and index not in scores:
            score = _number(item.get("relevance_score"))
            if score is not None:
                scores[index] = score
    if not scores:
        raise _failed("gave an answer without scores")
    return scores


def _number(value: object) -> float | None:
    """A score held within 0..1; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(min(max(value, 0), 1))


def seconds_to_wait(headers: httpx.Headers) -> float:
    """What ``Retry-After`` asks for, in seconds or as a date; a second when it says nothing."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_WAIT
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _key_from_environment() -> SecretStr:
    key = secret_from_environment(KEY_VARIABLE)
    if key is None:
        raise ModelUnavailableError(
            f"The reranker cohere needs {KEY_VARIABLE}; set it, or set RAG_RERANKING__NAME to "
            "flashrank-minilm-l12."
        )
    if not re.fullmatch(r"[\x21-\x7e]+", key.get_secret_value()):
        # The HTTP library would fail with the key in its message.
        raise ModelUnavailableError(
            f"{KEY_VARIABLE} holds characters that no key has; copy the key again."
        )
    return key


def _failed(what: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"The reranking service Cohere {what}.")
