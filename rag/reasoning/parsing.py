"""Tolerant parsing: what a model replied, whatever it is, as a validated shape or None."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

#: Longer replies are cut before parsing: no step needs more, and a runaway reply costs time.
MAX_REPLY_CHARACTERS = 60_000

_MAX_OBJECTS = 40
_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
# Possessive, so that a long run without a closing fence is read once, not once per letter.
_FENCE = re.compile(r"```[\w-]*+(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_OPENING = r"\s*[\"'*_`(\[]*"
_NEGATIVE = re.compile(
    _OPENING + r"(?:(?:no|nope|false|none|insufficient|irrelevant"
    r"|(?:is\s+|are\s+)?not\s+(?:relevant|sufficient|enough|answered|at\s+all))\b"
    r"|(?:n|0)\W*\Z)",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    _OPENING + r"(?:(?:yes|yep|true)\b|(?:sufficient|relevant|enough)\s*(?=[.!,;]|\Z)"
    r"|(?:y|1)\W*\Z)",
    re.IGNORECASE,
)

Model = TypeVar("Model", bound=BaseModel)


def read_verdict(value: object) -> bool:
    """A yes or no however a model wrote it: true, 1, "yes", "Yes, partly", "NO - off topic".

    Raises ``ValueError`` for anything else; a sentence that merely contains such a word ("I think
    it is relevant") is not a verdict.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        if _NEGATIVE.match(value):
            return False
        if _POSITIVE.match(value):
            return True
    raise ValueError("neither yes nor no")


def _texts(value: object) -> object:
    """A list of short texts, also from one string, null, or objects with a text inside."""
    if value is None:
        return []
    if isinstance(value, str):
        value = [line for line in value.splitlines() if line.strip()]
    if not isinstance(value, list):
        return value
    found = []
    for item in value:
        if isinstance(item, dict):
            item = next((text for text in item.values() if isinstance(text, str)), "")
        if isinstance(item, str) and item.strip():
            found.append(" ".join(item.split()))
    return found


def _number(value: object) -> object:
    """The number of a passage, also from "[3]" or "passage 3"."""
    if isinstance(value, str):
        digits = re.search(r"\d{1,6}", value)
        return int(digits[0]) if digits else value
    return value


Verdict = Annotated[bool, BeforeValidator(read_verdict)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
PassageNumber = Annotated[int, BeforeValidator(_number)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class PlanReply(_Reply):
    """What the planner replies."""

    question: str = ""
    sub_queries: Texts
    is_compound: Verdict = False


class QueriesReply(_Reply):
    """What the reformulator replies."""

    sub_queries: Texts


class PassageVerdict(_Reply):
    """Whether one passage helps."""

    n: PassageNumber
    helps: Verdict


class GradeReply(_Reply):
    """What the grader replies. ``passages`` is empty when the model gave one verdict for all."""

    passages: list[PassageVerdict] = Field(default_factory=list)
    missing_elements: Texts = Field(default_factory=list)
    sufficient: Verdict
    reason: str = ""

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, data: Any) -> Any:
        """Small models often use another name for the verdict, or drop the list of passages."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if "sufficient" not in data:
            for name in (
                "context_sufficient",
                "is_sufficient",
                "relevant",
                "binary_score",
                "grade",
            ):
                if name in data:
                    data["sufficient"] = data[name]
                    break
        passages = data.get("passages")
        data["passages"] = (
            [item for item in passages if isinstance(item, dict) and {"n", "helps"} <= set(item)]
            if isinstance(passages, list)
            else []
        )
        if not isinstance(data.get("reason", ""), str):
            data["reason"] = ""
        return data


def parse_reply(reply: object, shape: type[Model]) -> Model | None:
    """``reply`` (text, content blocks, decoded JSON or None) as ``shape``, or None.

    Looks for JSON in code fences and in prose, after ``<think>`` blocks, forgives trailing commas
    and Python spelling. A grader's bare "No." or "Yes, partly" counts as its verdict. Never raises
    on what a model wrote.
    """
    if isinstance(reply, dict):
        found = _validated(reply, shape)
        if found is not None:
            return found
    text = _as_text(reply)
    if not text.strip():
        return None
    text = _strip_surrogates(without_thinking(text[:MAX_REPLY_CHARACTERS]))
    for candidate in _objects(text):
        found = _validated(candidate, shape)
        if found is not None:
            return found
    if "sufficient" in shape.model_fields and "{" not in text:
        return _validated({"sufficient": text.strip()}, shape)
    return None


def without_thinking(text: str) -> str:
    """``text`` without ``<think>`` blocks: closed ones, one that was never closed, and one whose
    opening tag was part of the prompt. A reply that starts with JSON or a fence has none; such a
    tag in there belongs to the content."""
    if text.lstrip().startswith(("{", "```")):
        return text
    kept: list[str] = []
    position, inside = 0, False
    for tag in _THINK_TAG.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            position, inside = tag.end(), False
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
    if not inside:
        kept.append(text[position:])
    return "".join(kept)


def _strip_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_text(reply: object) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, list):
        return "".join(_as_text(part) for part in reply if isinstance(part, (str, dict)))
    if isinstance(reply, dict):
        text = reply.get("text")
        return text if isinstance(text, str) else ""
    return ""


def _validated(value: object, shape: type[Model]) -> Model | None:
    try:
        return shape.model_validate(value)
    except (ValidationError, ValueError, TypeError, RecursionError):
        return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in ``text``: fenced ones first, then those in prose, outermost first."""
    for source in [*_FENCE.findall(text), text]:
        position, tries = 0, 0
        while tries < _MAX_OBJECTS:
            start = source.find("{", position)
            if start < 0:
                break
            tries += 1
            end = _closing(source, start)
            value = _decoded(source[start:end]) if end else None
            if isinstance(value, dict):
                yield value
                position = end
            else:
                position = start + 1


def _closing(text: str, start: int) -> int:
    """Index after the brace that closes the one at ``start``; 0 when none does."""
    depth, quoted, index = 0, False, start
    while index < len(text):
        letter = text[index]
        if quoted:
            if letter == "\\":
                index += 1
            elif letter == '"':
                quoted = False
        elif letter == '"':
            quoted = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1
    return 0


def _decoded(source: str) -> object:
    for candidate in (source, _TRAILING_COMMA.sub(r"\1", source)):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    try:
        # Python spelling ('single quotes', True, None). literal_eval builds plain data only.
        return ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
