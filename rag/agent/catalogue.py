"""Catalogue: questions about the library itself, answered exactly from the facts it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.agent.paper_filter import PAPERS, filter_from_words, subject_filter
from rag.agent.paper_lookup import find_paper
from rag.papers import Library, Paper

LISTED = 10
# A longer phrase that fits no title is a research question: "on" and three words.
LONGEST_PHRASE = 4
_HOW_MANY = re.compile(
    rf"^(?:and )?how many (?P<kind>(?:[\w-]+ ){{0,3}}?){PAPERS}(?P<rest>\b.*)$"
    rf"|^(?:what is|what's) the number of {PAPERS}(?P<rest2>\b.*)$"
    rf"|^(?:number|count) of {PAPERS}(?P<rest3>\b.*)$"
)
# What may follow "how many papers": asked of the library, not of the world.
_OWNED = re.compile(
    r"^(?:\s|\?"
    r"|do you (?:have|hold|know|contain|cover)"
    r"|are (?:there|here|you)|are|is|in"
    r"|(?:in|does) (?:the|this|your) (?:library|corpus|collection|database|index)"
    r"|(?:the|this|your) (?:library|corpus|collection|database|index)"
    r"|have|contains?|hold|does"
    r"|on|about|from|by|of|since|after|before|between|published|written|were|was"
    r"|altogether|in all|in total|total)+"
)
_LIST = re.compile(
    # "please list all the", "show me", "which"
    r"^(?:please )?(?:can you )?"
    r"(?:list|show|give|find|name|display|which|what|any|the)?(?: are)?"
    r"(?: me)?(?: all)?(?: (?:of )?(?:the|your))?(?: (?:papers? )?)?"
    # "latest papers that you have"
    rf"\s*(?P<order>latest|newest|most recent|recent|oldest|earliest|first)?\s*{PAPERS}\s*"
    r"(?:(?:do you have|are there|in the library|you have|do you hold"
    r"|were|was|are|published|written) )*"
    # "from 2021", "about agents"
    r"(?P<how>from|in|on|about|by|of|published in|regarding|since|before|after|between"
    r"|dealing with|related to)\s+(?P<rest>.+)$"
)
_WHO = re.compile(
    r"^who (?:wrote|authored|published|are the authors of|is the author of|proposed the paper"
    r"|proposed|introduced|invented|created|developed)"
    r"\s+(?P<title>.+)$"
    r"|^(?:what are |list |show |give me )?(?:the )?authors? of\s+(?P<title2>.+)$"
)
# Asked of a method rather than of a paper: without a paper of that name it is research.
_INVENTED = re.compile(r"^who (?:proposed|introduced|invented|created|developed)\b")
_HELD = re.compile(
    r"^(?:is|do you have|do you hold|have you got|does the library (?:have|hold|contain)|is there)"
    r"\s+(?P<title>.+?)\s*"
    r"(?P<where>in (?:the|your|this) (?:library|corpus|collection|database|index))?$"
)
_WHEN = re.compile(
    r"^(?:when was|when were|what year was|in (?:what|which) year was)\s+(?P<title>.+?)\s+"
    r"(?:published|written|released|submitted|put on arxiv)$"
)
_TOPICS = re.compile(
    r"^(?:what|which) (?:topics?|areas?|fields?|subjects?)\b.*"
    r"\b(?:you (?:cover|have|hold|know)|(?:the|this|your) (?:library|corpus|collection|database))\b"
)
_EMPTY_KINDS = frozenset({"research", "scientific", "arxiv", "different", "total", "other", "such"})


@dataclass(frozen=True)
class CatalogueAnswer:
    """Text with ``[n]`` marks, and the papers that the numbers stand for, in order."""

    text: str
    papers: tuple[Paper, ...] = ()


def answer_from_catalogue(question: str, library: Library) -> CatalogueAnswer | None:
    """An exact answer when the question is about the library; None when it is about research."""
    plain = " ".join(re.sub(r"[?!]+$", "", question.strip()).split()).rstrip(" .")
    lowered = plain.casefold()
    for attempt in (_count, _listing, _authors, _published, _topics, _held):
        found = attempt(lowered, library)
        if found is not None:
            return replace(found, text=_as_typed(found.text, plain))
    return None


def _as_typed(text: str, question: str) -> str:
    """What is quoted from the question, in the spelling of the question."""

    def respell(match: re.Match[str]) -> str:
        place = question.casefold().find(match[1])
        typed = question[place : place + len(match[1])]
        return f"“{typed if place >= 0 else match[1]}”"

    return re.sub(r"“([^”]*)”", respell, text)


def listed_only_answer(papers: Sequence[Paper]) -> CatalogueAnswer:
    """Says that papers are listed by their facts only, and nothing about what they say."""
    named = " and ".join(f"“{paper.title}” [{n}]" for n, paper in enumerate(papers, 1))
    one = len(papers) == 1
    return CatalogueAnswer(
        f"{named} {'is' if one else 'are'} listed in the library, but only by title, authors and "
        f"date: {'its text is' if one else 'their texts are'} not in this index, so I cannot say "
        f"what {'it says' if one else 'they say'}.",
        tuple(papers),
    )


def _verb(papers: Sequence[Paper]) -> str:
    """Papers that cannot be searched are listed, not held."""
    return "holds" if all(paper.searchable for paper in papers) else "lists"


def _held_of(papers: Sequence[Paper]) -> str:
    """Of how many papers there is text, where that is not all."""
    searchable = [paper for paper in papers if paper.searchable]
    if len(searchable) == len(papers):
        return ""
    if not searchable:
        return " Only their facts are listed; I cannot answer from their text."
    digests = sum(paper.holding == "digest" for paper in searchable)
    kind = " (as digests)" if digests == len(searchable) else ""
    return (
        f" I can answer from the text of {len(searchable):,} of them{kind}; of the others only "
        "the facts are listed."
    )


def absent_answer(ids: Sequence[str]) -> str:
    """Says that papers are not held, and nothing about them."""
    named = " and ".join(ids)
    return f"The library does not hold {named}, so I cannot say anything about it."


def _count(question: str, library: Library) -> CatalogueAnswer | None:
    match = _HOW_MANY.match(question)
    if match is None:
        return None
    rest = (match["rest"] or match["rest2"] or match["rest3"] or "").strip()
    if rest and not _OWNED.match(rest):
        return None
    kind = " ".join(word for word in (match["kind"] or "").split() if word not in _EMPTY_KINDS)
    wanted = filter_from_words(rest) if not kind else subject_filter(kind)
    if wanted is None:
        return None
    papers = [paper for paper in library if wanted.accept(paper)]
    found = _papers(len(papers)) if papers else "no paper"
    if wanted.phrase:
        found += f" {wanted.phrase} (of {_papers(len(library))} in all)"
    return CatalogueAnswer(f"The library {_verb(papers)} {found}.{_held_of(papers)}")


def _listing(question: str, library: Library) -> CatalogueAnswer | None:
    match = _LIST.match(question)
    if match is None:
        return None
    rest = f"{match['how']} {match['rest']}"
    wanted = filter_from_words(rest)
    if wanted is None or not wanted.phrase:
        return None
    papers = [paper for paper in library if wanted.accept(paper)]
    if not papers and len(wanted.phrase.split()) > LONGEST_PHRASE:
        # "which papers on attention use dropout in the encoder": asks what papers say.
        return None
    oldest = match["order"] in {"oldest", "earliest", "first"}
    papers.sort(key=lambda paper: (paper.month, paper.paper_id), reverse=not oldest)
    if not papers:
        return CatalogueAnswer(f"The library holds no paper {wanted.phrase}.")
    shown = papers[:LISTED]
    head = f"The library {_verb(papers)} {_papers(len(papers))} {wanted.phrase}"
    order = "oldest first" if oldest else "newest first"
    more = f", {order}; the first {LISTED}:" if len(papers) > LISTED else f", {order}:"
    lines = [
        f"- {paper.title} ({paper.month_words or 'date unknown'}) [{n}]"
        for n, paper in enumerate(shown, 1)
    ]
    note = _held_of(papers).strip()
    return CatalogueAnswer(
        "\n".join([head + more, *lines, *(["", note] if note else [])]), tuple(shown)
    )


def _authors(question: str, library: Library) -> CatalogueAnswer | None:
    match = _WHO.match(question)
    if match is None:
        return None
    title = match["title"] or match["title2"]
    paper = find_paper(title, library)
    if paper is None:
        asked_for_paper = not _INVENTED.match(question)
        return CatalogueAnswer(_not_held(title)) if asked_for_paper else None
    if not paper.authors:
        return CatalogueAnswer(
            f"“{paper.title}” is in the library [1], but its authors are not recorded there.",
            (paper,),
        )
    return CatalogueAnswer(f"“{paper.title}” was written by {_names(paper.authors)} [1].", (paper,))


def _published(question: str, library: Library) -> CatalogueAnswer | None:
    match = _WHEN.match(question)
    if match is None:
        return None
    paper = find_paper(match["title"], library)
    if paper is None:
        return CatalogueAnswer(_not_held(match["title"]))
    words = paper.date_words
    date = f"{'on' if words.count(' ') > 1 else 'in'} {words}" if words else "at an unknown date"
    return CatalogueAnswer(f"“{paper.title}” appeared on arXiv {date} [1].", (paper,))


def _held(question: str, library: Library) -> CatalogueAnswer | None:
    match = _HELD.match(question)
    if match is None:
        return None
    quoted = bool(re.search(r"[\"“”]", match["title"])) or " paper" in question
    if not (match["where"] or (quoted and not question.startswith("is "))):
        return None
    paper = find_paper(match["title"], library)
    if paper is None:
        return CatalogueAnswer(_not_held(match["title"]))
    year = f" ({paper.year})" if paper.year else ""
    if not paper.searchable:
        return CatalogueAnswer(
            f"“{paper.title}”{year} is listed in the library [1], but only by its facts: its text "
            "is not in this index, so I cannot answer from it.",
            (paper,),
        )
    return CatalogueAnswer(f"Yes: “{paper.title}”{year} is in the library [1].", (paper,))


def _topics(question: str, library: Library) -> CatalogueAnswer | None:
    if not _TOPICS.match(question):
        return None
    topics = library.topics()
    if not topics:
        return CatalogueAnswer(
            f"The library holds {_papers(len(library))}; no topics are recorded."
        )
    listed = "; ".join(f"{name} ({count})" for name, count in topics.items())
    return CatalogueAnswer(f"The library covers {len(topics)} topics: {listed}.")


def _not_held(title: str) -> str:
    shown = re.sub(r"^(?:the |a )?paper\s+", "", title.strip()).strip(" \"“”'")
    return f"I find no paper called “{shown}” in the library."


def _papers(count: int) -> str:
    return f"{count:,} paper" + ("" if count == 1 else "s")


def _names(authors: Sequence[str]) -> str:
    if len(authors) == 1:
        return authors[0]
    shown = list(authors[:20])
    rest = len(authors) - len(shown)
    return (
        ", ".join(shown) + f" and {rest} others"
        if rest
        else ", ".join(shown[:-1]) + f" and {shown[-1]}"
    )
