"""Papers of which there is no PDF: by digest or abstract, as is preferred."""

from __future__ import annotations

import pytest
from builders import StubEmbedder, prose

from rag.indexing.digests import Digest, DigestParagraph
from rag.indexing.short_papers import ShortPaper, paper_of_digest, short_papers
from rag.papers import Library, Paper
from rag.sections import IndexingSettings
from rag.selection.records import PaperRecord

BOTH, DIGEST, ABSTRACT, NEITHER, BLANK = (f"2301.{number:05d}" for number in range(1, 6))


def digest(paper_id: str) -> Digest:
    text = f"A digest of {paper_id} in words of our own, long enough to count."
    paragraph = DigestParagraph(kind="summary", pages=(1, 2), text=text)
    return Digest(
        paper_id=paper_id, title="D", authors=("Ann",), paragraphs=(paragraph,), search_terms=("w",)
    )


DIGESTS = {name: digest(name) for name in (BOTH, DIGEST)}
RECORDS = {
    name: PaperRecord(name, "R", abstract=None if name == BLANK else f"An abstract of {name}.")
    for name in (BOTH, ABSTRACT, BLANK)
}
PAPERS = [
    Paper(name, f"Title {name}", ("Bo Lim",), "2023-01", topic="Widgets", version="v2")
    for name in (BOTH, DIGEST, ABSTRACT, NEITHER, BLANK)
]


def held(**options: str) -> tuple[dict[str, ShortPaper], list[str]]:
    found, missing = short_papers(
        PAPERS, DIGESTS, RECORDS, StubEmbedder(), IndexingSettings(), **options  # type: ignore[arg-type]
    )  # fmt: skip
    return {short.paper.paper_id: short for short in found}, missing


@pytest.mark.parametrize(
    ("options", "of_both"),
    [({}, "digest"), ({"prefer": "digest"}, "digest"), ({"prefer": "abstract"}, "abstract")],
)
def test_what_is_preferred_is_taken_where_there_are_both(options, of_both):
    found, missing = held(**options)
    holdings = {name: short.paper.holding for name, short in found.items()}
    assert holdings == {BOTH: of_both, DIGEST: "digest", ABSTRACT: "abstract"}
    assert missing == [NEITHER, BLANK]


def test_chunks_and_facts_are_those_of_the_kind():
    found, _ = held(prefer="abstract")
    (chunk,) = found[BOTH].chunks
    assert (chunk.chunk_type, chunk.text) == ("abstract", f"An abstract of {BOTH}.")
    assert (chunk.chunk_index, chunk.page_breaks) == (0, ())
    assert found[BOTH].paper.topic == "Widgets"
    (chunk,) = found[DIGEST].chunks
    assert chunk.chunk_type == "digest" and chunk.text.startswith("A digest of")
    paper = found[DIGEST].paper
    assert (paper.title, paper.authors, paper.version) == (f"Title {DIGEST}", ("Bo Lim",), "v2")
    assert paper.search_terms == ("w",)


def test_a_long_abstract_is_several_chunks_and_loses_nothing():
    record = PaperRecord(ABSTRACT, "R", abstract=prose("widget", 60))
    found, _ = short_papers(
        [PAPERS[2]], {}, {ABSTRACT: record}, StubEmbedder(), IndexingSettings(), prefer="abstract"
    )
    texts = [chunk.text for chunk in found[0].chunks]
    assert len(texts) > 2
    assert " ".join(texts) == record.abstract
    assert [chunk.chunk_index for chunk in found[0].chunks] == list(range(len(texts)))


def test_a_digest_tells_facts_that_no_manifest_has():
    paper = paper_of_digest(digest("2106.09685"), Library([]))
    assert (paper.title, paper.authors, paper.published) == ("D", ("Ann",), "2021-06")
    assert (paper.tier, paper.holding) == ("hand_picked", "digest")
