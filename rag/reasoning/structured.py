"""Structured replies: the ladder from JSON schema over function calling to JSON by words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from rag.errors import ProviderError
from rag.reasoning.ask import Ask
from rag.reasoning.calls import Upstream
from rag.reasoning.parsing import parse_reply
from rag.reasoning.protocol import Turn

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

Model = TypeVar("Model", bound=BaseModel)

#: Room for the JSON of one step, in tokens.
STRUCTURED_TOKENS = 1200

_REMINDER = (
    "Your last reply could not be read. Reply with exactly one JSON object as described in the "
    "rules, without any text before or after it."
)


def ask_structured(upstream: Upstream, turn: Turn, ask: Ask, shape: type[Model]) -> Model | None:
    """The reply to ``ask`` as ``shape``; None when it could not be read even after one repeat.

    The first try asks in the best way that the model takes (``Upstream`` steps down from JSON
    schema to function calling to words when a way is refused). The repeat asks by words, since a
    server may accept a schema and ignore it, and is left out when it would take the turn's last
    call, which the writer needs. Raises ``ProviderError`` when the provider fails.
    """
    ask = replace(ask, schema=strict_schema(shape))
    found = _read(upstream, turn, ask, shape)
    if found is None and upstream.calls_left(turn) > 1:
        repeat = replace(ask, plain=True, data=f"{ask.data}\n\n{_REMINDER}")
        found = _read(upstream, turn, repeat, shape)
    return found


def _read(upstream: Upstream, turn: Turn, ask: Ask, shape: type[Model]) -> Model | None:
    try:
        message = upstream.complete(turn, ask)
    except ProviderError as error:
        if error.kind == "empty":
            return None
        raise
    for candidate in _candidates(message):
        found = parse_reply(candidate, shape)
        if found is not None:
            return found
    return None


def _candidates(message: AIMessage) -> list[object]:
    calls: list[object] = [call["args"] for call in message.tool_calls]
    broken: list[object] = [call["args"] for call in message.invalid_tool_calls]
    return [*calls, *broken, message.content]


def strict_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of ``shape`` as strict modes want it: every field required, nothing else
    allowed, no defaults."""
    schema = shape.model_json_schema()
    _tighten(schema)
    return schema


def _tighten(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _tighten(item)
    if not isinstance(node, dict):
        return
    for unwanted in ("default", "title", "description"):
        if isinstance(node.get(unwanted), (str, bool, list, int)):
            del node[unwanted]
    properties = node.get("properties")
    if isinstance(properties, dict):
        node["required"] = list(properties)
        node["additionalProperties"] = False
    for value in node.values():
        _tighten(value)
