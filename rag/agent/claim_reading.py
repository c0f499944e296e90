"""ClaimReading: sentences as tokens with the keys by which numbers, names and words compare."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rag.indexing.sentences import sentence_spans
from rag.retrieval.terms import fold, stem, terms

Weights = dict[str, float]
# What a paper cites or numbers is no figure that a claim could mean.
_PAPER_MARKS = re.compile(
    r"\[\d+(?:\s*[,;–-]\s*\d+)*\]|\[[^\[\]]{0,80}(?:19|20)\d\d[a-z]?\]"
    r"|\(\d{1,2}\)|\([^()]{0,200},\s(?:19|20)\d\d[a-z]?\)"
    r"|\b(?:[Tt]able|[Ff]igure|[Ff]ig\.|[Ss]ection|[Ss]ec\.|[Aa]ppendix|[Ee]quation|[Ee]q\.)"
    r"\s+\(?[A-Z]?\d+(?:\.\d+)*\)?|\((?:19|20)\d\d[a-z]?\)"
)
TOKEN = re.compile(
    r"\d+(?:\.\d+)?e[-−]?\d+|\d+/\d+(?![\w/])|\d+(?:,\d{3})*(?:\.\d+)?\s?%"
    r"|\d+(?:,\d{3})+(?:\.\d+)?[kKMBT]?|[^\W_]+(?:[-‐‑–/.'’+_@][^\W_]+)*"
)
_NUMBER = re.compile(
    r"(?P<value>\d+(?:,\d{3})*(?:\.\d+)?(?:e[-−]?\d+)?)\s?(?P<scale>[kKMBT]?)(?P<unit>%|[xX×]|[A-Za-z]{0,2})"
)
_FRACTION = re.compile(r"\d+/\d+")
_COUNTED = re.compile(r"(\d+|[a-z]+)-([a-z].*)")
_SMALL = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: float(value) for value, word in enumerate(_SMALL.split())} | {
    "twice": 2.0,
    "thrice": 3.0,
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "fifty": 50.0,
}
# "One of them" and "zero-shot" are no figures.
_NO_FIGURES = frozenset({"one", "zero"})
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE_LETTERS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
# Inner capitals, or letters with digits: LoRA, BERT, GPT-4, word2vec.
_NAME = re.compile(r"(?=.*[A-Z].*[A-Z]|.*[a-z][A-Z]|.*[A-Za-z].*\d|.*\d.*[A-Za-z])")
CAPITAL = re.compile(r"[A-Z][a-z]+(?:['’]s)?")
PART = re.compile(r"[^\W_]+")
_LONGEST_NAME = 6  # parts of "Qwen2.5-Math-1.5B" and one more
_PIECE = re.compile(r"[,;]\s+|\s(?:and|while|whereas|but|vs\.?)\s", re.I)
# Also of a citation: "was described in 1971" cites nothing.
_YEAR = re.compile(r"\b(?:19|20)\d\d(?=[a-z]?\b)")
_LIST_MARK = re.compile(r"\s\(\d\)(?=\s)")


@dataclass(frozen=True)
class Token:
    """A word, number or name. Equal keys mean the same: the stem of a word, the value of a number,
    the letters and digits of a name; a stop word has none."""

    kind: Literal["word", "number", "name", "stop"]
    key: str
    text: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of a passage, or a piece of one: its offsets, its text and what it holds."""

    start: int
    end: int
    text: str
    tokens: tuple[Token, ...]
    keys: frozenset[str]

    def held(self, weights: Weights) -> float:
        """The weight of what it shares with a claim."""
        return sum(weight for key, weight in weights.items() if key in self.keys)

    def others(self, kind: str, weights: Weights) -> list[Token]:
        """Its numbers or names that the claim does not have."""
        return [item for item in self.tokens if item.kind == kind and item.key not in weights]


@lru_cache(maxsize=4096)
def read_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text in order; what a paper cites or numbers is left out."""
    text = _PAPER_MARKS.sub(" ", text)
    starts = {start for start, _ in sentence_spans(text)}
    found: list[Token] = []
    for match in TOKEN.finditer(text):
        word = match.group()
        scaled = bool(found) and found[-1].kind == "number" and "/" not in found[-1].key
        if scaled and fold(word) in _SCALES:
            number = found.pop()
            value = float(number.key[1:]) * _SCALES[fold(word)]
            found.append(Token("number", number_key(value), f"{number.text} {word}"))
        else:
            found += _read_word(word, opens=match.start() in starts)
    return tuple(found)


def _read_word(word: str, *, opens: bool) -> list[Token]:
    low = fold(word)
    if _FRACTION.fullmatch(word):
        return [Token("number", f"#{word}", word)]
    number = _NUMBER.fullmatch(word)
    if number and number["unit"].casefold() not in ("d", "st", "nd", "rd", "th"):
        value = float(number["value"].replace(",", "").replace("−", "-"))
        return [
            Token("number", number_key(value * _SCALE_LETTERS[number["scale"].casefold()]), word)
        ]
    if low in _NO_FIGURES:
        return [Token("stop", "", word)]
    if low in _NUMBER_WORDS:
        return [Token("number", number_key(_NUMBER_WORDS[low]), word)]
    counted = _COUNTED.fullmatch(word)
    if counted and (counted[1].isdigit() or counted[1] in _NUMBER_WORDS):
        return _read_word(counted[1], opens=False) + _words(counted[2])
    if _NAME.match(word) or (not opens and CAPITAL.fullmatch(word)):
        return [Token("name", name_key(word), word)]
    return _words(word)


def _words(text: str) -> list[Token]:
    return [Token("word", token_stem(term), term) for term in terms(text)] or [
        Token("stop", "", text)
    ]


def number_key(value: float) -> str:
    """The key by which numbers compare: equal values have equal keys."""
    return f"#{value:.10g}"


def name_key(name: str) -> str:
    """The key by which names compare: letters and digits without case."""
    whole = re.sub(r"['’]s$|(?<=[A-Z])s$", "", name)
    return "".join(PART.findall(fold(whole)))


def token_stem(term: str) -> str:
    """The stem, in American spelling."""
    term = re.sub(r"is(e|es|ed|ing|er|ation|ations)$", r"iz\1", term)
    return stem(
        re.sub(r"ll(ing|ed)$", r"l\1", term).replace("our", "or") if len(term) > 6 else term
    )


@lru_cache(maxsize=256)
def read_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a passage."""
    return tuple(_sentence(text[start:end], start) for start, end in sentence_spans(text))


def read_pieces(sentence: Sentence) -> list[Sentence]:
    """The parts of a sentence between commas, brackets and conjunctions."""
    text = _PAPER_MARKS.sub(" ", _LIST_MARK.sub(", ", sentence.text))
    return [_sentence(piece, 0) for piece in _PIECE.split(text) if piece.strip()]


def _sentence(text: str, start: int) -> Sentence:
    tokens = read_tokens(text)
    parts = PART.findall(fold(_PAPER_MARKS.sub(" ", text)))
    joined = {
        "".join(parts[place : place + length])
        for place in range(len(parts))
        for length in range(1, _LONGEST_NAME + 1)
    }
    words = {token_stem(term) for term in terms(text)}
    singular = {name.removesuffix("s") for name in joined if len(name) > 3}
    years = {f"#{year}" for year in _YEAR.findall(text)}
    keys = {item.key for item in tokens if item.key} | joined | years | singular | words
    return Sentence(start, start + len(text), text, tokens, frozenset(keys))
