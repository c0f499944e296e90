"""Markup: the few marks of an answer (paragraphs, quotes, lists, bold, ``[n]``) as safe HTML.

An answer is text. It is cut into runs first and every run is escaped on its own, so that no
model output ever becomes an element, a link or a formula; dollars stay dollars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from rag.results import SentenceRecord
from rag.ui.escape import text

_BULLET = re.compile(r"\s*[-*•]\s+(?=\S)")
_NUMBER = re.compile(r"\s*\d{1,2}[.)]\s+(?=\S)")
_QUOTE = re.compile(r"\s*>\s?")
_HEADING = re.compile(r"\s*#{1,4}\s+(?=\S)")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_OPEN_BOLD = re.compile(r"\*\*(?=\S)(?!.*\*\*)")
_MARK = re.compile(r"\[(\d{1,3})\]")
# What may still become a mark with the next token: shown a moment later instead of flickering.
_UNFINISHED = re.compile(r"(\[\d{0,3}|\*{1,2}|\n\s*[-*>#]{1,4}\s?|\n\s*\d{1,2}[.)]?)\Z")

# The paragraph of an answer that says what the library did not hold; it is shown as a note.
MISSING_WORDS = "Not in the evidence:"
# Keep a citation with the word that it belongs to, and what follows it with the citation.
_NO_BREAK_SPACE, _JOINER = "\u00a0", "\u2060"

SUPPORT_WORDS: Mapping[str, str] = {
    "partly": "only partly supported by its source",
    "not": "not supported by its source",
}


@dataclass(frozen=True)
class Run:
    """A stretch of the answer with one look; ``cite`` is the source number of a ``[n]``."""

    start: int
    end: int
    bold: bool = False
    cite: int | None = None


@dataclass(frozen=True)
class Marks:
    """What is known about the answer besides its text.

    ``titles`` maps a citation number to its paper; None while the answer is being written.
    """

    sentences: tuple[SentenceRecord, ...] = ()
    titles: Mapping[int, str] | None = None

    def sentence_at(self, offset: int) -> SentenceRecord | None:
        """The sentence that covers ``offset``."""
        return next((item for item in self.sentences if item.start <= offset < item.end), None)


def render_blocks(answer: str, marks: Marks) -> str:
    """The whole answer as paragraphs, quotes and lists."""
    if marks.titles is None:
        answer = _UNFINISHED.sub("", answer)
        last = answer[answer.rfind("\n") + 1 :]
        if last and MISSING_WORDS.startswith(last):
            answer = answer.removesuffix(last)
    out: list[str] = []
    kind, lines = "", list[str]()

    def flush() -> None:
        nonlocal kind, lines
        if kind in {"ul", "ol"}:
            out.append(f"<{kind}>" + "".join(f"<li>{line}</li>" for line in lines) + f"</{kind}>")
        elif kind == "quote":
            out.append(f"<blockquote>{'<br>'.join(lines)}</blockquote>")
        elif kind == "miss":
            told = "<br>".join(lines).replace(MISSING_WORDS, f"<b>{MISSING_WORDS}</b>", 1)
            out.append(f'<p class="miss">{told}</p>')
        elif kind == "p":
            out.append(f"<p>{'<br>'.join(lines)}</p>")
        kind, lines = "", []

    position = 0
    for line in answer.splitlines(keepends=True):
        start, position = position, position + len(line)
        end = start + len(line.rstrip())
        if not line.strip():
            flush()
            continue
        new, skip = _kind_of(line)
        if new == "h":
            flush()
            out.append(f"<h3>{render_inline(answer, start + skip, end, marks)}</h3>")
            continue
        if new != kind:
            flush()
        kind = new
        lines.append(render_inline(answer, start + skip, end, marks))
    flush()
    return "".join(out)


def _kind_of(line: str) -> tuple[str, int]:
    for name, pattern in (("quote", _QUOTE), ("ul", _BULLET), ("ol", _NUMBER), ("h", _HEADING)):
        found = pattern.match(line)
        if found:
            return name, found.end()
    return ("miss" if line.startswith(MISSING_WORDS) else "p"), 0


def render_inline(answer: str, start: int, end: int, marks: Marks) -> str:
    """One line of the answer: bold, citation marks and support marks over escaped text."""
    out: list[str] = []
    flagged: SentenceRecord | None = None
    runs = _split_at_sentences(_runs(answer, start, end, marks.titles is None), marks)
    for place, run in enumerate(runs):
        sentence = marks.sentence_at(run.start)
        if flagged is not None and sentence is not flagged:
            out.append(_flag(flagged))
            flagged = None
        if sentence is not None and sentence.support in SUPPORT_WORDS:
            flagged = sentence
        before_cite = place + 1 < len(runs) and runs[place + 1].cite is not None
        after_cite = place > 0 and runs[place - 1].cite is not None
        if after_cite and not answer[run.start].isspace():
            out.append(_JOINER)
        shown = _render_run(answer, run, sentence, marks)
        if before_cite and run.cite is None:
            shown = _glued(shown)
        out.append(shown)
    if flagged is not None:
        out.append(_flag(flagged))
    return "".join(out)


def _glued(shown: str) -> str:
    """``shown`` so that no line can break between it and the citation that follows."""
    plain = shown.rstrip(" ")
    if plain == shown:
        return shown + _JOINER
    return plain + _NO_BREAK_SPACE


def _runs(answer: str, start: int, end: int, writing: bool) -> list[Run]:
    bold_parts: list[tuple[int, int, int, int]] = [
        (found.start(), found.start(1), found.end(1), found.end())
        for found in _BOLD.finditer(answer, start, end)
    ]
    if writing:
        tail = _OPEN_BOLD.search(answer, bold_parts[-1][3] if bold_parts else start, end)
        if tail:
            bold_parts.append((tail.start(), tail.end(), end, end))
    runs: list[Run] = []
    position = start
    for outer_start, inner_start, inner_end, outer_end in bold_parts:
        runs += _cites(answer, position, outer_start, False)
        runs += _cites(answer, inner_start, inner_end, True)
        position = outer_end
    return runs + _cites(answer, position, end, False)


def _cites(answer: str, start: int, end: int, bold: bool) -> list[Run]:
    runs: list[Run] = []
    position = start
    for found in _MARK.finditer(answer, start, end):
        runs.append(Run(position, found.start(), bold))
        runs.append(Run(found.start(), found.end(), bold, int(found.group(1))))
        position = found.end()
    runs.append(Run(position, end, bold))
    return [run for run in runs if run.end > run.start]


def _split_at_sentences(runs: list[Run], marks: Marks) -> list[Run]:
    edges = sorted({edge for item in marks.sentences for edge in (item.start, item.end)})
    out: list[Run] = []
    for run in runs:
        if run.cite is not None:
            out.append(run)
            continue
        cuts = [run.start, *(edge for edge in edges if run.start < edge < run.end), run.end]
        out += [Run(left, right, run.bold) for left, right in pairwise(cuts)]
    return out


def _render_run(answer: str, run: Run, sentence: SentenceRecord | None, marks: Marks) -> str:
    raw = answer[run.start : run.end]
    if run.cite is not None:
        return _cite(run.cite, raw, marks.titles)
    words = raw.strip()
    if not words:
        return text(raw)
    before, after = raw[: raw.index(words)], raw[raw.index(words) + len(words) :]
    shown = text(words)
    if sentence is not None and sentence.support != "none" and any(map(str.isalnum, words)):
        shown = f'<span class="s {sentence.support}" title="{text(_why(sentence))}">{shown}</span>'
    if run.bold:
        shown = f"<strong>{shown}</strong>"
    return text(before) + shown + text(after)


def _cite(number: int, raw: str, titles: Mapping[int, str] | None) -> str:
    label = f"<i>[</i>{number}<i>]</i>"
    if titles is None:
        return f'<span class="c">{label}</span>'
    if number not in titles:
        return text(raw)
    name = text(f"Source {number}: {titles[number]}")
    return (
        f'<a class="c" href="#src-{number}" data-n="{number}" title="{name}" '
        f'aria-label="{name}">{label}</a>'
    )


def _why(sentence: SentenceRecord) -> str:
    pages = [
        f"[{item.n}]" + (f" p. {item.page}" if item.page else "") for item in sentence.evidence
    ]
    where = ", ".join(dict.fromkeys(pages))
    if sentence.support == "supported":
        return f"Supported by {where}" if where else "Supported by its source"
    words = SUPPORT_WORDS.get(sentence.support, "").capitalize()
    return f"{words}: {sentence.reason}" if sentence.reason else words


def _flag(sentence: SentenceRecord) -> str:
    """The mark after a doubtful sentence: a word, so that colour is never the only sign."""
    why = text(_why(sentence))
    label = "partly" if sentence.support == "partly" else "not supported"
    return (
        f'{_JOINER}<span class="flag {sentence.support}" tabindex="0" role="note" '
        f'aria-label="{why}" data-why="{why}">{label}</span>'
    )
