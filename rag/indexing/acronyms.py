"""Acronyms mined from the library: "retrieval-augmented generation (RAG)" -> rag."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_SHORT = re.compile(r" \(([A-Z][A-Za-z0-9-]{1,9}?)s?\)")
_WORDS_AT_END = re.compile(r"[\w’'-]+(?: [\w’'-]+)*$")
_REACH = 200  # characters looked back for the long form: keeps the search linear


def mine_acronyms(texts: Iterable[str], least: int = 2) -> dict[str, str]:
    """Short form (lower case) -> its most frequent long form (lower case), seen ``least`` times.

    A long form is accepted when the short form's letters start its words in order (Schwartz &
    Hearst 2003, in its strict form: each letter begins a word or a hyphenated part, small words
    may be passed over).
    """
    seen: dict[str, Counter[str]] = {}
    for text in texts:
        for match in _SHORT.finditer(text):
            before = _WORDS_AT_END.search(text[max(0, match.start() - _REACH) : match.start()])
            long_form = long_form_of(before.group(), match.group(1)) if before else None
            if long_form:
                seen.setdefault(match.group(1).casefold(), Counter())[long_form] += 1
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
