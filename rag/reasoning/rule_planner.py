"""Planning by rules: stand-alone sub-queries without a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rag.reasoning.protocol import QueryPlan
from rag.results import TurnRecord
from rag.retrieval.lexicon import ASKING_WORDS
from rag.retrieval.name_table import NameTable
from rag.retrieval.terms import STOP_WORDS

MOST = 3
_COMPARES = re.compile(
    r"\b(differ(s|ent|ently|ences?)?|compar(e|es|ed|ing|isons?)|versus|vs|contrast|unlike"
    r"|(better|worse|faster|slower|cheaper|more|less|larger|smaller|higher|lower)\b.*\bthan"
    r"|in common|both|similar(ly)?|share|each|respectively|or)\b",
    re.I,
)
_BETWEEN = re.compile(
    r"\bbetween\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)(?P<rest>[?.,;]|\bin\b|\bwhen\b|\bfor\b|\bon\b|$)",
    re.I,
)
_VERSUS = re.compile(
    r"(?P<a>[\w+./-]+(?: [\w+./-]+)?)\s+(?:vs\.?|versus)\s+(?P<b>[\w+./-]+(?: [\w+./-]+)?)", re.I
)
# A name: inner or several capitals, a digit beside letters, or a capitalised word.
_NAME = re.compile(
    r"[\"“](?P<quoted>[^\"”]{2,80})[\"”]"
    r"|\b(?P<name>(?:[A-Z][\w+./]*|[\w+./]*[A-Z][\w+./]*|[a-zA-Z]+\d[\w.]*)(?:[-–][\w+./]+)*"
    r"(?:\s+(?:[A-Z][\w+./]*|v?\d[\w.]*)(?:[-–][\w+./]+)*)*)"
)
# What stands between two things that are asked about alike.
_JOINS = re.compile(r"^\s*(?:,|,?\s*(?:and|or|vs\.?|versus|than|compared (?:to|with))\b)", re.I)
_MARKUP = re.compile(r"<\|[^<>|]{1,40}\|>|</?[a-zA-Z][^<>]{0,200}>|\[/?INST\]")
_QUESTION_WORD = re.compile(
    r"^(?:how|what|which|why|when|where|who"
    r"|does|do|did|is|are|was|were|can|could|should|would|will"
    r"|in|on|for|between|both|with|from|to|of|as|at|by|and|if|according"
    r"|compare|explain|describe|tell|give|list|name"
    r"|the|a|an|i)$",
    re.I,
)
_SPLIT = re.compile(
    r"(?<=\?)\s+(?=\S)|[,;]?\s+and\s+(?=(?:how|what|which|why|when|where|who|does|do|is|are|can)\b)",
    re.I,
)
_THE_ONE = r"the (?:method|model|paper|approach|former|latter|same|technique|algorithm)"
_POINTS_BACK = re.compile(
    r"\b(it|its|itself|they|them|their|theirs|this|that|these|those|he|she|his|her"
    rf"|{_THE_ONE}|the authors?)\b"
    r"|^(?:and|but|so|what about|how about|why|also)\b",
    re.I,
)
_PRONOUN = re.compile(
    r"\b(its|their|theirs|his|her)\b"
    rf"|\b(it|itself|they|them|this|that|these|those|{_THE_ONE})\b"
    r"(?! (?:is|are) (?:true|possible))",
    re.I,
)
# What sets things against each other: it says nothing about one of them alone.
_COMPARING = re.compile(
    r"\b(compare[ds]?|comparing|versus|vs\.?|differ(?:ences?|ent|s)?|between|both|each"
    r"|respectively|than|unlike|from each other)\b",
    re.I,
)
_DANGLING = re.compile(
    r"\b(and|or|to|with|from|while)\b(?=\s*(?:[?,.]|$|\b(?:in|do|does|and|or)\b))", re.I
)


def plan_by_rules(
    question: str, history: Sequence[TurnRecord], names: NameTable | None = None
) -> QueryPlan:
    """One sub-query for a simple question; one a part for comparisons and double questions.

    ``names`` tells what the library's papers are called: names that capitals do not show
    ("prefix-tuning") or that hold ordinary words ("Rethinking with Retrieval").
    """
    alone = stand_alone(without_markup(question), history)
    compared = compared_things(alone)
    known = known_things(alone, names) if names else []
    if len(known) > len(compared):
        compared = known
    if len(compared) >= 2:
        queries = [about_one(alone, thing, compared) for thing in compared[:MOST]]
        return QueryPlan(alone, tuple(dict.fromkeys(queries)), is_compound=True)
    parts = split_questions(alone)
    if len(parts) > 1:
        return QueryPlan(alone, tuple(parts[:MOST]), is_compound=True, one_subject=True)
    return QueryPlan(alone, (alone,))


def without_markup(question: str) -> str:
    """The question without tags and control markers, which would count as its rarest words; as
    it stands when nothing else would be left to ask about."""
    plain = " ".join(_MARKUP.sub(" ", question).split())
    words = re.findall(r"[^\W_]{2,}", plain.casefold())
    asked = [word for word in words if word not in STOP_WORDS and word not in ASKING_WORDS]
    return plain if asked else question


def names_in(text: str) -> list[str]:
    """Names in a question in order, each once: quoted titles, LoRA, GPT-4, Faster R-CNN.

    A plain word that is a capital only because it opens the sentence is none, nor is an author
    ("Qiu et al."), whom the passages of the own paper do not name.
    """
    found: list[str] = []
    for match in _NAME.finditer(text):
        words = (match["quoted"] or match["name"]).split()
        while words and _QUESTION_WORD.match(words[0]):
            words = words[1:]
        name = " ".join(words).strip(" .,-")
        opens = text.startswith(name) and name == name.capitalize() and name.isalpha()
        if opens or text[match.end() :].startswith(" et al"):
            continue
        if len(name) > 1 and name.casefold() not in STOP_WORDS | ASKING_WORDS:
            found.append(name)
    return list(dict.fromkeys(found))


def compared_things(question: str) -> list[str]:
    """The two or three things that a question compares; empty when it compares none."""
    if not _COMPARES.search(question):
        return []
    for pattern in (_BETWEEN, _VERSUS):
        match = pattern.search(question)
        if match:
            return [_trim(match["a"]), *_list_items(_trim(match["b"]))]
    listed = _listed_names(question)
    return listed if 2 <= len(listed) <= MOST else []


def known_things(question: str, names: NameTable) -> list[str]:
    """The papers' names that a question sets beside each other; empty for fewer than two."""
    found = names.mentions(question)
    apart = {mention.paper_ids: mention for mention in reversed(found)}
    mentions = sorted(apart.values(), key=lambda mention: mention.start)
    if not 2 <= len(mentions) <= MOST:
        return []
    gaps = [question[before.end : after.start] for before, after in pairwise(mentions)]
    joined = all(_JOINS.search(gap) for gap in gaps)
    return [mention.typed for mention in mentions] if joined or _COMPARES.search(question) else []


