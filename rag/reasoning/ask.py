"""Ask: what one call sends, and the ways to ask for a reply of a given shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ask:
    """What one call sends: rules, data, and the shape of the reply if it has one.

    ``schema`` is a JSON Schema object named ``shape``; ``plain`` asks for it by words only.
    """

    model: str
    rules: str
    data: str
    max_tokens: int
    effort: str | None = None
    shape: str = ""
    schema: dict[str, Any] | None = None
    plain: bool = False

    @property
    def size(self) -> int:
        """Length of the prompt in characters."""
        return len(self.rules) + len(self.data)

    @property
    def messages(self) -> list[tuple[str, str]]:
        """The prompt as LangChain takes it."""
        return [("system", self.rules), ("human", self.data)]

    def form(self, features: frozenset[str]) -> str:
        """How the shape of the reply is asked for: ``json_schema`` before ``tools``, as far as
        ``features`` holds them; "" when by words only."""
        if self.schema is None or self.plain:
            return ""
        return next((form for form in ("json_schema", "tools") if form in features), "")

    def form_body(self, form: str) -> dict[str, Any]:
        """What the body of the request carries for ``form``. Sent as it is: the client libraries'
        own way of asking for a shape validates replies and raises on unusual ones."""
        if form == "json_schema":
            inner = {"name": self.shape, "schema": self.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": inner}}
        if form == "tools":
            function = {"name": self.shape, "parameters": self.schema}
            return {
                "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": self.shape}},
            }
        return {}
