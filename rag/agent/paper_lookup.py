"""PaperLookup: the paper that a question names, by its arXiv id or its title."""

from __future__ import annotations

import re
from collections.abc import Callable

from rag.agent.paper_filter import PAPERS
from rag.papers import Library, Paper, fold_title, ids_in_text


def absent_ids(question: str, library: Library) -> list[str]:
    """arXiv ids that the question names and the library does not hold."""
    return [paper_id for paper_id in ids_in_text(question) if paper_id not in library]


def held_ids(question: str, library: Library) -> list[str]:
    """arXiv ids that the question names and the library holds."""
    return [paper_id for paper_id in ids_in_text(question) if paper_id in library]


def with_titles(question: str, library: Library) -> str:
    """The question with the arXiv ids of held papers replaced by their quoted titles.

    No passage mentions the id of its own paper, so a search for the id finds nothing.
    """
    for paper_id in held_ids(question, library):
        title = library[paper_id].title.split(":")[0]
        spelled = re.compile(rf"(?:arxiv:\s*)?{re.escape(paper_id)}(?:v\d+)?", re.I)
        question = f"“{title}”".join(spelled.split(question))
    return question


# "What does LoRA say about rank?", "according to the T5 paper": the paper itself is asked.
_SAYS = re.compile(
    r"^(?:and )?what (?:does|do|did) (?P<name>.+?)\s+(?:say|write|report|claim|state|conclude)\b",
    re.I,
)
# The look-ahead lets a name begin at every article: "the rank in the LoRA paper".
_THE_PAPER = re.compile(r"\b(?:the|in|from|of|to) (?=(?P<name>[^,;?]{2,120}?) paper\b)", re.I)


def named_papers(question: str, library: Library) -> list[Paper]:
    """The listed papers that a question names by arXiv id, or as "the LoRA paper"."""
    held = [library[paper_id] for paper_id in held_ids(question, library)]
    if held:
        return held
    for pattern in (_SAYS, _THE_PAPER):
        for match in pattern.finditer(question.strip()):
            paper = find_paper(match["name"], library, exactly=True)
            if paper is not None:
                return [paper]
    return []


def find_paper(title: str, library: Library, *, exactly: bool = False) -> Paper | None:
    """The paper whose title, the part of it before its colon, or name is what was typed.

    A named method ("LoRA", "T5") finds the paper of that name or whose title begins with it; else,
    unless ``exactly``, one paper whose title holds all the words; never one of several.
    """
    cleaned = re.sub(r"[\"“”'‘’]", " ", title)
    cleaned = re.sub(
        rf"\b(?:the )?(?:{PAPERS})\b(?: (?:on|about|called|titled))?|\barxiv\b", " ", cleaned
    )
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
        lambda key: wanted in {fold_title(name) for name in library[key].names[:1]},
        lambda key: wanted in {fold_title(name) for name in library[key].names},
        lambda key: words == heads[key].split()[: len(words)],
        lambda key: f" {wanted} " in f" {folded[key]} " and len(words) > 1,
    )
    for test in tests[: 4 if exactly else None]:
        found = [paper for paper in library if test(paper.paper_id)]
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None
