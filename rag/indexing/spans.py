"""Spans: what PyMuPDF's pieces of a line say and how they look."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rag.text_cleaning import clean_text

_BOLD, _ITALIC, _MONO, _SUPERSCRIPT = 16, 2, 8, 1  # bits of span["flags"]
_MATH_FONT = re.compile(
    r"CMMI|CMSY|CMEX|CMBSY|MSAM|MSBM|EUFM|EUSM|RSFS|Math|Symbol|Mtsy|MTMI|MTEX|wasy|stmary|txsy"
    r"|txmi|pxsy|pxmi|LMMI|LMSY|LMEX|rtxmi|ntxmi|ntxsy|NewTXMI|txex|BBM|dsrom|esint|zplm",
    re.IGNORECASE,
)
_BOLD_FONT = re.compile(r"Bold|Black|Heavy|Medi(?!um)|CMBX|SFBX|Demi|[-.]B$")
_MONO_FONT = re.compile(r"MonL|Mono|Courier|CMTT|SFTT|Typewriter|Consol|Menlo|Inconsolata|txtt")
_EXPONENT = re.compile(r"[-−+]?\s?\d{1,3}|n|[∗*†‡§¶]{1,2}")
_LAST_LETTERS = re.compile(r"[^\W\d_]+$")
_MARKS = frozenset(("∗", "*", "†", "‡", "§", "¶", "∗∗", "††", "∗†", "**"))
_TO_SUPERSCRIPT = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_EM_PER_LETTER = 0.46  # mean width of a letter of Computer Modern in its own size
_TEX_LIGATURES = {11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl"}  # TeX's OT1 encoding

Span = dict[str, Any]  # one run of characters in one font, as PyMuPDF gives it
RawLine = dict[str, Any]  # its "spans" and where they stand
Code = tuple[int | None, str, str]  # a page (None: all), a font and a character of it

# A code that is no text (control, private use, unknown), and a word that holds some. Subset fonts
# with faulty tables say such a code where they show a ligature.
_CODES = "\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff"
_CODE = re.compile(f"[{_CODES}]")
_CODED_WORD = re.compile(rf"[^\W\d_]*(?:[{_CODES}][^\W\d_]*)+")
_CODE_IN_WORD = re.compile(f"[a-z][{_CODES}]|[{_CODES}][a-z]")
_UNKNOWN_IN_WORD = re.compile("[a-z]\ufffd|\ufffd[a-z]")
_PLAIN_WORD = re.compile(r"[^\W\d_]{4,}")
_LIGATURES = ("fi", "ff", "fl", "ffi", "ffl", "ti", "tt", "ft", "tti")
_LEAST_VOTES = 3  # different words that must read right with one ligature in the place of a code
_VOTE_LEAD = 4  # times as many as with any other
# Words of papers that hold ligatures, for files that lose every one of them.
_LIGATURE_STEMS = re.compile(
    r"\b(?:fi(?:eld|fth|gure|ll|lter|nal|nanc|nd|nger|nish|nite|rm|rst)|fi(?:ts?|tted|tting|t"
    r"ness|x|xed|xing|ve|le|les|ne|ner|nest|re|red)\b|flat|flexib|flow|float|floor|fluctuat|fluent"
    r"|fluid|off\b|offs)|classifi|specifi|signifi|defin[ei]|modifi|identifi|verifi|simplifi"
    r"|quantifi|justifi|unifi|ratifi|amplifi|rectifi|satisfi|artifici|benefi|confid|configur"
    r"|confirm|infini|finite|profil|prefix|suffix|scientifi|refine|magnifi|fulfil|overfit|underfit"
    r"|differ|diffus|diffic|\beffect|effici|\beffort|\baffect|\boffer|afford|staff|suffer|traffi"
    r"|coeffici|suffici|offici|office|affine|affini|scaffold|cutoff|tradeoff|shuffl|offline"
    r"|reflect|influen|conflict|inflat|workflow|overflow|outflow"
    r"|[a-z][^t]tion(?:s|al|ally|ed|ing)?\b|[a-z][^t]tives?\b|multi|matter|better|letter"
    r"|pattern|setting|\bafter|\boften|\bleft\b"
)


def with_true_sizes(block: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bitmap fonts of old TeX files state a size of 0.24: the width of their letters tells it."""
    spans = [span for line in block for span in line["spans"] if _wrongly_sized(span)]
    for span in spans:
        same = [other for other in spans if other["font"] == span["font"]]
        width = sum(other["bbox"][2] - other["bbox"][0] for other in same)
        letters = sum(len(other["text"]) for other in same)
        span["true_size"] = max(4.0, round(2 * width / letters / _EM_PER_LETTER) / 2)
    for span in spans:
        span["size"] = span.pop("true_size")
        span["text"] = span["text"].translate(_TEX_LIGATURES)
    return block


def _wrongly_sized(span: Span) -> bool:
    height = span["bbox"][3] - span["bbox"][1]
    return bool(span["font"].startswith("Type3") and height > 3 * span["size"])


def is_math(span: Span) -> bool:
    """Whether the span is set in a font of symbols or mathematical letters."""
    return bool(_MATH_FONT.search(span["font"]))


def is_italic(span: Span) -> bool:
    """Whether the span is slanted."""
    return bool(span["flags"] & _ITALIC)


def is_mono(span: Span) -> bool:
    """Whether the span is set in a typewriter font, as code is."""
    return bool(span["flags"] & _MONO or _MONO_FONT.search(span["font"]))


def is_bold(span: Span) -> bool:
    """Whether the span is set in a bold font, by flag or by the font's name."""
    return bool(span["flags"] & _BOLD) or bool(_BOLD_FONT.search(span["font"]))


