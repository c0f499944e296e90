"""Upstream exceptions as typed errors with sentences of our own."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import httpx2
import openai
import pytest
from stub_llm import Reply, StubLlm, error_reply

from rag.errors import ProviderError
from rag.reasoning.failures import (
    SENTENCES,
    WithheldError,
    kind_of,
    refused_feature,
    retry_after,
)
from rag.reasoning.llm import make_llm_reasoner
from rag.reasoning.protocol import CallMeter, CancelToken, InformationCheck, QueryPlan, Turn
from rag.sections import ReasoningSettings
from rag.settings import Settings

CANARY = "sk-test-AAAABBBBCCCC1234"


def status_error(status: int, message: str = "", **fields: object) -> openai.APIStatusError:
    request = httpx2.Request("POST", "https://host/v1/chat/completions")
    response = httpx2.Response(status, request=request, headers=fields.pop("headers", None))
    return openai.APIStatusError(message, response=response, body={"message": message, **fields})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (status_error(401, "Incorrect API key provided"), "auth"),
        (status_error(401, "bad", code="mismatched_organization"), "organisation"),
        (status_error(403, "model not allowed"), "auth"),
        (status_error(402, "Insufficient credits"), "quota"),
        (status_error(429, "x", code="insufficient_quota"), "quota"),
        (status_error(429, "x", code="rate_limit_exceeded"), "rate"),
        (status_error(400, "x", code="context_length_exceeded"), "context_length"),
        (status_error(400, "the request exceeds the available context size"), "context_length"),
        (status_error(413, "Request too large for model"), "context_length"),
        (status_error(400, "x", code="content_filter"), "content_filter"),
        (status_error(404, "no such model"), "bad_request"),
        (status_error(400, "what?"), "bad_request"),
        (status_error(408, "slow"), "timeout"),
        (status_error(503, "down"), "server"),
        (status_error(529, "overloaded"), "server"),
        (openai.APITimeoutError(request=httpx2.Request("POST", "https://h")), "timeout"),
        (openai.APIConnectionError(request=httpx2.Request("POST", "https://h")), "connection"),
        (ValueError({"message": "no money", "code": 402}), "quota"),
        (TypeError("null value for 'choices'"), "empty"),
        (IndexError(), "empty"),
        (RuntimeError("?"), "server"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind


def test_a_withheld_error_is_judged_by_its_original_and_tells_nothing_of_it() -> None:
    """C63: what tracers record."""
    busy = status_error(429, CANARY, headers={"retry-after": "2"})
    refusal = status_error(400, "temperature unsupported value")
    assert kind_of(WithheldError(busy)) == "rate"
    assert retry_after(WithheldError(busy)) == 2
    assert refused_feature(WithheldError(refusal), frozenset({"temperature"})) == "temperature"
    assert kind_of(WithheldError(TypeError("choices"))) == "empty"
    assert kind_of(WithheldError(ValueError({"message": CANARY, "code": 402}))) == "quota"
    told = "".join(traceback.format_exception(WithheldError(busy))) + repr(WithheldError(busy))
    assert CANARY not in told and "APIStatusError" in told


def test_sentences_are_plain_and_complete() -> None:
    for sentence in SENTENCES.values():
        assert sentence.endswith(".") and sentence.count("{") <= 1
        assert "/" not in sentence and "error" not in sentence.lower()


@pytest.mark.parametrize(
    ("error", "sent", "feature"),
    [
        (
            status_error(400, "response_format json_schema unsupported"),
            {"json_schema"},
            "json_schema",
        ),
        (status_error(400, "temperature unsupported value"), {"temperature"}, "temperature"),
        (status_error(400, "x", param="tool_choice"), {"tools"}, "tools"),
        (status_error(404, "No endpoints found that support tool use"), {"tools"}, "tools"),
        (status_error(400, "Unknown parameter: reasoning_effort"), {"effort"}, "effort"),
        (status_error(400, "temperature unsupported value"), {"json_schema"}, None),
        (status_error(400, "invalid model"), {"json_schema", "tools", "temperature"}, None),
        (status_error(401, "tool_choice unsupported"), {"tools"}, None),
        (status_error(400, "maximum context length; max_tokens invalid"), {"max_tokens"}, None),
        (status_error(500, "oops"), {"json_schema"}, None),
    ],
)
def test_refused_features(error: Exception, sent: set[str], feature: str | None) -> None:
    """C57: only what was sent and is named counts; other 400s do not."""
    assert refused_feature(error, frozenset(sent)) == feature


def test_small_servers_may_crash_on_a_schema() -> None:
    """C57"""
    error = status_error(500, "Internal")
    assert (
        refused_feature(error, frozenset({"json_schema"}), schema_may_crash=True) == "json_schema"
    )
    assert refused_feature(error, frozenset({"tools"}), schema_may_crash=True) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """C65"""
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert retry_after(status_error(429, headers=headers), now=now) == seconds
    assert retry_after(ValueError(), now=now) is None


LEAKY = f"Incorrect API key provided: {CANARY} at https://u:pw@host/v1 in /home/app/secret.py"


REFUSALS = [
    (error_reply(401, LEAKY, "invalid_api_key"), "auth"),
    (error_reply(401, LEAKY, "mismatched_organization"), "organisation"),
    (error_reply(429, LEAKY, "insufficient_quota"), "quota"),
    (error_reply(400, LEAKY), "bad_request"),
]


@pytest.mark.parametrize(
    ("step", "reply", "kind"),
    [
        *[(step, *case) for step in ("plan", "write") for case in REFUSALS],
        ("plan", Reply(body={"error": {"message": LEAKY, "code": 500}}), "server"),
        ("write", Reply(chunks=[{"error": {"message": LEAKY, "code": "server_error"}}]), "server"),
    ],
)
def test_nothing_of_upstream_reaches_the_error(
    step: str,
    reply: Reply,
    kind: str,
    stub_llm: Callable[..., StubLlm],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C63, C64: no key, no URL credentials, no path; not in message, log, trace or context."""
    caplog.set_level(logging.INFO)
    stub = stub_llm(lambda seen: reply)
    settings = ReasoningSettings(provider="openai", base_url=stub.base_url, max_retries=0)
    reasoner = make_llm_reasoner(Settings(reasoning=settings), {"OPENAI_API_KEY": CANARY})
    assert reasoner is not None
    turn = Turn("q?", (), CancelToken(), CallMeter(10))
    with reasoner, pytest.raises(ProviderError) as caught:
        if step == "plan":
            reasoner.plan(turn)
        else:
            check = InformationCheck(True, (), (), "")
            list(reasoner.write(turn, QueryPlan("q?", ("q?",)), check, ()))
    error = caught.value
    assert error.kind == kind
    assert error.__cause__ is None and error.__context__ is None
    told = "".join(traceback.format_exception(error)) + str(error) + repr(vars(error)) + caplog.text
    for secret in (CANARY, "sk-test", "AAAABBBB", "pw@", "secret.py", "Incorrect"):
        assert secret not in told
    assert len(stub.requests) == 1
    if kind == "organisation":
        assert "organisation" in str(error) and "API key rejected" not in str(error)
    if kind == "auth":
        assert "API key rejected" in str(error)