def _listed_names(question: str) -> list[str]:
    """Names that stand in one list or are set against each other ("A and B", "A than B")."""
    names = names_in(question)
    if len(names) < 2:
        return []
    joined = [names[0]]
    for before, after in pairwise(names):
        gap = question[_place(question, before) + len(before) : _place(question, after)]
        if re.search(r"\b(and|or|than|from|with|to|against|while|but)\b|,", gap):
            joined.append(after)
    return joined


def _place(question: str, name: str) -> int:
    """Where a name stands as a whole word: "BERT" not inside "DistilBERT"."""
    match = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", question)
    return match.start() if match else question.find(name)


def _list_items(text: str) -> list[str]:
    return [_trim(item) for item in re.split(r"\s*(?:,|\band\b)\s*", text) if _trim(item)]


def _trim(text: str) -> str:
    words = text.strip(" \"“”'?.,").split()
    while words and words[0].casefold() in {"the", "a", "an", "using", "how"}:
        words = words[1:]
    return " ".join(words)


def about_one(question: str, thing: str, compared: Sequence[str]) -> str:
    """The question asked of one of the compared things only."""
    text = question
    for other in compared:
        if other != thing:
            # As a whole word: "BERT" must not be cut out of "DistilBERT".
            text = re.sub(rf"(?<![\w-]){re.escape(other)}(?![\w-])", " ", text, count=1)
    text = _DANGLING.sub(" ", _COMPARING.sub(" ", text))
    words = [word for word in re.split(r"\s+", text.strip(" ?.,")) if word]
    rest = [
        word
        for word in words
        if not _QUESTION_WORD.match(word) or word.casefold() in {"how", "what", "why", "which"}
    ]
    body = " ".join(rest)
    return body if thing in body else f"{thing} {body}".strip()


def split_questions(question: str) -> list[str]:
    """The parts of a double question; a part without a subject of its own gets the first's."""
    parts = [part.strip(" ,;") for part in _SPLIT.split(question) if part and part.strip(" ,;?")]
    if len(parts) < 2 or any(len(part.split()) < 3 for part in parts):
        return [question]
    subject = subject_of(parts[0])
    return [
        parts[0],
        *(
            part if not subject or not _POINTS_BACK.search(part) else replace_pronoun(part, subject)
            for part in parts[1:]
        ),
    ]


def stand_alone(question: str, history: Sequence[TurnRecord]) -> str:
    """The question without words that point into the conversation.

    A question that names its own subject is a new topic and stays as typed.
    """
    if not history or not _POINTS_BACK.search(question):
        return question
    if names_in(question) and not re.match(r"^(?:and|what about|how about)\b", question, re.I):
        first = _PRONOUN.search(question)
        if first is None or question.find(names_in(question)[0]) < first.start():
            return question
    for turn in reversed(history):
        subject = subject_of(turn.question)
        if subject:
            return replace_pronoun(question, subject)
    return question


def replace_pronoun(question: str, subject: str) -> str:
    """``question`` with its first pronoun replaced by the subject, or the subject appended."""

    def put(match: re.Match[str]) -> str:
        return f"{subject}'s" if match.group(1) else subject

    replaced, count = _PRONOUN.subn(put, question, count=1)
    return replaced if count else f"{question.rstrip(' ?.')} ({subject})?"


def subject_of(question: str) -> str:
    """What a question is about: its names, else its content words."""
    names = names_in(question)
    if names:
        return " and ".join(names[:2])
    words = re.findall(r"[\w-]+", question)
    content = [
        word
        for word in words
        if word.casefold() not in STOP_WORDS and word.casefold() not in ASKING_WORDS
    ]
    return " ".join(content[:6])
