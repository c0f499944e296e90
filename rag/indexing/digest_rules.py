"""Rules of a digest: its length, its parts, no number and no wording that is not its own to use.

A digest reports on a paper in this project's own words. Two things are checked against the
paper's text: every number of the digest occurs there, and no run of eight words is shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from rag.indexing.digests import SECTION_NAMES, Digest
from rag.text_cleaning import clean_text

LEAST_WORDS, MOST_WORDS = 180, 300
SHARED_RUN = 8
LEAST_SEARCH_TERMS = 4

_FIGURE = re.compile(
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+)"
    r"(?:[\s\-]*(?P<scale>thousand|million|billion|trillion)\b|(?P<letter>[KMBT])(?![A-Za-z]))?",
    re.IGNORECASE,
)
_SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 10**3,
    "m": 10**6,
    "b": 10**9,
    "t": 10**12,
}
_UNIT_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TEN_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS)}
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS, start=2)}
_MULTIPLES = {"twice": 2, "thrice": 3, "dozen": 12}
_NUMBER_WORD = re.compile(
    rf"(?<![\w])(?:{'|'.join([*_TENS, *_UNITS, *_MULTIPLES, *list(_SCALES)[:5]])})(?![\w])",
    re.IGNORECASE,
)
_SCALE_WORDS = "hundred|thousand|million|billion|trillion"
# Two words of one number: "forty-two", "two hundred", "hundred and five"; not "two and three".
_ONE_NUMBER = re.compile(
    rf"(?:{'|'.join(_TENS)})[\s\-]+(?:{'|'.join(_UNIT_WORDS[1:10])})"
    rf"|\w+[\s\-]+(?:{_SCALE_WORDS})|(?:{_SCALE_WORDS})[\s\-]+\w+"
    r"|(?:hundred|thousand)\s+and\s+\w+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SourceText:
    """What a digest is checked against.

    ``text`` is the paper's PDF text or its abstract. ``page_count`` is 0 where no PDF was at
    hand, and then the digest may name no page.
    """

    text: str
    page_count: int = 0


def digest_faults(digest: Digest, source: SourceText) -> list[str]:
    """What is wrong with a digest, one sentence each; empty when nothing is."""
    return [
        *shape_faults(digest),
        *page_faults(digest, source.page_count),
        *number_faults(digest, source.text),
        *wording_faults(digest, source.text),
    ]


def shape_faults(digest: Digest) -> Iterator[str]:
    """Length, parts and search terms."""
    count = sum(len(paragraph.text.split()) for paragraph in digest.paragraphs)
    if not LEAST_WORDS <= count <= MOST_WORDS:
        yield f"{count} words, not {LEAST_WORDS} to {MOST_WORDS}"
    kinds = [paragraph.kind for paragraph in digest.paragraphs]
    if kinds != list(SECTION_NAMES):
        yield f"its parts are {', '.join(kinds)}, not {', '.join(SECTION_NAMES)}"
    if len(set(map(str.casefold, digest.search_terms))) < LEAST_SEARCH_TERMS:
        yield f"fewer than {LEAST_SEARCH_TERMS} search terms"


def page_faults(digest: Digest, page_count: int) -> Iterator[str]:
    """Pages that the paper does not have, and pages given without a PDF."""
    for paragraph in digest.paragraphs:
        if paragraph.pages and not page_count:
            yield f"{paragraph.kind} names pages, and there is no PDF to check them"
        elif any(not 1 <= page <= page_count for page in paragraph.pages):
            yield f"{paragraph.kind} names a page outside 1 to {page_count}"


def number_faults(digest: Digest, source: str) -> Iterator[str]:
    """Numbers of the digest that its source does not hold; 1,000 = 1000 = one thousand."""
    found = [*numbers_in(source), *numbers_in(digest.title)]
    values = {number.value for number in found}
    mantissas = {number.mantissa for number in found}
    scales = scales_named_in(source)
    texts = [paragraph.text for paragraph in digest.paragraphs]
    for number in numbers_in("\n".join([*texts, *digest.search_terms])):
        if number.scale == 1:
            held = number.value in values | mantissas
        else:
            # A table gives its scale once, in its heading: "Million parameters", then "4.2".
            bare = {other.value for other in found if other.scale == 1}
            held = number.value in values or (number.mantissa in bare and number.scale in scales)
        # "one" is a pronoun far more often than a count.
        if not held and number.written.casefold() != "one":
            yield f"the number {number.written!r} is not in its source"


def scales_named_in(text: str) -> set[int]:
    """The scales that a text names by themselves, in words or as a heading's "(M)"."""
    words = re.findall(r"\b(thousand|million|billion|trillion)s?\b", text, re.IGNORECASE)
    letters = re.findall(r"[(\[#]\s*([KMBT])\b", text)
    return {_SCALES[word.casefold()] for word in [*words, *letters]}


@dataclass(frozen=True)
class Number:
    """A number as written, without its scale word (175 of "175B"), and the scale (10⁹)."""

    written: str
    mantissa: Decimal
    scale: int = 1

    @property
    def value(self) -> Decimal:
        """The number with its scale."""
        return self.mantissa * self.scale


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers of a text, in figures (also inside names, such as GPT-3) and in words."""
    for match in _FIGURE.finditer(text):
        mantissa = Decimal(match["digits"].replace(",", ""))
        named = (match["scale"] or match["letter"] or "").casefold()
        yield Number(match.group().strip(), mantissa, _SCALES.get(named, 1))
    yield from _numbers_in_words(text)


def _numbers_in_words(text: str) -> Iterator[Number]:
    matches = list(_NUMBER_WORD.finditer(text))
    place = 0
    while place < len(matches):
        end = place + 1
        while end < len(matches) and _ONE_NUMBER.fullmatch(
            text[matches[end - 1].start() : matches[end].end()]
        ):
            end += 1
        value = _value_of_words([match.group().casefold() for match in matches[place:end]])
        if value is not None:
            written = text[matches[place].start() : matches[end - 1].end()]
            yield Number(written, Decimal(value))
        place = end


def _value_of_words(words: list[str]) -> int | None:
    """ "twenty five" -> 25, "two hundred thousand" -> 200000; None for scale words alone, which
    are no number by themselves ("thousands", "a million", "1.5 million" read elsewhere)."""
    if all(word in _SCALES for word in words):
        return None
    total = current = 0
    for word in words:
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0
        else:
            current += _UNITS.get(word, 0) + _TENS.get(word, 0) + _MULTIPLES.get(word, 0)
    return total + current


def wording_faults(digest: Digest, source: str) -> Iterator[str]:
    """Runs of eight words that the digest shares with its source; the title's own are exempt.

    Words are compared without what separates them, so that neither a hyphen at a line's end nor
    "Hugging Face" for "HuggingFace" hides a run.
    """
    taken, exempt = "".join(words_of(source)), "".join(words_of(digest.title))
    for paragraph in digest.paragraphs:
        words = words_of(paragraph.text)
        place = 0
        while place + SHARED_RUN <= len(words):
            run = words[place : place + SHARED_RUN]
            joined = "".join(run)
            if joined in taken and joined not in exempt:
                yield f"{paragraph.kind} shares wording with its source: “{' '.join(run)}”"
                place += SHARED_RUN
            else:
                place += 1


def words_of(text: str) -> list[str]:
    """The lower-case words of a text: runs of letters and digits."""
    return re.findall(r"[^\W_]+", clean_text(text).casefold())
