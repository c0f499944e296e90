"""Sentence boundaries in scientific prose, as offsets.

Rules rather than a model: what ends a sentence in a paper is decided by the word before the stop
(abbreviation, initial, list number) and the character after it. Linear in the length of the text.
"""

from __future__ import annotations

import re

_CLOSERS = "\"'”’»)\\]}"
# A run of stops, then closing quotes or brackets or a numeric citation, then white space. The
# look-behind and the possessive quantifiers keep long runs of dots linear.
_STOP = re.compile(
    rf"(?<![.!?…])[.!?…]++(?P<closers>[{_CLOSERS}]*+(?:\[[\d,; –-]{{1,40}}\])?+)(?=\s|$)"
    r"|[。！？]++[”’」』）]*+"
)
_PARAGRAPH_BREAK = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_LAST_TOKEN = re.compile(r"[^\s(\[{\"“‘]+$")
_TOKEN_REACH = 40  # characters looked back for the word before a stop
# Never the end of a sentence.
_ALWAYS_GO_ON = re.compile(
    r"e\.g|i\.e|eg|ie|vs|cf|viz|fig|figs|eq|eqs|eqn|eqns|sec|secs|sect|tab|tabs|ref|refs|"
    r"dr|prof|mr|mrs|ms|st|thm|lem|def|defn|prop|cor|alg|algs|app|appx|chap|approx|resp|"
    r"w\.r\.t|s\.t|v\.s|c\.f|ca|incl|excl|vol|pp|art|ex|eqt|assoc"
)
# An abbreviation only before a number ("No. 5"), an ordinary word otherwise.
_GO_ON_BEFORE_NUMBER = re.compile(r"no|nos|p|ch|pt|pg|ver|nr|table|line|step|col")
# Abbreviations that may end a sentence: they do when the next word opens one.
_MAY_END = re.compile(
    r"al|etc|u\.s|u\.k|u\.s\.a|e\.u|ph\.d|m\.sc|b\.sc|i\.i\.d|iid|a\.k\.a|a\.m|p\.m|inc|"
    r"ltd|co|corp|jr|sr|univ|dept|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_OPENERS = re.compile(
    r"the|this|these|those|that|there|then|we|our|in|it|its|for|a|an|as|at|by|on|to|"
    r"however|moreover|furthermore|finally|first|second|third|next|here|if|when|while|"
    r"although|since|note|such|another|both|each|some|all|they|their|he|she|his|her|with|"
    r"from|let|thus|hence|therefore|unlike|similarly|recently|also|after|before|during|"
    r"given|using|what|how|why|and|but|so|or|yet"
)
_LIST_MARK = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.)\]]+$")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """``(start, end)`` offsets of the sentences of ``text``, in order and disjoint.

    Together they cover every character that is not white space; a blank line always ends a
    sentence, a single line feed never does. A text without stops is one span per paragraph.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for gap in _PARAGRAPH_BREAK.finditer(text):
        spans.extend(_paragraph_spans(text, start, gap.start()))
        start = gap.end()
    spans.extend(_paragraph_spans(text, start, len(text)))
    return spans


def _paragraph_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    begin = _skip_space(text, start, end)
    for stop in _STOP.finditer(text, start, end):
        following = _skip_space(text, stop.end(), end)
        if following < end and _ends_sentence(text, begin, stop, following):
            spans.append((begin, stop.end()))
            begin = following
    while end > begin and text[end - 1].isspace():
        end -= 1
    if begin < end:
        spans.append((begin, end))
    return spans


def _skip_space(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def _ends_sentence(text: str, begin: int, stop: re.Match[str], following: int) -> bool:
    """Whether the stop ends the sentence begun at ``begin``, given what follows it."""
    mark = text[stop.start()]
    if mark in "。！？":
        return True
    next_word = _word_at(text, following)
    if next_word[:1].islower() or text[following] in ",;:)]}%=<>+*/|&":
        return False
    if mark in "!?":
        return True
    if stop.end() - begin <= 6 and _LIST_MARK.fullmatch(text[begin : stop.end()]):
        return False
    if text[stop.start() : stop.end()].startswith(("..", "…")):
        return True
    token = _LAST_TOKEN.search(text, max(begin, stop.start() - _TOKEN_REACH), stop.start())
    word = token.group() if token else ""
    return not _goes_on(word, next_word, text[following], bool(stop["closers"]))


def _word_at(text: str, at: int) -> str:
    end = at
    while end < len(text) and end - at < _TOKEN_REACH and text[end].isalpha():
        end += 1
    return text[at:end]


def _goes_on(word: str, next_word: str, next_char: str, closed: bool) -> bool:
    """Whether ``word`` with its stop is an abbreviation inside a running sentence."""
    low = word.lower().rsplit("-", 1)[-1]
    if _ALWAYS_GO_ON.fullmatch(low) or (
        _GO_ON_BEFORE_NUMBER.fullmatch(low) and next_char.isdigit()
    ):
        return True
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    dotted = "." in word and all(len(part) == 1 for part in word.split("."))
    if _MAY_END.fullmatch(low) or initial or dotted:
        return closed or not _OPENERS.fullmatch(next_word.lower())
    return False
