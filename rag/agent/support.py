"""Support: does a passage say what a sentence claims? Local means only, no language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.indexing.sentences import sentence_spans
from rag.results import Support
from rag.retrieval.terms import terms

Rarity = Callable[[str], float]
# Share of a claim's weighted terms that the supporting window must hold; see docs/decisions.md.
SUPPORTED_SHARE = 0.60
PARTLY_SHARE = 0.35
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_SMALL_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
_WORDS_FOR_NUMBERS = {word: str(value) for value, word in enumerate(_SMALL_NUMBERS.split())}
_NAME = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z0-9]|[A-Z]+\d)[\w-]{2,}\b")


@dataclass(frozen=True)
class Window:
    """The part of a passage that supports a claim best: offsets, and the share of it found."""

    passage: int
    start: int
    end: int
    share: float


@dataclass(frozen=True)
class Judgement:
    """The verdict about one sentence, with a plain reason when it is not supported."""

    support: Support
    reason: str
    windows: tuple[Window, ...]


def judge_claim(claim: str, passages: Sequence[str], rarity: Rarity) -> Judgement:
    """Check a claim against the passages that it cites.

    Numbers and names of the claim must occur in a cited passage; the rest is judged by the share
    of the claim's terms, weighted by rarity, that one window of a passage (a sentence with its
    neighbours) holds.
    """
    wanted = {term: rarity(term) + 0.1 for term in set(terms(claim))}
    if not wanted or not passages:
        return Judgement("none", "it cites no passage", ())
    windows = [window for n, text in enumerate(passages) for window in best_window(n, text, wanted)]
    if not windows:
        return Judgement("not", "the cited passage does not speak of this", ())
    whole = " ".join(passages)
    absent = missing_numbers(claim, whole)
    if absent:
        return Judgement("not", f"{absent[0]} is not in the cited passage", tuple(windows))
    strange = missing_names(claim, whole)
    if strange:
        return Judgement("partly", f"{strange[0]} is not in the cited passage", tuple(windows))
    share = max(window.share for window in windows)
    if share >= SUPPORTED_SHARE:
        return Judgement("supported", "", tuple(windows))
    if share >= PARTLY_SHARE:
        return Judgement("partly", "the cited passage says only part of this", tuple(windows))
    return Judgement("not", "the cited passage does not say this", tuple(windows))


def best_window(passage: int, text: str, wanted: dict[str, float]) -> list[Window]:
    """The sentence of a passage that holds most of the wanted terms, judged with its neighbours;
    empty when it holds none."""
    spans = sentence_spans(text)
    if not spans:
        return []
    held = [wanted.keys() & set(terms(text[start:end])) for start, end in spans]
    total = sum(wanted.values())

    def weight(found: set[str]) -> float:
        return sum(wanted[term] for term in found)

    def around(place: int) -> float:
        near = set().union(*held[max(0, place - 1) : place + 2])
        return weight(near)

    best = max(range(len(spans)), key=lambda place: (weight(held[place]), around(place), -place))
    if not held[best]:
        return []
    return [Window(passage, *spans[best], around(best) / total)]


def numbers_in(text: str) -> set[str]:
    """The numbers of a text in one spelling: thousands marks gone, small words as digits."""
    found = {match.replace(",", "").rstrip(".") for match in _NUMBER.findall(text)}
    found |= {
        _WORDS_FOR_NUMBERS[word]
        for word in re.findall(r"[a-z]+", text.casefold())
        if word in _WORDS_FOR_NUMBERS
    }
    return found


def missing_numbers(claim: str, passage: str) -> list[str]:
    """Digits of the claim that no number of the passage equals."""
    held = numbers_in(passage)
    digits = [match.replace(",", "").rstrip(".") for match in _NUMBER.findall(claim)]
    return [number for number in digits if number not in held]


def missing_names(claim: str, passage: str) -> list[str]:
    """Names with inner capitals or digits (LoRA, BERT, GPT-4) that the passage does not hold."""
    folded = set(terms(passage))
    strange: list[str] = []
    for name in _NAME.findall(claim):
        parts = terms(name)
        forms = {form for part in parts for form in (part, f"{part}s", part.removesuffix("s"))}
        if parts and not forms & folded:
            strange.append(name)
    return strange
