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

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from rag.indexing.sentences import sentence_spans
from rag.results import Support
from rag.retrieval.terms import fold, stem, terms

Rarity = Callable[[str], float]
Weights = dict[str, float]
# Share of a claim's weighted words that the supporting window must hold; see docs/decisions.md.
SUPPORTED_SHARE = 0.50
PARTLY_SHARE = 0.30
# A sentence speaks of the same thing as the best one from this share of what that one holds.
SAME_SUBJECT = 0.6
# Another part of the sentence must fit this much better before a number or name is misplaced.
MISPLACED = 1.25
# ... and hold this share of the claim's other words.
OUT_SHARE = 0.3
# With more figures than this a "sentence" is a table, in which commas part nothing.
PROSE_FIGURES = 6
# A shared number counts as a rare word does.
NUMBER_WEIGHT = 4.0
# Words of a claim's other clauses, when one clause looks for its sentence.
OTHER_CLAUSES = 0.3
# Tokens within which a comparison's second side stands, and what a negation denies.
COMPARED_WITHIN = 8
DENIED_WITHIN = 4

# What a paper cites or numbers is no figure that a claim could mean.
_PAPER_MARKS = re.compile(
    r"\[\d+(?:\s*[,;–-]\s*\d+)*\]|\[[^\[\]]{0,80}(?:19|20)\d\d[a-z]?\]"
    r"|\(\d{1,2}\)|\([^()]{0,200},\s(?:19|20)\d\d[a-z]?\)"
    r"|\b(?:[Tt]able|[Ff]igure|[Ff]ig\.|[Ss]ection|[Ss]ec\.|[Aa]ppendix|[Ee]quation|[Ee]q\.)"
    r"\s+\(?[A-Z]?\d+(?:\.\d+)*\)?|\((?:19|20)\d\d[a-z]?\)"
)
_TOKEN = re.compile(
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
_CAPITAL = re.compile(r"[A-Z][a-z]+(?:['’]s)?")
_PART = re.compile(r"[^\W_]+")
_LONGEST_NAME = 6  # parts of "Qwen2.5-Math-1.5B" and one more
_CLAUSE = re.compile(r";\s|,?\s(?:whereas|while|which|but|against)\s|,\s(?:and|or)\s", re.I)
_AND = re.compile(r",?\sand\s", re.I)
_PIECE = re.compile(r"[,;]\s+|\s(?:and|while|whereas|but|vs\.?)\s", re.I)

_NEGATION = re.compile(
    r"(?:not|no|never|without|neither|nor|cannot|fail(?:s|ed)?|lack(?:s|ed)?|bypass(?:es|ed)?|omit(?:s|ted)?|\w+n['’]t)"
)


def _words_of(line: str) -> frozenset[str]:
    return frozenset(line.split())


_DIRECTIONS = {
    **dict.fromkeys(
        _words_of(
            "better outperform outperforms outperformed beat beats surpass surpasses superior "
            "exceed exceeds ahead higher more larger greater faster bigger stronger"
        ),
        1,
    ),
    **dict.fromkeys(_words_of("worse behind inferior lower fewer less smaller slower weaker"), -1),
}
# Sides that exclude each other, as words.
_OPPOSITES = tuple(
    (_words_of(one), _words_of(other))
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
_PREPOSITIONS = _words_of("on by with from to for using than over in of")
# Also of a citation: "was described in 1971" cites nothing.
_YEAR = re.compile(r"\b(?:19|20)\d\d(?=[a-z]?\b)")
_LIST_MARK = re.compile(r"\s\(\d\)(?=\s)")
_ASIDE = re.compile(r"\([^()]*\)")


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
        _absent(said, whole)
        or _misplaced(claim, said, whole, wanted)
        or _denied(said, whole, wanted)
    )
    if fault:
        return Judgement("not", fault, windows)
    share = max(window.share for window in windows)
    if share >= SUPPORTED_SHARE and _doubtful(said, whole, wanted):
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
    first = _TOKEN.search(claim)
    if not first or not said or said[0].kind != "word" or not _CAPITAL.fullmatch(first.group()):
        return said
    key = _name_key(first.group())
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


# --- Check 1: everything named occurs -------------------------------------------------------


def missing_numbers(claim: str, passage: str) -> list[str]:
    """The numbers of the claim, as it writes them, that no number of the passage equals."""
    held = _keys(read_sentences(passage))
    return [
        item.text
        for item in read_tokens(claim)
        if item.kind == "number" and not _number_held(item, held)
    ]


def missing_names(claim: str, passage: str) -> list[str]:
    """The names of the claim that the passage does not hold in any spelling."""
    said, held = read_tokens(claim), _keys(read_sentences(passage))
    return [
        item.text
        for place, item in enumerate(said)
        if item.kind == "name" and not _name_held(said, place, held)
    ]


def numbers_in(text: str) -> set[str]:
    """The numbers of a text in one spelling: thousands marks gone, words and scales as digits."""
    return {key.removeprefix("#") for key in _keys(read_sentences(text)) if key.startswith("#")}


def _keys(sentences: Iterable[Sentence]) -> frozenset[str]:
    return frozenset().union(*(sentence.keys for sentence in sentences))


def _absent(said: Sequence[Token], whole: Sequence[Sentence]) -> str:
    held = _keys(whole)
    for place, item in enumerate(said):
        if (item.kind == "number" and not _number_held(item, held)) or (
            item.kind == "name" and not _name_held(said, place, held)
        ):
            return f"{item.text} is not in the cited passage"
    return ""


def _number_held(item: Token, held: frozenset[str]) -> bool:
    """Whether the number occurs; "2.45M" also as the "2.45" of a table in millions."""
    if item.key in held:
        return True
    bare = re.match(r"\d+\.\d+(?=[kKMBT])", item.text)
    return bare is not None and _number_key(float(bare.group())) in held


def _name_held(said: Sequence[Token], place: int, held: frozenset[str]) -> bool:
    """Whether a name occurs: as a whole, joined with a neighbour ("Hotpot QA"), in its parts, or,
    written as an ordinary word, by its stem."""
    item = said[place]
    if item.key in held or item.key.removesuffix("s") in held:
        return True
    before = said[place - 1].key if place else ""
    after = said[place + 1].key if place + 1 < len(said) else ""
    if (before and before + item.key in held) or (after and item.key + after in held):
        return True
    parts = _PART.findall(fold(item.text))
    if len(parts) > 1 and not any(char.isdigit() for char in item.key):
        return all(part in held or _stem(part) in held for part in parts if len(part) > 1)
    return bool(_CAPITAL.fullmatch(item.text)) and _stem(item.key) in held


# --- Check 2: numbers and names stand in their place ----------------------------------------


def _misplaced(
    claim: str, said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights
) -> str:
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
            held = held | _keys(whole[max(0, place - 1) : place + 2])
        absent = [item.text for item in numbers.values() if not _number_held(item, held)]
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
        if item.kind == "name" and not _name_held(said, place, home.keys)
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


# --- Check 3: the passage does not say the opposite -----------------------------------------


def _denied(said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights) -> str:
    home = max(whole, key=lambda sentence: sentence.held(wanted))
    mine, theirs = _relations(said), _relations(home.tokens)
    for pair, directions in mine.items():
        if pair in theirs and not directions & theirs[pair]:
            return "the cited passage has this comparison the other way round"
    piece = max(read_pieces(home), key=lambda item: item.held(wanted), default=home)
    if not (mine and theirs) and _opposite(said, piece.tokens):
        return "the cited passage says the opposite"
    return ""


def _doubtful(said: Sequence[Token], whole: Sequence[Sentence], wanted: Weights) -> bool:
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


# --- Reading ---------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text in order; what a paper cites or numbers is left out."""
    text = _PAPER_MARKS.sub(" ", text)
    starts = {start for start, _ in sentence_spans(text)}
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        scaled = bool(found) and found[-1].kind == "number" and "/" not in found[-1].key
        if scaled and fold(word) in _SCALES:
            number = found.pop()
            value = float(number.key[1:]) * _SCALES[fold(word)]
            found.append(Token("number", _number_key(value), f"{number.text} {word}"))
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
            Token("number", _number_key(value * _SCALE_LETTERS[number["scale"].casefold()]), word)
        ]
    if low in _NO_FIGURES:
        return [Token("stop", "", word)]
    if low in _NUMBER_WORDS:
        return [Token("number", _number_key(_NUMBER_WORDS[low]), word)]
    counted = _COUNTED.fullmatch(word)
    if counted and (counted[1].isdigit() or counted[1] in _NUMBER_WORDS):
        return _read_word(counted[1], opens=False) + _words(counted[2])
    if _NAME.match(word) or (not opens and _CAPITAL.fullmatch(word)):
        return [Token("name", _name_key(word), word)]
    return _words(word)


def _words(text: str) -> list[Token]:
    return [Token("word", _stem(term), term) for term in terms(text)] or [Token("stop", "", text)]


def _number_key(value: float) -> str:
    return f"#{value:.10g}"


def _name_key(name: str) -> str:
    whole = re.sub(r"['’]s$|(?<=[A-Z])s$", "", name)
    return "".join(_PART.findall(fold(whole)))


def _stem(term: str) -> str:
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
    parts = _PART.findall(fold(_PAPER_MARKS.sub(" ", text)))
    joined = {
        "".join(parts[place : place + length])
        for place in range(len(parts))
        for length in range(1, _LONGEST_NAME + 1)
    }
    words = {_stem(term) for term in terms(text)}
    singular = {name.removesuffix("s") for name in joined if len(name) > 3}
    years = {f"#{year}" for year in _YEAR.findall(text)}
    keys = {item.key for item in tokens if item.key} | joined | years | singular | words
    return Sentence(start, start + len(text), text, tokens, frozenset(keys))
