"""Support: does a passage say what a sentence claims? Local means only, no language model.

Four checks, each of which can only make the verdict worse:

1. The numbers and names of the claim occur in a cited passage.
2. They stand where the passage speaks of the same thing: a right number from the next row is a
   wrong number, and so is a right name where the passage names something else.
3. The passage does not say the opposite: a comparison the other way round or an antonym. A negation
   too many or too few makes it "partly" only: "without" and "nothing but" negate little.
4. The sentence that fits best holds, with its neighbours, enough of the claim's other words (stems
   weighted by rarity).

Words and thresholds were chosen on the tuning half of ``corpus/eval/claims.jsonl`` alone;
``python scripts/calibrate_verifier.py`` prints what they reach on both halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag.agent.claim_occurrence import absent_part, keys_of
from rag.agent.claim_opposites import negation_differs, opposite_said
from rag.agent.claim_places import misplaced_part
from rag.agent.claim_reading import (
    CAPITAL,
    TOKEN,
    Sentence,
    Token,
    Weights,
    name_key,
    read_sentences,
    read_tokens,
)
from rag.results import Support
from rag.retrieval.terms import terms

Rarity = Callable[[str], float]
# Share of a claim's weighted words that the supporting window must hold; see docs/decisions.md.
SUPPORTED_SHARE = 0.50
PARTLY_SHARE = 0.30
# A shared number counts as a rare word does.
NUMBER_WEIGHT = 4.0


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
    """Check a claim against the passages that it cites, by the four checks of this module."""
    read = [read_sentences(text) for text in passages]
    said = _with_opening_name(read_tokens(claim), claim, read)
    wanted = _weights(said, rarity)
    if not wanted or not passages:
        return Judgement("none", "it cites no passage", ())
    windows = tuple(
        window for n, part in enumerate(read) for window in _best_window(n, part, wanted)
    )
    if not windows:
        return Judgement("not", "the cited passage does not speak of this", ())
    whole = [sentence for part in read for sentence in part]
    fault = (
        absent_part(said, whole)
        or misplaced_part(claim, said, whole, wanted)
        or opposite_said(said, whole, wanted)
    )
    if fault:
        return Judgement("not", fault, windows)
    share = max(window.share for window in windows)
    if share >= SUPPORTED_SHARE and negation_differs(said, whole, wanted):
        return Judgement("partly", "one of the two denies what the other says", windows)
    if share >= SUPPORTED_SHARE:
        return Judgement("supported", "", windows)
    if share >= PARTLY_SHARE:
        return Judgement("partly", "the cited passage says only part of this", windows)
    return Judgement("not", "the cited passage does not say this", windows)


def _with_opening_name(
    said: tuple[Token, ...], claim: str, read: Sequence[Sequence[Sentence]]
) -> tuple[Token, ...]:
    """The claim's tokens, its first word as a name where a passage writes it as one."""
    first = TOKEN.search(claim)
    if not first or not said or said[0].kind != "word" or not CAPITAL.fullmatch(first.group()):
        return said
    key = name_key(first.group())
    names = {
        item.key for part in read for here in part for item in here.tokens if item.kind == "name"
    }
    return (Token("name", key, first.group()), *said[1:]) if key in names else said


def _weights(said: Iterable[Token], rarity: Rarity) -> Weights:
    wanted: Weights = {}
    for item in said:
        if item.kind == "number":
            wanted[item.key] = NUMBER_WEIGHT
        elif item.kind != "stop":
            forms = terms(item.text) or [item.text]
            wanted[item.key] = max(rarity(form) for form in forms) + 0.1
    return wanted


def _best_window(passage: int, part: Sequence[Sentence], wanted: Weights) -> Iterator[Window]:
    """The sentence that holds most of the claim, its share counted with its neighbours; none when
    it holds nothing."""
    if not part:
        return

    def around(place: int) -> float:
        near = frozenset().union(*(item.keys for item in part[max(0, place - 1) : place + 2]))
        return sum(weight for key, weight in wanted.items() if key in near)

    best = max(
        range(len(part)), key=lambda place: (part[place].held(wanted), around(place), -place)
    )
    if part[best].held(wanted):
        yield Window(passage, part[best].start, part[best].end, around(best) / sum(wanted.values()))


def numbers_in(text: str) -> set[str]:
    """The numbers of a text in one spelling: thousands marks gone, words and scales as digits."""
    return {key.removeprefix("#") for key in keys_of(read_sentences(text)) if key.startswith("#")}