def line_text(spans: list[Span]) -> str:
    """The cleaned text; exponents become ¹²³ and footnote marks go, so 10 to the 3 is not 103."""
    parts: list[str] = []
    for raised, run in groupby(spans, key=lambda span: bool(span["flags"] & _SUPERSCRIPT)):
        group = list(run)
        text = "".join(span["text"] for span in group)
        if raised and parts and _EXPONENT.fullmatch(text.strip()):
            text = _raised(text, "".join(parts[-3:]))
        elif not parts and len(spans) > len(group) and text.strip().isdigit():
            following = spans[len(group)]
            if group[0]["size"] < 0.8 * following["size"]:
                text += " "  # the mark that opens a footnote
        parts.append(text)
    whole = "".join(parts)
    soft = "\u00ad" if whole.rstrip().endswith("\u00ad") else ""
    return clean_text(whole).replace("\n", " ") + soft


def _raised(text: str, before: str) -> str:
    """Raised text after ``before``: the exponent of a number or symbol, or a footnote mark.

    Marks after a word or a stop are dropped; whatever is not surely a mark is kept.
    """
    mark = text.strip()
    letters = _LAST_LETTERS.search(before)
    word = len(letters.group()) > 1 if letters else False
    if mark in _MARKS or (mark.isdigit() and (word or before[-1:] in '.,;:!?”’"')):
        return " " if text[-1:] == " " or mark != "∗" else text
    return text.translate(_TO_SUPERSCRIPT)


def has_unknown_in_words(blocks: Sequence[list[RawLine]]) -> bool:
    """Whether words hold characters the file's fonts give no meaning for."""
    text = _all_text(blocks)
    return "\ufffd" in text and bool(_UNKNOWN_IN_WORD.search(text))


def has_codes_in_words(blocks: Sequence[list[RawLine]]) -> bool:
    """Whether words hold codes that are no text, which may stand for ligatures."""
    text = _all_text(blocks)
    return bool(_CODE.search(text) and _CODE_IN_WORD.search(text))


def restore_ligatures(pages: Sequence[Sequence[list[RawLine]]], text: Iterable[str]) -> None:
    """Puts ligatures back where a font's code for them is no text. Changes the spans in place.

    ``pages`` are those that hold codes, ``text`` is that of the others. One code of a font stands
    for the one ligature with which most of its words are words, on a page (figures bring other
    fonts of the same name) or else in the document, if it suits a word of the page. A code
    without enough votes stays and is dropped by the cleaning.
    """
    coded = [
        (number, span)
        for number, blocks in enumerate(pages)
        for span in _all_spans(blocks)
        if _CODE.search(span["text"])
    ]
    uses: dict[Code, list[str]] = defaultdict(list)
    for number, span in coded:
        for word in _CODED_WORD.findall(span["text"]):
            codes = _CODE.findall(word)
            if len(codes) == 1 and len(word) > 1:
                uses[None, span["font"], codes[0]].append(word.lower())
                uses[number, span["font"], codes[0]].append(word.lower())
    if not uses:
        return
    known = frozenset(
        word.lower()
        for part in (*map(_all_text, pages), *text)
        for word in _PLAIN_WORD.findall(part)
    )
    elected = _elect_all(uses, known)
    for number, span in coded:
        found = {code: elected.get((number, span["font"], code)) for code in set(span["text"])}
        span["text"] = _CODED_WORD.sub(partial(_filled, found=found, known=known), span["text"])


def _filled(match: re.Match[str], found: Mapping[str, str | None], known: frozenset[str]) -> str:
    """A word with its ligatures, as it was where it is too short to be told from a formula."""
    word = match[0]
    letters = sum(char.isalpha() for char in word)
    if letters < 3 and not any(
        _reads(word.lower(), text, known) for text in found.values() if text
    ):
        return word
    return _CODE.sub(lambda code: found.get(code[0]) or code[0], word)


def _all_spans(blocks: Sequence[list[RawLine]]) -> Iterator[Span]:
    return (span for block in blocks for line in block for span in line["spans"])


def _all_text(blocks: Sequence[list[RawLine]]) -> str:
    return "\n".join([span["text"] for block in blocks for line in block for span in line["spans"]])


def _elect_all(uses: Mapping[Code, Sequence[str]], known: frozenset[str]) -> dict[Code, str | None]:
    elected = {use: _elected(use[2], words, known) for use, words in uses.items()}
    for use, words in uses.items():
        whole = elected[None, use[1], use[2]]
        if elected[use] is None and whole and any(_reads(word, whole, known) for word in words):
            elected[use] = whole
    return elected


def _elected(code: str, words: Sequence[str], known: frozenset[str]) -> str | None:
    """The ligature most of the words call for; TeX's own code for it needs one vote only."""
    different = set(words)
    votes = Counter(text for word in different for text in _LIGATURES if _reads(word, text, known))
    if not votes:
        return None
    (best, most), *others = votes.most_common(2)
    least = 1 if _TEX_LIGATURES.get(ord(code) & 0xFF) == best else _LEAST_VOTES
    return best if most >= least and most >= _VOTE_LEAD * sum(n for _, n in others) else None


def _reads(word: str, ligature: str, known: frozenset[str]) -> bool:
    """Whether a word is one with ``ligature`` in the place of its code."""
    at = _CODE.search(word)
    if at is None:
        return False
    whole = _CODE.sub(ligature, word)
    if len(whole) >= 4 and whole in known:
        return True
    stems = _LIGATURE_STEMS.finditer(whole)
    end = at.start() + len(ligature)
    return any(stem.start() <= at.start() and end <= stem.end() for stem in stems)
