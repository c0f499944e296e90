"""Real papers of many layouts, where the folder of PDFs stands beside the checkout.

No sentence of a paper is written here: facts, titles, counts and single words only.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rag.errors import UnreadablePaperError
from rag.indexing.document import PaperText
from rag.indexing.extract import extract_paper
from rag.indexing.references import is_entry

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "papers"
ODD = FOLDER / "odd"
# One and two columns, NeurIPS, ICLR, ICML, CVPR, ACL, ACM, AAAI, IEEE and Elsevier styles.
CHOSEN = (
    "1301.3781", "1409.1556", "1412.6980", "1606.03490", "1706.03762", "1706.07269",
    "1810.04805", "1911.05722", "2006.11632", "2106.09685", "2306.13549", "2404.07965",
)  # fmt: skip
WITH_APPENDIX = {
    "1409.1556",
    "1412.6980",
    "1706.03762",
    "1810.04805",
    "1911.05722",
    "2106.09685",
    "2404.07965",
}

pytestmark = [
    pytest.mark.papers,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of PDFs beside the checkout"),
]


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    lines = (FOLDER / "papers.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["arxiv_id"]: record for record in map(json.loads, lines)}


@pytest.fixture(scope="session")
def papers() -> dict[str, PaperText]:
    return {name: extract_paper(FOLDER / f"{name}.pdf") for name in CHOSEN}


def folded(text: str | None) -> str:
    return re.sub(r"\W+", "", text or "").casefold()


def paragraphs(paper: PaperText) -> list[str]:
    return [text for section in paper.sections for text in section.text.split("\n\n")]


@pytest.mark.parametrize("name", CHOSEN)
class TestPaper:
    def test_title_and_stamp(
        self, name: str, papers: dict[str, PaperText], facts: dict[str, Any]
    ) -> None:
        paper, fact = papers[name], facts[name]
        assert folded(paper.title) == folded(fact["title"])
        assert paper.page_count == fact["pages"]
        assert paper.stamp is not None
        assert paper.stamp.arxiv_id == name
        assert paper.stamp.version == fact["stamp_version"]
        assert paper.stamp.category == fact["arxiv_stamp_category"]
        assert paper.stamp.date == fact["stamp_date"]

    def test_abstract(self, name: str, papers: dict[str, PaperText]) -> None:
        paper = papers[name]
        assert paper.abstract is not None and 300 < len(paper.abstract) < 2_600
        assert paper.abstract_page == 1
        assert paper.abstract[0].isupper() and paper.abstract.rstrip()[-1] in ".!?"
        assert all(paper.abstract[:80] not in section.text for section in paper.sections)

    def test_no_references_are_left(self, name: str, papers: dict[str, PaperText]) -> None:
        listed = [text for text in paragraphs(papers[name]) if is_entry(text) and len(text) > 120]
        assert len(listed) <= 1
        headings = {folded(section.heading) for section in papers[name].sections}
        assert not headings & {"references", "bibliography", "acknowledgements", "acknowledgments"}

    def test_no_furniture_is_left(self, name: str, papers: dict[str, PaperText]) -> None:
        texts = paragraphs(papers[name])
        assert not any(re.fullmatch(r"\d{1,3}", text) for text in texts)
        assert not any(f"arXiv:{name}" in text for text in texts)
        title = folded(papers[name].title)
        assert not any(folded(text) == title for text in texts)
        assert not any(
            text.startswith(("Published as a conference", "Preprint. Under")) for text in texts
        )

    def test_sections_and_pages(self, name: str, papers: dict[str, PaperText]) -> None:
        paper = papers[name]
        headings = " ".join(section.heading for section in paper.sections).lower()
        assert "introduction" in headings
        assert re.search("conclusion|discussion|summary|contributions", headings)
        assert any(section.kind == "appendix" for section in paper.sections) == (
            name in WITH_APPENDIX
        )
        for section in paper.sections:
            offsets = [offset for offset, _ in section.page_breaks]
            pages = [page for _, page in section.page_breaks]
            assert (
                offsets[0] == 0
                and offsets == sorted(set(offsets))
                and offsets[-1] < len(section.text)
            )
            assert min(pages) >= 1 and max(pages) <= paper.page_count
            assert "\n" not in section.text.replace("\n\n", "")

    def test_text_reads_through(self, name: str, papers: dict[str, PaperText]) -> None:
        texts = paragraphs(papers[name])
        broken = sum(
            not re.search(r"[.?!:;][)\]”\"']*$", first) and second[0].islower()
            for first, second in pairwise(texts)
        )
        assert broken <= 0.04 * len(texts) + 1
        words = " ".join(texts)
        assert len(re.findall(r"[a-z]- (?!and\b|or\b|to\b|vs)[a-z]", words)) <= 3
        assert not re.search("[\x00-\x08\ue000-\uf8ff\ufb00-\ufb06\u00ad]", words)


def test_case_04_words_split_into_pieces_are_read(facts: dict[str, Any]) -> None:
    paper = extract_paper(ODD / "04-split-words-bishop-mdn-1994.pdf")
    words = re.findall(r"[a-z]+", " ".join(paragraphs(paper)).lower())
    assert words.count("network") + words.count("networks") > 50


@pytest.mark.parametrize(
    ("name", "reason"),
    [("01-scanned-no-text-hopfield-1985", "no text layer"), ("05-encrypted-password", "encrypted")],
)
def test_odd_files_are_skipped(name: str, reason: str) -> None:
    with pytest.raises(UnreadablePaperError) as caught:
        extract_paper(ODD / f"{name}.pdf")
    assert (caught.value.reason, caught.value.skipped) == (reason, True)


def test_truncated_file_is_used_with_a_note() -> None:
    paper = extract_paper(ODD / "10-truncated-1502.03167.pdf")
    assert paper.notes and paper.usable_characters > 10_000


def words_of(path: Path) -> set[str]:
    paper = extract_paper(path)
    whole = " ".join([paper.abstract or "", *paragraphs(paper)])
    return set(re.findall(r"[a-z]+", whole.lower()))


@pytest.mark.parametrize(
    ("name", "whole", "broken"),
    [
        (
            "odd/10-truncated-1502.03167",
            ["define", "efficient", "classification", "flowing", "shuffling", "overfitting"],
            ["dene", "ecient", "classication", "owing", "shufing"],
        ),
        (
            "odd/04-split-words-bishop-mdn-1994",
            ["defined", "efficient", "coefficients", "differences"],
            ["dened", "coecients", "dierences"],
        ),
        ("2409.03271", ["summation", "elicitation"], ["summaon", "elicitaon", "queson", "bufer"]),
    ],
)
def test_ligatures_that_the_fonts_lose_are_restored(
    name: str, whole: list[str], broken: list[str]
) -> None:
    words = words_of(FOLDER / f"{name}.pdf")
    assert set(whole) <= words
    assert not set(broken) & words


def test_heavy_maths_in_two_columns() -> None:
    paper = extract_paper(ODD / "13-two-column-heavy-maths-1807.04162.pdf")
    assert paper.abstract is not None
    assert any(section.kind == "appendix" for section in paper.sections)
