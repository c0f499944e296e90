"""What a call costs: listed, reported, free, or unknown and never zero."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from stub_llm import Reply

from rag.reasoning.prices import CHECKED_ON, PRICES, Use, charged_amount, cost_of, price_of
from rag.reasoning.protocol import CallMeter
from rag.reasoning.providers import known_providers

from .llm_bench import Make, Start, answer, passages, turn_of

TABLE = known_providers()
MILLION = Use(1_000_000, 1_000_000)


def test_the_list_is_dated_and_knows_the_default_models() -> None:
    assert date(2026, 1, 1) < CHECKED_ON <= date.today()
    assert sum(len(models) for models in PRICES.values()) >= 12
    assert set(PRICES) <= set(TABLE)
    for models in PRICES.values():
        assert all(0 < price.input < price.output < 100 for price in models.values())
    for name in ("openai", "anthropic", "groq"):
        assert price_of(TABLE[name], TABLE[name].default_model) is not None


@pytest.mark.parametrize(
    ("provider", "model", "usd"),
    [
        ("openai", "gpt-5.6-luna", 1.40),
        ("openai", "GPT-5.6-Luna-2026-07-09", 1.40),
        ("anthropic", "claude-haiku-4-5-20251001", 6.0),
        ("openai", "gpt-5.6-luna-turbo", None),
        ("openai", "claude-haiku-4-5", None),
        ("huggingface", "openai/gpt-oss-20b", None),
        ("openrouter", "openai/gpt-5.6-luna", None),
        ("openrouter", "meta/llama:free", 0.0),
        ("groq", "meta/llama:free", None),
        ("compatible", "default", None),
        ("ollama", "llama3.2", 0.0),
    ],
)
def test_cost_of_a_call(provider: str, model: str, usd: float | None) -> None:
    assert cost_of(TABLE[provider], model, MILLION) == pytest.approx(usd)


def test_only_openrouter_is_believed_about_its_price() -> None:
    use = Use(10, 10, 0.25)
    assert cost_of(TABLE["openrouter"], "any/model", use) == 0.25
    assert cost_of(TABLE["compatible"], "any/model", use) is None


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        ({"cost": 0.5}, 0.5),
        ({"cost": 0}, 0.0),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": True}, None),
        ({"cost": "0.5"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_reported_cost_is_a_number(usage: object, amount: float | None) -> None:
    assert charged_amount(usage) == amount


def test_a_question_adds_up(stub_llm: Start, make: Make) -> None:
    reasoner = make(stub_llm(), {"OPENAI_API_KEY": "k"}, provider="openai")
    turn = turn_of()
    plan = reasoner.plan(turn)
    reasoner.grade(turn, plan, passages(2))
    answer(reasoner, turn, passages(2))
    meter = turn.meter
    assert meter.input_tokens > 300 and meter.output_tokens > 10
    assert meter.cost_usd == pytest.approx(
        (meter.input_tokens * 0.20 + meter.output_tokens * 1.20) / 1e6
    )


def test_small_and_big_model_have_their_own_price(stub_llm: Start, make: Make) -> None:
    options = {"provider": "openai", "model": "gpt-6-sol", "small_model": "gpt-6-luna"}
    reasoner = make(stub_llm(), {"OPENAI_API_KEY": "k"}, **options)
    planning, writing = turn_of(), turn_of()
    reasoner.plan(planning)
    answer(reasoner, writing, passages(1))
    for meter, low, high in ((planning.meter, 0.10, 0.50), (writing.meter, 2.0, 10.0)):
        cost = (meter.input_tokens * low + meter.output_tokens * high) / 1e6
        assert meter.cost_usd == pytest.approx(cost)


def test_one_unknown_call_makes_the_sum_unknown(stub_llm: Start, make: Make) -> None:
    options = {"provider": "openai", "model": "brand-new", "small_model": "gpt-6-luna"}
    reasoner, turn = make(stub_llm(), {"OPENAI_API_KEY": "k"}, **options), turn_of()
    reasoner.plan(turn)
    assert turn.meter.cost_usd is not None
    answer(reasoner, turn, passages(1))
    assert turn.meter.cost_usd is None
    reasoner.plan(turn)
    assert turn.meter.cost_usd is None


def usage(cost: float) -> dict[str, Any]:
    return {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "cost": cost}


def test_openrouters_own_sum_is_taken(stub_llm: Start, make: Make) -> None:
    """Whole replies and streams, also when usage comes with more than one chunk."""
    message = {"role": "assistant", "content": '{"sub_queries": ["a"]}'}
    whole = {"id": "x", "choices": [{"index": 0, "message": message}], "usage": usage(0.25)}
    chunks = [
        {"id": "x", "choices": [{"index": 0, "delta": {"content": "Hi"}}], "usage": usage(0.1)},
        {"id": "x", "choices": [{"index": 0, "delta": {}}], "usage": usage(0.5)},
    ]
    stub = stub_llm({"plan": Reply(body=whole), "write": Reply(chunks=chunks)})
    turn = turn_of()
    reasoner = make(stub, {"OPENROUTER_API_KEY": "k"}, provider="openrouter")
    reasoner.plan(turn)
    assert answer(reasoner, turn, passages(1)) == "Hi"
    assert turn.meter == CallMeter(10, 2, 14, 6, pytest.approx(0.75))
