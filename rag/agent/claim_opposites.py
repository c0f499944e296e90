"""ClaimOpposites: does the passage say the opposite, by a comparison, an antonym or a negation?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.agent.claim_reading import Sentence, Token, Weights, read_pieces, read_tokens
from rag.retrieval.terms import fold

# Tokens within which a comparison's second side stands, and what a negation denies.
COMPARED_WITHIN = 8
DENIED_WITHIN = 4
_NEGATION = re.compile(
    r"(?:not|no|never|without|neither|nor|cannot|fail(?:s|ed)?|lack(?:s|ed)?|bypass(?:es|ed)?|omit(?:s|ted)?|\w+n['’]t)"
)


def words_of(line: str) -> frozenset[str]:
    """A line of words as a set."""
    return frozenset(line.split())


_DIRECTIONS = {
    **dict.fromkeys(
        words_of(
            "better outperform outperforms outperformed beat beats surpass surpasses superior "
            "exceed exceeds ahead higher more larger greater faster bigger stronger"
        ),
        1,
    ),
    **dict.fromkeys(words_of("worse behind inferior lower fewer less smaller slower weaker"), -1),
}
# Sides that exclude each other, as words.
_OPPOSITES = tuple(
    (words_of(one), words_of(other))
    for one, other in (
        (
            "more higher larger greater huge hugely large longer",
            "less fewer lower smaller small slightly shorter",
        ),
        (
            "increase increases increased grow grows rise rises",
            "decrease decreases decreased drop drops shrink shrinks",
        ),
        (
            "better improve improves improved outperforms beats superior best",
            "worse hurt hurts degrade degrades degradation inferior worst",
        ),
        ("easy easier simple simpler", "hard harder difficult"),
        ("helpful beneficial helps useful", "harmful detrimental hurts"),
        ("faster", "slower"),
        ("supervised supervision", "unsupervised"),
        ("same identical", "different distinct"),
        ("plenty abundant many", "rare few scarce nonexistent"),
        ("convolutional", "recurrent"),
        ("low-resource", "high-resource"),
    )
)
_ASIDE = re.compile(r"\([^()]*\)")


def opposite_said(said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights) -> str:
    """What the passage says the other way round; "" when nothing."""
    home = max(whole, key=lambda sentence: sentence.held(wanted))
    mine, theirs = _relations(said), _relations(home.tokens)
    for pair, directions in mine.items():
        if pair in theirs and not directions & theirs[pair]:
            return "the cited passage has this comparison the other way round"
    piece = max(read_pieces(home), key=lambda item: item.held(wanted), default=home)
    if not (mine and theirs) and _opposite(said, piece.tokens):
        return "the cited passage says the opposite"
    return ""


def negation_differs(said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights) -> bool:
    """Whether claim and passage differ in a negation; words like "without" make this no proof."""
    home = max(whole, key=lambda sentence: sentence.held(wanted))
    piece = max(read_pieces(home), key=lambda item: item.held(wanted), default=home)
    shared = frozenset(wanted)
    theirs = {
        _denials(home.tokens, shared),
        _denials(read_tokens(_ASIDE.sub(" ", piece.text)), shared),
    }
    return _denials(said, home.keys) not in theirs


def _relations(tokens: Sequence[Token]) -> dict[tuple[str, str], set[int]]:
    """Who is said to be more (1) or less (-1) than whom, by names around a comparison."""
    found: dict[tuple[str, str], set[int]] = {}
    for place, item in enumerate(tokens):
        direction = _DIRECTIONS.get(fold(item.text))
        if direction is None:
            continue
        before = [other.key for other in tokens[:place] if other.kind == "name"]
        ahead = tokens[place + 1 : place + 1 + COMPARED_WITHIN]
        second = next((other.key for other in ahead if other.kind == "name"), None)
        if second is not None:
            pairs = [(first, second) for first in before]
        else:  # "We tried PCA and OPQ, and OPQ is more effective"
            pairs = [(before[-1], other) for other in before[:-1] if _near_name(tokens[:place])]
        for one, other in pairs:
            if one != other:
                found.setdefault((one, other), set()).add(direction)
                found.setdefault((other, one), set()).add(-direction)
    return found


def _near_name(before: Sequence[Token]) -> bool:
    """Whether the last name is the subject here: no figure and no new clause since."""
    for item in reversed(before):
        if item.kind == "name":
            return True
        if item.kind == "number" or item.text in ("and", "but", "or", "while"):
            return False
    return False


def _denials(tokens: Sequence[Token], shared: frozenset[str]) -> bool:
    """Whether a negation stands right before something that both sides speak of."""
    return any(
        other.key in shared
        for place in _negations(tokens)
        for other in tokens[place + 1 : place + 1 + DENIED_WITHIN]
        if other.key
    )


def _negations(tokens: Sequence[Token]) -> list[int]:
    return [
        place
        for place, item in enumerate(tokens)
        if _NEGATION.fullmatch(fold(item.text))
        and not (place + 1 < len(tokens) and tokens[place + 1].text == "only")
    ]


def _opposite(said: Sequence[Token], home: Sequence[Token]) -> bool:
    """Whether the sentence has the opposite of a word of the claim in its place, undenied."""
    mine, theirs = _plain_words(said), _plain_words(home)
    for pair in _OPPOSITES:
        for one, other in (pair, pair[::-1]):
            if mine & one and not mine & other and theirs & other and not theirs & one:
                return True
    return False


def _plain_words(tokens: Sequence[Token]) -> set[str]:
    """The words that no negation stands before."""
    denied = {place + step for place in _negations(tokens) for step in range(DENIED_WITHIN + 1)}
    return {fold(item.text) for place, item in enumerate(tokens) if place not in denied}
