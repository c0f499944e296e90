"""What the scripted model server says: replies, requests as seen, defaults."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STEP_MARKS = {
    "# Planner": "plan",
    "# Grader": "grade",
    "# Reformulator": "reformulate",
    "# Writer": "write",
}
_PASSAGE = re.compile(r'<passage n="(\d+)"')


@dataclass(frozen=True)
class Reply:
    """One answer of the stub.

    ``text`` None is a null content. ``error`` is the ``error`` object of a reply with ``status``.
    ``body`` replaces the whole JSON of a reply that is not streamed, ``chunks`` the streamed ones.
    ``tokens_per_second`` paces a stream; ``die_after`` cuts the connection after so many tokens.
    """

    text: str | None = ""
    status: int = 200
    error: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    chunks: Sequence[Any] | None = None
    delay: float = 0.0
    tokens_per_second: float | None = None
    die_after: int | None = None
    finish_reason: str = "stop"
    usage: bool = True
    tool_arguments: str | None = None


Script = Reply | str | Sequence[Reply | str] | Callable[["Seen"], Reply | str]


@dataclass
class Seen:
    """A request as it arrived, and what became of its answer."""

    step: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    tokens_sent: int = 0
    client_closed: bool = False
    closed_at: float | None = None
    started_at: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(str(message.get("content")) for message in self.body["messages"])

    @property
    def passages(self) -> list[int]:
        """Numbers of the passages in the prompt."""
        return [int(number) for number in _PASSAGE.findall(self.prompt)]

    @property
    def streaming(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.body.get("stream"))

    @property
    def form(self) -> str:
        """How a structured reply was asked for: json_schema, tools or plain."""
        if "response_format" in self.body:
            return "json_schema"
        return "tools" if "tools" in self.body else "plain"


def error_reply(status: int, message: str, code: str = "", **more: Any) -> Reply:
    """A refusal in OpenAI's shape; ``headers`` and ``param`` may be given."""
    headers = more.pop("headers", {})
    return Reply(
        status=status,
        headers=headers,
        error={"message": message, "code": code or None, "type": "stub", **more},
    )


def default_reply(seen: Seen) -> str:
    """What a well-behaved model would say."""
    found = re.findall(r"<question>\n(.*?)\n</question>", seen.prompt, re.DOTALL)
    question = found[-1] if found else "question"
    if seen.step == "plan":
        return json.dumps({"question": question, "sub_queries": [question], "is_compound": False})
    if seen.step == "grade":
        verdicts = [{"n": n, "helps": True} for n in seen.passages]
        return json.dumps(
            {"passages": verdicts, "missing_elements": [], "sufficient": True, "reason": "Enough."}
        )
    if seen.step == "reformulate":
        return json.dumps({"sub_queries": [f"background of {question}"]})
    numbers = seen.passages or [1]
    return " ".join(f"Passage {n} reports a finding [{n}]." for n in numbers[:2])


def step_of(body: Mapping[str, Any]) -> str:
    """Which step a request belongs to, by schema name or by the head line of its prompt."""
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    if schema.get("name"):
        return str(schema["name"])
    for tool in body.get("tools") or []:
        return str(tool["function"]["name"])
    first = str((body.get("messages") or [{}])[0].get("content"))
    return next((step for mark, step in STEP_MARKS.items() if first.startswith(mark)), "other")
