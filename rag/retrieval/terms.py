"""Terms: how text becomes the words that BM25 and coverage count."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

# A compound is a run of word parts held together by -, _, /, . or ', e.g. "k-NN", "3.11.4".
_COMPOUND = re.compile(r"[a-z]\+\+|[a-z]#(?![a-z0-9])|[^\W_]+(?:[-_/.'’‑–][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)+|\d+")
_PART = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

_STOP_WORDS = """
a about after all also an and any are as at be because been before being between both but by
can could did do does doing done during each etc for from further had has have having he her
here his how i if in into is it its itself just let me more most my no nor not of off on
once only or other our out over own per please same she should so some such than that the
their them then there these they this those through to too under until up upon us use used
uses using very via was we were what when where whether which while who whom whose why will
with within without would you your s t d ll m re ve explain tell describe
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def fold(text: str) -> str:
    """Lower case without accents; ligatures and superscripts keep their place."""
    decomposed = unicodedata.normalize("NFD", text.casefold())
    if decomposed.isascii():
        return decomposed
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def terms(text: str) -> list[str]:
    """The searchable terms of a text, in order, stop words left out.

    A compound gives its parts and, joined, the whole: "GPT-4" -> gpt4, gpt, 4; so "GPT4",
    "gpt-4" and "gpt 4" all meet. "c++" and "c#" are terms of their own; a lone letter is none.
    """
    found: list[str] = []
    for match in _COMPOUND.finditer(_THOUSANDS.sub("", fold(text))):
        found.extend(_terms_of(match.group()))
    return found


def _terms_of(word: str) -> list[str]:
    if word.endswith(("++", "#")):
        return [word]
    if _NUMBER.fullmatch(word):
        return [word]
    word = re.sub(r"['’]s$", "", word)
    parts = _PART.findall(word)
    kept = [part for part in parts if part not in STOP_WORDS and (len(part) > 1 or part.isdigit())]
    if len(parts) > 1:
        joined = "".join(parts)
        if joined not in STOP_WORDS and len(joined) > 1:
            return [joined, *kept]
    return kept


@lru_cache(maxsize=100_000)
def stem(term: str) -> str:
    """The Porter2 stem of a term ("training" -> "train"); words with digits stay as they are."""
    if not term.isalpha() or not term.isascii():
        return term
    return str(snowballstemmer.stemmer("english").stemWord(term))
