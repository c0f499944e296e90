"""History: earlier exchanges of one session, kept short and shown closed."""

from __future__ import annotations

from collections.abc import Sequence

from rag.results import Result, TurnRecord
from rag.ui.escape import shorten, text

_REMEMBERED = frozenset({"answer", "partial", "refusal", "catalogue"})
_REMEMBERED_CHARACTERS = 2000


def remember(history: list[TurnRecord], result: Result | None, turns: int) -> list[TurnRecord]:
    """The conversation with this exchange, the oldest forgotten."""
    if result is None or result.route not in _REMEMBERED or result.error is not None or turns < 1:
        return history
    turn = TurnRecord(question=result.question, answer=result.answer[:_REMEMBERED_CHARACTERS])
    return [*history, turn][-turns:]


def render_history(history: Sequence[TurnRecord]) -> str:
    """Earlier exchanges, closed, so that a follow-up knows what it follows."""
    if not history:
        return ""
    items = "".join(
        f"<li><b>{text(shorten(turn.question, 200))}</b><br>{text(shorten(turn.answer, 240))}</li>"
        for turn in history
    )
    last = text(shorten(history[-1].question, 90))
    return (
        '<details class="history" data-key="history"><summary>A follow-up may refer to '
        f"“{last}”</summary><ol>{items}</ol></details>"
    )
