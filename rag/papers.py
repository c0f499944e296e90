"""Paper and Library: the facts about each paper, and the catalogue of all of them."""

from __future__ import annotations

import calendar
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

Tier = Literal["hand_picked", "fill"]
Holding = Literal["full_text", "digest", "abstract", "metadata"]

_ID = r"[0-9]{4}\.[0-9]{4,5}|[a-z][a-z-]*(?:\.[A-Z]{2})?/[0-9]{7}"
_BARE_ID = re.compile(_ID)
_ID_IN_TEXT = re.compile(rf"({_ID})(v[0-9]+)?(?!\d)")


@dataclass(frozen=True)
class Paper:
    """Facts about one paper; never a sentence of it.

    ``published`` is an ISO date as precise as is known: "2017-06-12", "2017-06" or "2017".
    ``version`` is the arXiv version that was indexed ("v5"), or None when unknown.
    ``names`` are what the paper's method, model or dataset is called ("LoRA"), most usual first;
    ``search_terms`` are other words that people look for it by.
    ``holding`` says what can be searched of it: nothing when it is "metadata".
    """

    paper_id: str
    title: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    categories: tuple[str, ...] = ()
    topic: str | None = None
    tier: Tier = "fill"
    version: str | None = None
    names: tuple[str, ...] = ()
    search_terms: tuple[str, ...] = ()
    holding: Holding = "metadata"

    @property
    def year(self) -> int | None:
        """The year of publication, or None when unknown."""
        return int(self.published[:4]) if self.published else None

    @property
    def month(self) -> str:
        """Year and month, "2021-06", as far as known: what dates are compared by, since a
        month-precise date says nothing of the day."""
        return (self.published or "")[:7]

    @property
    def date_words(self) -> str:
        """The date in words, as precise as is known: "17 June 2021", "June 2021", "2021", ""."""
        return _date_words(self.published or "")

    @property
    def month_words(self) -> str:
        """Month and year in words, for lists in which some days are not known."""
        return _date_words(self.month)

    @property
    def hand_picked(self) -> bool:
        """Whether a person chose this paper for the library."""
        return self.tier == "hand_picked"

    @property
    def searchable(self) -> bool:
        """Whether any text of the paper is in the index."""
        return self.holding != "metadata"

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


def _date_words(date: str) -> str:
    year, month, day = [*date.split("-"), "", ""][:3]
    name = calendar.month_name[int(month)] if month else ""
    return " ".join(part for part in (day.lstrip("0"), name, year) if part)


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
    """A title reduced to its lower-case ASCII words, for comparing titles.

    Case, punctuation, accents and TeX are folded: "H$_2$O" is "h2o", "$\\ell_1$" is "l1", and
    a Greek letter is its name, as in TeX.
    """
    plain = _without_tex(title) if "$" in title or "\\" in title else title
    decomposed = unicodedata.normalize("NFKD", plain)
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    if not letters.isascii():
        letters = letters.translate(_SPELLED)
    return " ".join(re.findall(r"[a-z0-9]+", letters.casefold()))


# Letters that Unicode does not take apart, and Greek letters by their names.
_SPELLED = str.maketrans(
    {
        **{
            chr(code): name.split()[-1].casefold()
            for code in (*range(0x391, 0x3AA), *range(0x3B1, 0x3CA))
            if (name := unicodedata.name(chr(code), "")).startswith("GREEK")
        },
        **dict(zip("łŁøØđĐħŦŧ", "lLoOdDhTt", strict=True)),
        **{"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ß": "ss", "ı": "i", "ϵ": "epsilon"},
    }
)


def _without_tex(title: str) -> str:
    """Commands lose their backslash or vanish, sub- and superscripts join what they belong to."""
    plain = re.sub(r"\\[`'^\"~=.]|\\[uvHcdbkrt](?=\{|\s)", "", title)
    plain = re.sub(
        r"\\(?:text|math|operator|emph|bf|it|rm|tt|sc|em)[a-z]*(?![A-Za-z])\s*", "", plain
    )
    plain = re.sub(r"\\ell(?![A-Za-z])", "l", plain)
    plain = re.sub(r"\\var(?=(?:epsilon|phi|theta|rho|pi|sigma|kappa)(?![A-Za-z]))", r"\\", plain)
    plain = re.sub(r"\\([A-Za-z]+)", r"\1", plain)
    return re.sub(r"[\\${}_^]", "", plain)


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
    for name in ("authors", "categories", "names", "search_terms"):
        value = fields.get(name, ())
        fields[name] = tuple(value) if isinstance(value, list | tuple) else ()
    return replace(Paper(paper_id="", title=""), **fields)  # type: ignore[arg-type]


def load_papers(path: Path) -> list[Paper]:
    """The papers of a manifest file: a JSON array of objects with the fields of ``Paper``."""
    records = json.loads(path.read_text(encoding="utf-8"))
    return [paper_from_record(record) for record in records]


def dump_papers(papers: Iterable[Paper], path: Path) -> None:
    """Write a manifest: one paper a line inside a JSON array, ordered by id.

    Facts that are unknown are left out, and so is what an index holds, which is its own affair.
    """
    lines = [
        json.dumps(
            {
                name: value
                for name, value in asdict(paper).items()
                if value not in (None, ()) and name != "holding"
            },
            ensure_ascii=False,
        )
        for paper in sorted(papers, key=lambda paper: paper.paper_id)
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
