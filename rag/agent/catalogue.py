"""Catalogue: questions about the library itself, answered exactly from the facts it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.papers import Library, Paper, fold_title, ids_in_text
from rag.retrieval.terms import terms

LISTED = 10
_PAPERS = r"(?:papers?|articles?|publications?|works?|preprints?|documents?|studies)"
_HOW_MANY = re.compile(
    rf"^(?:and )?how many (?P<kind>(?:[\w-]+ ){{0,3}}?){_PAPERS}(?P<rest>\b.*)$|^(?:what is|what's) the number of {_PAPERS}(?P<rest2>\b.*)$"
    rf"|^(?:number|count) of {_PAPERS}(?P<rest3>\b.*)$"
)
_OWNED = re.compile(
    r"^(?:\s|\?|do you (?:have|hold|know|contain|cover)|are (?:there|here|you)|are|is|in|"
    r"(?:in|does) (?:the|this|your) (?:library|corpus|collection|database|index)|"
    r"(?:the|this|your) (?:library|corpus|collection|database|index)|have|contains?|hold|does|on|"
    r"about|from|by|of|published|written|were|was|altogether|in all|in total|total)+"
)
_LIST = re.compile(
    rf"^(?:please )?(?:can you )?(?:list|show|give|find|name|display|which|what|any|the)?(?: me)?(?: all)?(?: (?:of )?the)?(?: (?:papers? )?)?"
    rf"\s*(?P<order>latest|newest|most recent|recent|oldest|earliest|first)?\s*{_PAPERS}\s*"
    r"(?:(?:do you have|are there|in the library|you have|do you hold|were|was|are|published|written) )*"
    r"(?P<how>from|in|on|about|by|of|published in|regarding|since|before|after|between|dealing with|related to)\s+(?P<rest>.+)$"
)
_WHO = re.compile(
    r"^who (?:wrote|authored|published|are the authors of|is the author of|proposed the paper)\s+(?P<title>.+)$"
    r"|^(?:what are |list |show |give me )?(?:the )?authors? of\s+(?P<title2>.+)$"
)
_HELD = re.compile(
    r"^(?:is|do you have|do you hold|have you got|does the library (?:have|hold|contain)|is there)\s+(?P<title>.+?)\s*"
    r"(?P<where>in (?:the|your|this) (?:library|corpus|collection|database|index))?$"
)
_WHEN = re.compile(
    r"^(?:when was|when were|what year was|in (?:what|which) year was)\s+(?P<title>.+?)\s+(?:published|written|released|submitted|put on arxiv)$"
)
_TOPICS = re.compile(
    r"^(?:what|which) (?:topics?|areas?|fields?|subjects?)\b.*(?:cover|have|library|in|about|hold|corpus)?.*$"
)
_YEAR = re.compile(r"\b(19[89]\d|20[0-4]\d)\b")
_SPAN = re.compile(
    r"(?:between|from)?\s*\b(19[89]\d|20[0-4]\d)\b\s*(?:and|to|-|–|until)\s*\b(19[89]\d|20[0-4]\d)\b"
)
_NOISE = re.compile(
    rf"\b(?:do you (?:have|hold|know)|are there|is there|in (?:the|your|this) (?:library|corpus|collection|database|index)|"
    rf"(?:the|your|this) (?:library|corpus|collection|database|index)|published|written|released|have|has|{_PAPERS}|"
    r"in total|altogether|in all|please|from the year|the year|contain|contains|hold|you|are|were|was|there|does|do)\b"
)
_RELATION = re.compile(
    r"^(?:(?:published|written) )?(?:on|about|from|in|of|by|regarding|related to|dealing with|cover|covering)\b"
)
_EMPTY_KINDS = frozenset({"research", "scientific", "arxiv", "different", "total", "other", "such"})


@dataclass(frozen=True)
class CatalogueAnswer:
    """Text with ``[n]`` marks, and the papers that the numbers stand for, in order."""

    text: str
    papers: tuple[Paper, ...] = ()


@dataclass(frozen=True)
class Filter:
    """Which papers are meant, and how that is said."""

    accept: Callable[[Paper], bool]
    phrase: str


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


def absent_ids(question: str, library: Library) -> list[str]:
    """arXiv ids that the question names and the library does not hold."""
    return [paper_id for paper_id in ids_in_text(question) if paper_id not in library]


def held_ids(question: str, library: Library) -> list[str]:
    """arXiv ids that the question names and the library holds."""
    return [paper_id for paper_id in ids_in_text(question) if paper_id in library]


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
    wanted = _filter(rest, library) if not kind else _subject_filter(kind)
    if wanted is None:
        return None
    papers = [paper for paper in library if wanted.accept(paper)]
    total = len(library)
    if not wanted.phrase:
        return CatalogueAnswer(f"The library holds {_papers(total)}.")
    held = f"{_papers(len(papers)) if papers else 'no paper'} {wanted.phrase}"
    return CatalogueAnswer(f"The library holds {held} (of {_papers(total)} in all).")


def _listing(question: str, library: Library) -> CatalogueAnswer | None:
    match = _LIST.match(question)
    if match is None:
        return None
    rest = f"{match['how']} {match['rest']}"
    wanted = _filter(rest, library)
    if wanted is None or not wanted.phrase:
        return None
    papers = [paper for paper in library if wanted.accept(paper)]
    oldest = match["order"] in {"oldest", "earliest", "first"}
    papers.sort(key=lambda paper: (paper.published or "", paper.paper_id), reverse=not oldest)
    if not papers:
        return CatalogueAnswer(f"The library holds no paper {wanted.phrase}.")
    shown = papers[:LISTED]
    head = f"The library holds {_papers(len(papers))} {wanted.phrase}"
    order = "oldest first" if oldest else "newest first"
    more = f", {order}; the first {LISTED}:" if len(papers) > LISTED else f", {order}:"
    lines = [f"- {paper.title} ({paper.published or 'date unknown'}) [{n}]" for n, paper in enumerate(shown, 1)]
    return CatalogueAnswer("\n".join([head + more, *lines]), tuple(shown))


def _authors(question: str, library: Library) -> CatalogueAnswer | None:
    match = _WHO.match(question)
    if match is None:
        return None
    title = match["title"] or match["title2"]
    paper = find_paper(title, library)
    if paper is None:
        return CatalogueAnswer(_not_held(title))
    if not paper.authors:
        return CatalogueAnswer(
            f"“{paper.title}” is in the library [1], but its authors are not recorded there.", (paper,)
        )
    return CatalogueAnswer(f"“{paper.title}” was written by {_names(paper.authors)} [1].", (paper,))


def _published(question: str, library: Library) -> CatalogueAnswer | None:
    match = _WHEN.match(question)
    if match is None:
        return None
    paper = find_paper(match["title"], library)
    if paper is None:
        return CatalogueAnswer(_not_held(match["title"]))
    date = paper.published or "an unknown date"
    return CatalogueAnswer(f"“{paper.title}” appeared on arXiv in {date} [1].", (paper,))


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
    return CatalogueAnswer(f"Yes: “{paper.title}”{year} is in the library [1].", (paper,))


def _topics(question: str, library: Library) -> CatalogueAnswer | None:
    asks = _TOPICS.match(question) and re.search(r"\b(you|library|corpus|collection)\b", question)
    if not asks:
        return None
    topics = library.topics()
    if not topics:
        return CatalogueAnswer(f"The library holds {_papers(len(library))}; no topics are recorded.")
    listed = "; ".join(f"{name} ({count})" for name, count in topics.items())
    return CatalogueAnswer(f"The library covers {len(topics)} topics: {listed}.")


def _filter(rest: str, library: Library) -> Filter | None:
    """The papers that the words after "papers" select; None when they do not fit a catalogue."""
    span = _SPAN.search(rest)
    if span:
        low, high = sorted((int(span[1]), int(span[2])))
        return Filter(lambda paper: low <= (paper.year or 0) <= high, f"from {low} to {high}")
    year = _YEAR.search(rest)
    if year:
        return _year_filter(rest, int(year[1]))
    words = " ".join(_NOISE.sub(" ", rest).split())
    by = re.match(r"^by\s+(.+)$", words)
    if by:
        return _author_filter(by[1])
    if not words:
        return Filter(lambda paper: True, "")
    subject = _RELATION.sub("", words).strip(" :,")
    return _subject_filter(subject) if subject and subject != words else None


def _year_filter(rest: str, year: int) -> Filter:
    if re.search(r"\b(since|after)\b", rest):
        least = year + 1 if "after" in rest else year
        return Filter(lambda paper: (paper.year or 0) >= least, f"from {least} or later")
    if re.search(r"\bbefore\b", rest):
        return Filter(lambda paper: 0 < (paper.year or 0) < year, f"from before {year}")
    return Filter(lambda paper: paper.year == year, f"from {year}")


def _author_filter(name: str) -> Filter:
    wanted = set(fold_title(name).split())

    def wrote(paper: Paper) -> bool:
        return any(wanted <= set(fold_title(author).split()) for author in paper.authors)

    return Filter(wrote, f"by {name.title()}")


def _subject_filter(words: str) -> Filter:
    wanted = {_stem(term) for term in terms(words)}

    def about(paper: Paper) -> bool:
        held = {_stem(term) for term in terms(f"{paper.title} {paper.topic or ''}")}
        return bool(wanted) and wanted <= held

    return Filter(about, f"on {words}")


def _stem(term: str) -> str:
    return term[:-1] if len(term) > 3 and term.endswith("s") and not term.endswith("ss") else term


def find_paper(title: str, library: Library) -> Paper | None:
    """The paper whose title, or the part of it before its colon, is what was typed.

    A named method ("LoRA") finds the paper whose title begins with it; else one paper whose
    title holds all the words; never one of several.
    """
    cleaned = re.sub(r"[\"“”'‘’]", " ", title)
    cleaned = re.sub(rf"\b(?:the )?(?:{_PAPERS})\b(?: (?:on|about|called|titled))?|\barxiv\b", " ", cleaned)
    ids = held_ids(cleaned, library)
    if ids:
        return library[ids[0]]
    wanted = fold_title(re.sub(r"^\s*(?:the|a|an)\s", "", cleaned))
    if not wanted:
        return None
    folded = {paper.paper_id: fold_title(paper.title) for paper in library}
    heads = {paper.paper_id: fold_title(paper.title.split(":")[0]) for paper in library}
    words = wanted.split()
    tests: tuple[Callable[[str], bool], ...] = (
        lambda key: folded[key] == wanted,
        lambda key: heads[key] == wanted,
        lambda key: words == heads[key].split()[: len(words)],
        lambda key: f" {wanted} " in f" {folded[key]} " and len(words) > 1,
    )
    for test in tests:
        found = [paper for paper in library if test(paper.paper_id)]
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None


def _not_held(title: str) -> str:
    shown = re.sub(r"^(?:the paper|paper)\s+", "", title.strip(" \"“”'"))
    return f"I find no paper called “{shown}” in the library."


def _papers(count: int) -> str:
    return f"{count:,} paper" + ("" if count == 1 else "s")


def _names(authors: Sequence[str]) -> str:
    if len(authors) == 1:
        return authors[0]
    shown = list(authors[:20])
    rest = len(authors) - len(shown)
    return ", ".join(shown) + f" and {rest} others" if rest else ", ".join(shown[:-1]) + f" and {shown[-1]}"
