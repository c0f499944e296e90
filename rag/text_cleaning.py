"""Clean text: what a PDF's text layer says, in plain valid Unicode.

Ligatures, surrogate halves, control codes, odd spaces and TeX accents are put right here; numbers
are not touched: NFKC would turn 10⁻³ into 10-3 and x² into x2, so it is never used.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Lone surrogate halves, C0/C1 controls except tab and line feed, zero-width and direction marks,
# variation selectors, private-use glyph codes, the replacement character and noncharacters.
_UNWANTED = re.compile(
    "[\ud800-\udfff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff0-\uffff\ue000-\uf8ff\ufdd0-\ufdef]"
)
_SOFT_HYPHEN = re.compile("\u00ad[ \t]*\n?")
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
_SPACES = re.compile("[ \t\x0b\x0c\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_SPACE_AT_BREAK = re.compile(" ?\n ?")
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
# TeX sets an accented letter as a spacing accent beside (or over) the letter.
_COMBINING = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "\u02ca": "\u0301",
    "\u02cb": "\u0300",
    "\u02c6": "\u0302",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02da": "\u030a",
    "\u02db": "\u0328",
    "\u02dc": "\u0303",
    "\u02dd": "\u030b",
    "\u00af": "\u0304",
    "\u00b8": "\u0327",
}
_ACCENT_CLASS = "".join(_COMBINING)
_ACCENT_THEN_LETTER = re.compile(f"([{_ACCENT_CLASS}]) ?([A-Za-zıȷ])")
_LETTER_THEN_ACCENT = re.compile(f"([A-Za-zıȷ])([{_ACCENT_CLASS}])(?=[a-z])")
_ACCENT_AFTER_SPACE = re.compile(f"(?<=[A-Za-z]) (?=[{_ACCENT_CLASS}] ?[a-zı])")

_WORD = re.compile(r"[^\W_]+(?:[-‐‑][^\W_]+)*")
_BROKEN_END = re.compile("((?:[^\\W_]+[-‐‑])*[^\\W_]+)[-‐‑\u00ad]$")
_WORD_START = re.compile(r"[^\W_]+(?:[-‐‑][^\W_]+)*")
# First parts that English joins with a real hyphen far more often than TeX breaks a word there.
_COMPOUND_FIRST = re.compile(
    r"low|high|self|semi|non|well|fine|large|small|long|short|end|real|two|three|four|one|"
    r"half|full|zero|few|cross|state|in|on|out|off|up|to|of|the|and|by|k|n|t|x|open|closed|"
    r"single|many|hard|soft|top|left|right|first|second|third|human|data|model|task|domain|"
    r"time|user|language|point|sample|question|word|token|image|text|pixel|sequence|class|"
    r"general|special|close|near|far|mid|late|early|ever|all|hand"
)
# Second parts that stand behind a real hyphen, when the first part is a word of the paper.
_COMPOUND_SECOND = re.compile(
    r"based|aware|only|level|scale|size|sized|specific|dependent|independent|enhanced|augmented"
    r"|trained|tuned|driven|guided|agnostic|efficient|free|rich|grained|supervised|generated"
    r"|dimensional|intensive|classified|classification|curated|shot"
)
_PREFIX = re.compile(r"over|under|multi|down|mis|out|micro|macro|inter|intra|super|hyper|sub|any")
_SUFFIX = re.compile(
    r"(?:[a-z]?[bcdfgklmnprstvz]?(?:tions?|sions?|ing|ings|ed|er|ers|es|ment|ments|ly|ity|ities|al|"
    r"ally|ance|ence|able|ible|ous|ive|ively|ization|isation|ize|izes|ized|ful|ness|ate|ates|ated|"
    r"ary|ory|ic|ics|cal|cally|tive|ture|tures|dom|tor|tors|sis|ses|ness))$"
)


def clean_text(text: str) -> str:
    """The text as valid UTF-8 without NUL, ligatures, soft hyphens or odd spaces.

    Surrogate pairs are joined and lone halves dropped, accents composed (NFC), runs of spaces made
    one; line feeds stay. Pure and idempotent; for lines, titles, abstracts and metadata alike.
    """
    if text.isascii() and text.isprintable():
        return _SPACES.sub(" ", text).strip(" ")
    text = _SURROGATE_PAIR.sub(_joined_pair, text)
    text = _LINE_ENDS.sub("\n", _UNWANTED.sub("", text))
    text = _SOFT_HYPHEN.sub("", text).translate(_LIGATURES)
    text = unicodedata.normalize("NFC", text)
    text = _SPACE_AT_BREAK.sub("\n", _SPACES.sub(" ", text)).strip(" ")
    return _compose_accents(text)


def _joined_pair(match: re.Match[str]) -> str:
    pair = match.group()
    return chr(0x10000 + ((ord(pair[0]) - 0xD800) << 10) + (ord(pair[1]) - 0xDC00))


def _compose_accents(text: str) -> str:
    """Spacing accents put onto the letter beside them, where such a letter exists."""
    while any(accent in text for accent in _ACCENT_CLASS):
        composed = _ACCENT_AFTER_SPACE.sub(_space_before_accent, text)
        composed = _ACCENT_THEN_LETTER.sub(lambda m: _composed(m, m[2], m[1]), composed)
        composed = _LETTER_THEN_ACCENT.sub(lambda m: _composed(m, m[1], m[2]), composed)
        if composed == text:
            break
        text = composed
    return text


def _space_before_accent(match: re.Match[str]) -> str:
    """Drops the blank PyMuPDF puts before an accent inside a word ("Sch ¨olkopf").

    A capital before it, or a whole short word, would be another word: kept then.
    """
    text, at = match.string, match.start()
    start = at
    while start > 0 and at - start < 20 and text[start - 1].isalpha():
        start -= 1
    word, accent = text[start:at], text[at + 1]
    base = text[at + 2 : at + 4].strip()[:1].replace("ı", "i")
    composes = len(unicodedata.normalize("NFC", base + _COMBINING[accent])) == 1
    inside = word[:1].isupper() and len(word) > 1
    return "" if composes and inside else " "


def _composed(match: re.Match[str], letter: str, accent: str) -> str:
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    whole = unicodedata.normalize("NFC", base + _COMBINING[accent])
    return whole if len(whole) == 1 else match[0]


def count_words(lines: Iterable[str]) -> Counter[str]:
    """How often each word form occurs, lower-cased, without words broken at a line end.

    Hyphenated forms count as a whole and in their parts; it is the vocabulary that
    ``join_hyphenated`` decides by.
    """
    counts: Counter[str] = Counter()
    after_break = False
    for line in lines:
        words = _WORD.findall(line.lower())
        broken = bool(_BROKEN_END.search(line))
        inner = words[1 if after_break else 0 : len(words) - 1 if broken else None]
        for word in inner:
            counts[word] += 1
            if "-" in word:
                counts.update(word.split("-"))
        after_break = broken
    return counts


def join_hyphenated(first_line: str, next_line: str, vocabulary: Mapping[str, int]) -> str:
    """Two lines as one, a word broken over them made whole again.

    ``vocabulary`` counts lower-cased forms elsewhere in the same paper (``count_words``); it
    decides between "generalisation" and "low-resource". Without evidence, well-known first
    parts of compounds keep their hyphen and everything else is joined.
    """
    first, rest = first_line.rstrip(), next_line.lstrip()
    broken = _BROKEN_END.search(first)
    start = _WORD_START.match(rest)
    if not first or not rest or broken is None or start is None:
        return f"{first} {rest}".strip()
    if first.endswith("\u00ad"):
        return first[:-1] + rest
    if _keeps_hyphen(broken.group(1), start.group(), vocabulary):
        return first + rest
    return first[:-1] + rest


def _keeps_hyphen(stem: str, head: str, vocabulary: Mapping[str, int]) -> bool:
    """Whether the hyphen between ``stem`` and ``head`` belongs to the word."""
    capitals = stem.isupper() and head.isupper() and len(stem) > 1
    if not (head[0].islower() or capitals) or not stem[-1].isalpha():
        return True
    low_stem, low_head = stem.lower(), head.lower()
    kept = vocabulary.get(f"{low_stem}-{low_head}", 0)
    joined = vocabulary.get(low_stem + low_head, 0)
    if kept != joined:
        return kept > joined
    last, start = re.split("[-‐‑]", low_stem)[-1], re.split("[-‐‑]", low_head)[0]
    part_joined = vocabulary.get(last + start, 0)
    part_kept = vocabulary.get(f"{last}-{start}", 0)
    if part_joined != part_kept and (last != low_stem or start != low_head):
        return part_kept > part_joined
    if _COMPOUND_FIRST.fullmatch(last):
        return not _SUFFIX.fullmatch(start) or vocabulary.get(start, 0) > 1
    if _COMPOUND_SECOND.fullmatch(start):
        return vocabulary.get(last, 0) > 0 and len(last) > 2 and not _PREFIX.fullmatch(last)
    both_words = min(vocabulary.get(last, 0), vocabulary.get(start, 0)) > 0
    return both_words and min(len(last), len(start)) > 3 and not _SUFFIX.fullmatch(start)
