"""Named papers: a question may call a paper by a name that its text never spells ("T5")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


def names_spelled(text: str, names: Sequence[str]) -> list[str]:
    """The names that a text spells as whole words, whatever their case."""
    return [name for name in names if _pattern(name).search(text)]


def text_for_query(query: str, names: Sequence[str], text: str) -> str:
    """A text of a paper as the reranker reads it: behind the name that the query calls the paper
    by, unless the text spells it itself."""
    called = [name for name in names_spelled(query, names) if not names_spelled(text, [name])]
    return f"{called[0]}: {text}" if called else text


@lru_cache(maxsize=4096)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}s?(?![\w-])", re.IGNORECASE)
