"""ClaimPlaces: do the numbers and names stand where the passage speaks of the same thing?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rag.agent.claim_occurrence import holds_name, holds_number, keys_of
from rag.agent.claim_opposites import words_of
from rag.agent.claim_reading import Sentence, Token, Weights, read_pieces, read_tokens

# A sentence speaks of the same thing as the best one from this share of what that one holds.
SAME_SUBJECT = 0.6
# Another part of the sentence must fit this much better before a number or name is misplaced.
MISPLACED = 1.25
# ... and hold this share of the claim's other words.
OUT_SHARE = 0.3
# With more figures than this a "sentence" is a table, in which commas part nothing.
PROSE_FIGURES = 6
# Words of a claim's other clauses, when one clause looks for its sentence.
OTHER_CLAUSES = 0.3
_CLAUSE = re.compile(r";\s|,?\s(?:whereas|while|which|but|against)\s|,\s(?:and|or)\s", re.I)
_AND = re.compile(r",?\sand\s", re.I)
_PREPOSITIONS = words_of("on by with from to for using than over in of")


def misplaced_part(
    claim: str, said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights
) -> str:
    """A number or name that stands elsewhere in the passage than the claim says; "" without one."""
    names = {item.key for item in said if item.kind == "name"}
    for clause in _clauses(claim):
        part = read_tokens(clause)
        own = {item.key for item in part}
        weights = {
            key: weight * (1 if key in own else OTHER_CLAUSES) for key, weight in wanted.items()
        }
        numbers = {item.key: item for item in part if item.kind == "number"}
        lost = _number_elsewhere(numbers, whole, weights)
        if lost:
            return f"{lost} is not what the cited passage says of this"
        near = max(whole, key=lambda sentence: sentence.held(weights))
        other = _better_placed(part, near, weights, names)
        if other:
            return f"the cited passage says this not of {other}"
    home = max(whole, key=lambda sentence: sentence.held(wanted))
    name = _name_replaced(said, home, wanted)
    if name:
        return f"the cited passage says this not of {name}"
    pair = _crossed(claim, home, wanted)
    return f"{pair} are the other way round in the cited passage" if pair else ""


def _clauses(claim: str) -> list[str]:
    """The clauses of a claim; "and" parts two of them when each has a number."""
    found: list[str] = []
    for clause in _CLAUSE.split(claim):
        parts = _AND.split(clause)
        counted = all(any(item.kind == "number" for item in read_tokens(part)) for part in parts)
        found += parts if counted else [clause]
    return found


def _number_elsewhere(
    numbers: dict[str, Token], whole: Sequence[Sentence], weights: Weights
) -> str:
    """A number that no sentence about the same thing holds together with the others.

    The sentence before or after counts too where that one has no such figure of its own.
    """
    if not numbers:
        return ""
    subject = {key: weight for key, weight in weights.items() if key not in numbers}
    best = max(sentence.held(subject) for sentence in whole)
    missed: list[str] = []
    for place, sentence in enumerate(whole):
        if sentence.held(subject) < SAME_SUBJECT * best:
            continue
        held = sentence.keys
        rivals = sentence.others("number", weights)
        if not any(_same_form(item, rival) for item in numbers.values() for rival in rivals):
            held = held | keys_of(whole[max(0, place - 1) : place + 2])
        absent = [item.text for item in numbers.values() if not holds_number(item, held)]
        if not absent:
            return ""
        missed += absent
    return missed[0] if missed else ""


def _name_replaced(said: Sequence[Token], home: Sentence, wanted: Weights) -> str:
    """A name that the sentence lacks while it has another one in its place: behind the same
    preposition, or before all that both say. A name spelled out there ("Natural Questions" for
    "NQ") is no other one."""
    lost = [
        item
        for place, item in enumerate(said)
        if item.kind == "name" and not holds_name(said, place, home.keys)
    ]
    if not lost:
        return ""
    slots = {
        _preposition(home.tokens, place)
        for place, item in enumerate(home.tokens)
        if item.kind == "name" and item.key not in wanted
    }
    for place, item in enumerate(said):
        if item in lost and _preposition(said, place) in slots - {""}:
            return item.text
    opening: list[Token] = []
    for item in home.tokens:
        if item.kind != "stop" and item.key in wanted:
            break
        opening.append(item)
    names = [item for item in opening if item.kind == "name"]
    initials = "".join(item.key[0] for item in names)
    pairs = {initials[place : place + 2] for place in range(len(initials) - 1)}
    return next(
        (item.text for item in lost if names and not any(pair in item.key for pair in pairs)), ""
    )


def _preposition(tokens: Sequence[Token], place: int) -> str:
    """The preposition right before a name, an article between them left out."""
    before = [item.text.casefold() for item in tokens[max(0, place - 2) : place]]
    if before and before[-1] in ("the", "a", "an"):
        before.pop()
    return before[-1] if before and before[-1] in _PREPOSITIONS else ""


def _better_placed(part: Sequence[Token], home: Sentence, weights: Weights, names: set[str]) -> str:
    """A number or name whose piece of the sentence fits the claim clearly worse than a piece with
    another one in its place."""
    if _is_table(home) or "respectively" in home.keys:
        return ""
    pieces = read_pieces(home)
    for place, item in enumerate(part):
        if item.kind not in ("number", "name") or item.key not in home.keys:
            continue
        beside = {
            other.key for other in part[max(0, place - 1) : place + 2] if other.kind == "name"
        }
        rest = {
            key: weight for key, weight in weights.items() if key != item.key and key not in beside
        }
        mine = theirs = 0.0
        for here, piece in enumerate(pieces):
            rivals = [
                other for other in piece.others(item.kind, weights) if _same_form(item, other)
            ]
            keys = piece.keys
            before = pieces[here - 1] if here else piece
            if not any(_same_form(item, other) for other in before.others(item.kind, weights)):
                keys = keys | before.keys
            fit = sum(weight for key, weight in rest.items() if key in keys)
            if item.key in piece.keys:
                mine = max(mine, fit)
            elif rivals and not (item.kind == "name" and names & piece.keys):
                theirs = max(theirs, fit)
        if theirs > MISPLACED * mine and theirs > OUT_SHARE * sum(rest.values()):
            return item.text
    return ""


def _is_table(sentence: Sentence) -> bool:
    return sum(item.kind == "number" for item in sentence.tokens) > PROSE_FIGURES


def _same_form(one: Token, other: Token) -> bool:
    """Whether two numbers could stand for each other: per cents, decimals, whole numbers."""
    if one.kind == "name":
        return True
    return other.text[0].isdigit() and [m in one.text for m in "%.e"] == [
        m in other.text for m in "%.e"
    ]


def _crossed(claim: str, home: Sentence, wanted: Weights) -> str:
    """Two numbers that go with the words of each other: "A has 1 and B has 2" where the sentence
    has A before B but 2 before 1."""
    if _is_table(home):
        return ""
    figures = {item.key for item in read_tokens(claim) if item.kind == "number"}
    at = [place for place, item in enumerate(home.tokens) if item.key in figures]
    places: dict[str, int] = {}
    # Of a word that comes twice, the place nearest to one of the numbers counts.
    for place in sorted(
        range(len(home.tokens)),
        key=lambda here: min((abs(here - there) for there in at), default=0),
    ):
        places.setdefault(home.tokens[place].key, place)
    parts = [
        [item for item in read_tokens(clause) if item.key in places] for clause in _clauses(claim)
    ]
    named = all(any(item.kind == "name" for item in part) for part in parts)
    marks: list[tuple[int, int, str]] = []
    for part in parts:
        numbers = [item for item in part if item.kind == "number"]
        # A subject that only one clause names is the subject of both.
        words = [item for item in part if item.kind == "word" or (named and item.kind == "name")]
        if len(numbers) == 1 and words:
            word = max(words, key=lambda item: wanted.get(item.key, 0))
            marks.append((places[word.key], places[numbers[0].key], numbers[0].text))
    for first, second in pairwise(marks):
        if (first[0] - second[0]) * (first[1] - second[1]) < 0:
            return f"{first[2]} and {second[2]}"
    return ""
