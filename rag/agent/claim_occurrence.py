"""ClaimOccurrence: do the numbers and names of a claim occur in a passage at all?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag.agent.claim_reading import (
    CAPITAL,
    PART,
    Sentence,
    Token,
    number_key,
    read_sentences,
    read_tokens,
    token_stem,
)
from rag.retrieval.terms import fold


def missing_numbers(claim: str, passage: str) -> list[str]:
    """The numbers of the claim, as it writes them, that no number of the passage equals."""
    held = keys_of(read_sentences(passage))
    return [
        item.text
        for item in read_tokens(claim)
        if item.kind == "number" and not holds_number(item, held)
    ]


def missing_names(claim: str, passage: str) -> list[str]:
    """The names of the claim that the passage does not hold in any spelling."""
    said, held = read_tokens(claim), keys_of(read_sentences(passage))
    return [
        item.text
        for place, item in enumerate(said)
        if item.kind == "name" and not holds_name(said, place, held)
    ]


def keys_of(sentences: Iterable[Sentence]) -> frozenset[str]:
    """The keys of all tokens of some sentences."""
    return frozenset().union(*(sentence.keys for sentence in sentences))


def absent_part(said: Sequence[Token], whole: Sequence[Sentence]) -> str:
    """The first number or name of a claim that no sentence of a passage holds; "" without one."""
    held = keys_of(whole)
    for place, item in enumerate(said):
        if (item.kind == "number" and not holds_number(item, held)) or (
            item.kind == "name" and not holds_name(said, place, held)
        ):
            return f"{item.text} is not in the cited passage"
    return ""


def holds_number(item: Token, held: frozenset[str]) -> bool:
    """Whether the number occurs; "2.45M" also as the "2.45" of a table in millions."""
    if item.key in held:
        return True
    bare = re.match(r"\d+\.\d+(?=[kKMBT])", item.text)
    return bare is not None and number_key(float(bare.group())) in held


def holds_name(said: Sequence[Token], place: int, held: frozenset[str]) -> bool:
    """Whether a name occurs: as a whole, joined with a neighbour ("Hotpot QA"), in its parts, or,
    written as an ordinary word, by its stem."""
    item = said[place]
    if item.key in held or item.key.removesuffix("s") in held:
        return True
    before = said[place - 1].key if place else ""
    after = said[place + 1].key if place + 1 < len(said) else ""
    if (before and before + item.key in held) or (after and item.key + after in held):
        return True
    parts = PART.findall(fold(item.text))
    if len(parts) > 1 and not any(char.isdigit() for char in item.key):
        return all(part in held or token_stem(part) in held for part in parts if len(part) > 1)
    return bool(CAPITAL.fullmatch(item.text)) and token_stem(item.key) in held
