"""Spans: what PyMuPDF's pieces of a line say and how they look."""

from __future__ import annotations

import re
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
