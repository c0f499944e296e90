"""Prices: what well-known models cost, and what a call adds to the bill of a question.

A price list is always a little out of date, so it has a date, and a model that is not on it costs
an unknown amount (None), never zero. Discounts (cached input, batches) are not counted: the sum is
an upper estimate. OpenRouter reports what it charged, and that is taken instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from rag.reasoning.protocol import CallMeter
from rag.reasoning.providers import Provider

#: When the sources below were read.
CHECKED_ON = date(2026, 11, 6)

# Rough size of a token, for servers that report no usage: some estimate beats counting nothing.
_CHARACTERS_PER_TOKEN = 4
_DATED = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


class Price(NamedTuple):
    """USD for a million tokens."""

    input: float
    output: float


class Use(NamedTuple):
    """Tokens of one call, and what the provider says that it charged, if it says so."""

    input_tokens: int
    output_tokens: int
    charged_usd: float | None = None


# developers.openai.com/api/docs/pricing; platform.claude.com/docs, models; console.groq.com/docs.
# For prompts below 100,000 tokens: ours are far below.
PRICES: Mapping[str, Mapping[str, Price]] = {
    "openai": {
        "gpt-6-sol": Price(2.00, 10.00),
        "gpt-6-luna": Price(0.10, 0.50),
        "gpt-5.6-sol": Price(4.00, 20.00),
        "gpt-5.6-terra": Price(2.00, 12.00),
        "gpt-5.6-luna": Price(0.20, 1.20),
        "gpt-5.4-mini": Price(0.75, 4.50),
        "gpt-4.1-mini": Price(0.40, 1.60),
        "gpt-4o-mini": Price(0.15, 0.60),
    },
    "anthropic": {
        "claude-opus-5-5": Price(4.00, 20.00),
        "claude-sonnet-5-5": Price(2.00, 10.00),
        "claude-sonnet-5": Price(2.00, 10.00),
        "claude-haiku-5-5": Price(0.10, 0.50),
        "claude-haiku-4-5": Price(1.00, 5.00),
    },
    "groq": {
        "openai/gpt-oss-20b": Price(0.075, 0.30),
        "openai/gpt-oss-120b": Price(0.15, 0.60),
    },
}


def price_of(provider: Provider, model: str) -> Price | None:
    """The price of ``model`` at ``provider``; zero on this machine and for OpenRouter's free
    models, None when it is not known."""
    if provider.billing == "local":
        return Price(0.0, 0.0)
    name = _DATED.sub("", model.strip().lower())
    if provider.routes_models and name.endswith(":free"):
        return Price(0.0, 0.0)
    return PRICES.get(provider.name, {}).get(name)


def cost_of(provider: Provider, model: str, use: Use) -> float | None:
    """USD of one call; what the provider says that it charged wins over the list. None when
    neither is known."""
    if provider.routes_models and use.charged_usd is not None:
        return use.charged_usd
    price = price_of(provider, model)
    if price is None:
        return None
    return (use.input_tokens * price.input + use.output_tokens * price.output) / 1e6


def add_to_meter(meter: CallMeter, provider: Provider, model: str, use: Use) -> None:
    """Count ``use``. One call of unknown cost makes that of the whole question unknown."""
    meter.input_tokens += use.input_tokens
    meter.output_tokens += use.output_tokens
    cost = cost_of(provider, model, use)
    if meter.cost_usd is None or cost is None:
        meter.cost_usd = None
    else:
        meter.cost_usd += cost


def estimated_use(sent_characters: int, received_characters: int) -> Use:
    """The tokens of a call whose server reports none."""
    return Use(
        sent_characters // _CHARACTERS_PER_TOKEN,
        -(-received_characters // _CHARACTERS_PER_TOKEN),
    )


def charged_amount(usage: object) -> float | None:
    """The USD that a reply's own ``usage`` object names as its cost; None without one."""
    value = usage.get("cost") if isinstance(usage, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None
