"""Paper and Library: the facts about each paper, and the catalogue of all of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

Tier = Literal["hand_picked", "fill"]
Holding = Literal["full_text", "digest", "metadata"]

_ID = r"[0-9]{4}\.[0-9]{4,5}|[a-z][a-z-]*(?:\.[A-Z]{2})?/[0-9]{7}"
_BARE_ID = re.compile(_ID)
_ID_IN_TEXT = re.compile(rf"({_ID})(v[0-9]+)?(?!\d)")


@dataclass(frozen=True)
class Paper:
    """Facts about one paper; never a sentence of it.

    ``published`` is an ISO date as precise as is known: "2017-06-12", "2017-06" or "2017".
    ``version`` is the arXiv version that was indexed ("v5"), or None when unknown.
    ``holding`` says what the library holds of it.
    """

    paper_id: str
    title: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    categories: tuple[str, ...] = ()
    topic: str | None = None
    tier: Tier = "fill"
    version: str | None = None
    holding: Holding = "metadata"

    @property
    def year(self) -> int | None:
        """The year of publication, or None when unknown."""
        return int(self.published[:4]) if self.published else None

    @property
    def hand_picked(self) -> bool:
        """Whether a person chose this paper for the library."""
        return self.tier == "hand_picked"

    @property
    def versioned_id(self) -> str:
        """The id with the indexed version, since pages move between versions."""
        return f"{self.paper_id}{self.version or ''}"

    @property
    def abs_url(self) -> str:
        """The paper's page on arXiv."""
        return f"https://arxiv.org/abs/{self.versioned_id}"

    def pdf_url(self, page: int | None = None) -> str:
        """The paper's PDF on arXiv, opened at ``page`` (1-based) where given."""
        anchor = f"#page={page}" if page else ""
        return f"https://arxiv.org/pdf/{self.versioned_id}{anchor}"

    @property
    def short_authors(self) -> str:
        """ "Hu et al.", "Li, Liang" or "" when no authors are known."""
        names = [author.split()[-1] for author in self.authors if author.split()]
        if len(names) > 2:
            return f"{names[0]} et al."
        return ", ".join(names)


def split_version(text: str) -> tuple[str, str | None] | None:
    """``"2301.00001v3"``, an arXiv URL or a safe file name -> ``("2301.00001", "v3")``.

    None when the text is not an arXiv id (path tricks included).
    """
    cleaned = text.strip()
    cleaned = re.sub(
        r"^(https?://)?(www\.|export\.)?arxiv\.org/(abs|pdf)/", "", cleaned, flags=re.I
    )
    cleaned = re.sub(r"^arxiv:", "", cleaned, flags=re.I)
    cleaned = re.sub(r"\.pdf$", "", cleaned)
    match = re.fullmatch(_ID_IN_TEXT, cleaned)
    if match is None:
        # An old-style id as a file name has "_" or "-" for its slash.
        match = re.fullmatch(
            _ID_IN_TEXT, re.sub(r"^([a-z][a-z-]*(?:\.[A-Z]{2})?)[_-](\d{7})", r"\1/\2", cleaned)
        )
    if match is None:
        return None
    return match.group(1), match.group(2)


def ids_in_text(text: str) -> list[str]:
    """The arXiv ids that occur in running text, without versions, in order, each once."""
    found = [match.group(1) for match in re.finditer(r"(?<![\d./])" + _ID_IN_TEXT.pattern, text)]
    return list(dict.fromkeys(found))


def is_paper_id(text: str) -> bool:
    """Whether ``text`` is a bare arXiv id, new style or old style."""
    return _BARE_ID.fullmatch(text) is not None


def year_of_id(paper_id: str) -> int | None:
    """The year that an arXiv id itself tells: ``2106.09685`` -> 2021, ``cs/0112017`` -> 2001."""
    digits = paper_id.split("/")[-1][:2]
    if not is_paper_id(paper_id):
        return None
    short = int(digits)
    return 1900 + short if short > 90 else 2000 + short


def month_of_id(paper_id: str) -> str | None:
    """The month that an arXiv id itself tells: ``2106.09685`` -> "2021-06"; None without one."""
    year = year_of_id(paper_id)
    return None if year is None else f"{year}-{paper_id.split('/')[-1][2:4]}"


def fold_title(title: str) -> str:
    """A title reduced to its lower-case ASCII words, for comparing titles."""
    decomposed = unicodedata.normalize("NFKD", title)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(re.findall(r"[a-z0-9]+", plain.casefold()))


class Library:
    """The catalogue: papers by id, in a stable order (by id).

    Immutable after construction; safe to read from several threads.
    """

    def __init__(self, papers: Iterable[Paper]) -> None:
        by_id = {paper.paper_id: paper for paper in papers}
        self._papers = dict(sorted(by_id.items()))

    def __len__(self) -> int:
        return len(self._papers)

    def __iter__(self) -> Iterator[Paper]:
        return iter(self._papers.values())

    def __contains__(self, paper_id: object) -> bool:
        return paper_id in self._papers

    def get(self, paper_id: str) -> Paper | None:
        """The paper with this id, or None."""
        return self._papers.get(paper_id)

    def __getitem__(self, paper_id: str) -> Paper:
        return self._papers[paper_id]

    def with_papers(self, papers: Iterable[Paper]) -> Library:
        """A new library in which ``papers`` are added or replace those of the same id."""
        return Library([*self, *papers])

    def by_title(self, title: str) -> Paper | None:
        """The paper whose folded title equals the folded ``title``; None for one without words."""
        wanted = fold_title(title)
        if not wanted:
            return None
        return next((paper for paper in self if fold_title(paper.title) == wanted), None)

    def topics(self) -> dict[str, int]:
        """Topic -> number of papers, most first."""
        counts: dict[str, int] = {}
        for paper in self:
            if paper.topic:
                counts[paper.topic] = counts.get(paper.topic, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def paper_from_record(record: dict[str, object]) -> Paper:
    """A Paper from one JSON object of a manifest; unknown keys raise ``TypeError``."""
    fields = dict(record)
    for name in ("authors", "categories"):
        value = fields.get(name, ())
        fields[name] = tuple(value) if isinstance(value, list | tuple) else ()
    return replace(Paper(paper_id="", title=""), **fields)  # type: ignore[arg-type]


def load_papers(path: Path) -> list[Paper]:
    """The papers of a manifest file: a JSON array of objects with the fields of ``Paper``."""
    records = json.loads(path.read_text(encoding="utf-8"))
    return [paper_from_record(record) for record in records]


def dump_papers(papers: Iterable[Paper], path: Path) -> None:
    """Write a manifest: one paper a line inside a JSON array, ordered by id."""
    lines = [
        json.dumps(asdict(paper), ensure_ascii=False, sort_keys=False)
        for paper in sorted(papers, key=lambda paper: paper.paper_id)
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
