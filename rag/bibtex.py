"""BibTeX entries of arXiv papers."""

from __future__ import annotations

import re

from rag.papers import Paper, fold_title

# BibTeX reads these as commands or structure; titles keep their capitals by the outer braces.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    # Not "\{": BibTeX counts braces behind a backslash as well.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def bibtex_entry(paper: Paper) -> str:
    """A ``@misc`` entry as arXiv gives it (eprint, archivePrefix, primaryClass), for any BibTeX.

    Unknown facts are left out.
    """
    fields = {
        "title": f"{{{_escaped(paper.title)}}}",
        "author": " and ".join(_escaped(author) for author in _authors(paper)),
        "year": str(paper.year or ""),
        "eprint": paper.paper_id,
        "archivePrefix": "arXiv",
        "primaryClass": paper.categories[0] if paper.categories else "",
        "url": f"https://arxiv.org/abs/{paper.paper_id}",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@misc{{{citation_key(paper)},\n" + ",\n".join(lines) + "\n}"


def citation_key(paper: Paper) -> str:
    """ "hu2021lora": first author's family name, year, first word of the title."""
    authors = _authors(paper)
    family = fold_title(authors[0].split()[-1]) if authors else ""
    words = [
        word for word in fold_title(paper.title).split() if word not in {"a", "an", "the", "on"}
    ]
    key = f"{family}{paper.year or ''}{words[0] if words else ''}".replace(" ", "")
    return key if key[:1].isalpha() else f"arxiv{re.sub(r'[^a-z0-9]', '', paper.paper_id)}"


def _authors(paper: Paper) -> list[str]:
    return [author for author in paper.authors if author.strip()]


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(char, char) for char in text)
