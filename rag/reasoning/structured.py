"""Structured replies: the ladder from JSON schema over function calling to JSON by words, and the
verdict that a grader's reply stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from rag.errors import ProviderError
from rag.reasoning.ask import Ask
from rag.reasoning.calls import Upstream
from rag.reasoning.fitting import Passages
from rag.reasoning.parsing import GradeReply, parse_reply
from rag.reasoning.protocol import InformationCheck, Turn

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

Model = TypeVar("Model", bound=BaseModel)

#: Room for the JSON of one step, in tokens.
STRUCTURED_TOKENS = 1200

#: The reason of a verdict that no model gave.
UNREADABLE_VERDICT = "The model's verdict could not be read; decided by the reranker's scores."

_NO_ELEMENT = frozenset({"none", "n/a", "na", "nothing", "-", "null"})
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


def check_of(reply: GradeReply, evidence: Passages) -> InformationCheck:
    """The verdict of ``reply`` on ``evidence``. "Sufficient" although no passage helps contradicts
    itself; the strict reading counts."""
    numbers = [item.n for item in evidence]
    helping = {verdict.n for verdict in reply.passages if verdict.helps}
    relevant = tuple(n for n in numbers if n in helping)
    sufficient = reply.sufficient
    if not reply.passages:
        relevant = tuple(numbers)
    elif not relevant:
        sufficient = False
    missing = tuple(item for item in reply.missing_elements if item.lower() not in _NO_ELEMENT)
    return InformationCheck(sufficient, missing, relevant, " ".join(reply.reason.split())[:300])


def check_by_scores(evidence: Passages, floor: float) -> InformationCheck:
    """The verdict when no reply could be read: is the best reranker score at least ``floor``?"""
    best = max((item.score for item in evidence if item.score is not None), default=None)
    return InformationCheck(
        sufficient=best is not None and best >= floor,
        missing_elements=(),
        relevant=tuple(item.n for item in evidence),
        reason=UNREADABLE_VERDICT,
    )
