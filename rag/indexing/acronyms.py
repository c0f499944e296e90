"""Acronyms mined from the library: "retrieval-augmented generation (RAG)" -> rag."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_CANDIDATE = re.compile(r"((?:[\w’'-]+[ -]){1,8}?[\w’'-]+) \(([A-Z][A-Za-z0-9-]{1,9})s?\)")


def mine_acronyms(texts: Iterable[str], least: int = 2) -> dict[str, str]:
    """Short form (lower case) -> its most frequent long form (lower case), seen ``least`` times.

    A long form is accepted when the short form's letters start its words in order (Schwartz &
    Hearst 2003, in its strict form: each letter begins a word or a hyphenated part, small words
    may be passed over).
    """
    seen: dict[str, Counter[str]] = {}
    for text in texts:
        for match in _CANDIDATE.finditer(text):
            long_form = long_form_of(match.group(1), match.group(2))
            if long_form:
                seen.setdefault(match.group(2).casefold(), Counter())[long_form] += 1
    mined: dict[str, str] = {}
    for short, counts in sorted(seen.items()):
        form, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= least:
            mined[short] = form
    return mined


def long_form_of(words_before: str, short: str) -> str | None:
    """The end of ``words_before`` whose initials spell ``short``, or None."""
    letters = [char for char in short.casefold() if char.isalpha()]
    if len(letters) < 2 or sum(char.isupper() for char in short) < 2:
        return None
    words = words_before.split()
    for count in range(1, min(len(words), len(letters) + 2) + 1):
        tail = words[-count:]
        if _initials_match(tail, letters):
            return " ".join(tail).casefold()
    return None


def _initials_match(words: list[str], letters: list[str]) -> bool:
    parts = [part for word in words for part in re.split(r"[-’']", word.casefold()) if part]
    if not parts or not parts[0].startswith(letters[0]):
        return False
    small = {"of", "for", "and", "the", "in", "with", "to", "a", "on", "by", "from"}
    initials = [part[0] for part in parts]
    content = [part[0] for part in parts if part not in small]
    return letters in (initials, content)
