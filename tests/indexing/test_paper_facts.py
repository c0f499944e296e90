"""How a PDF and the known facts become one paper."""

from __future__ import annotations

from rag.indexing.document import PaperText, Stamp
from rag.indexing.paper_facts import PaperFacts, paper_of_pdf
from rag.papers import Library, Paper
from rag.selection.records import PaperRecord

LONG = "This abstract is long enough to be one. " * 6
STAMP = Stamp("2301.00001", "v2", "cs.LG", "2023-01-03")


def text(title="From Page One", abstract=LONG, stamp=STAMP) -> PaperText:
    return PaperText(title, abstract, 1 if abstract else None, stamp, 3, (), ())


def test_the_manifest_comes_before_the_record_and_the_record_before_the_pdf():
    known = Paper("2301.00001", "From Manifest", ("Ann Ray",), None, (), "widgets", "hand_picked")
    record = PaperRecord(
        "2301.00001", "From Record", ("Bob Lee",), "2023-01-02", ("cs.CL",), "Record's."
    )
    paper, abstract, page = paper_of_pdf(
        "2301.00001", text(), PaperFacts(Library([known]), {"2301.00001": record})
    )
    assert (paper.title, paper.authors) == ("From Manifest", ("Ann Ray",))
    assert (paper.published, paper.categories) == ("2023-01-02", ("cs.CL",))
    assert (paper.topic, paper.tier, paper.holding) == ("widgets", "hand_picked", "full_text")
    assert (abstract, page) == (LONG, 1)

    paper, _, _ = paper_of_pdf(
        "2301.00001", text(), PaperFacts(Library([]), {"2301.00001": record})
    )
    assert (paper.title, paper.authors, paper.tier) == ("From Record", ("Bob Lee",), "fill")


def test_without_sources_page_one_and_the_id_speak_and_authors_stay_unknown():
    paper, _, _ = paper_of_pdf("2301.00001", text(), PaperFacts(Library([])))
    assert (paper.title, paper.authors, paper.published) == ("From Page One", (), "2023-01")
    assert (paper.version, paper.categories) == ("v2", ("cs.LG",))
    untitled, _, _ = paper_of_pdf("my-notes", text(title=None, stamp=None), PaperFacts(Library([])))
    assert (untitled.title, untitled.published, untitled.version) == ("my-notes", None, None)


def test_a_stamp_names_a_file_without_an_id_but_never_renames_one_with_an_id():
    named, _, _ = paper_of_pdf("my-notes", text(), PaperFacts(Library([])))
    assert (named.paper_id, named.version) == ("2301.00001", "v2")
    other, _, _ = paper_of_pdf("2302.99999", text(), PaperFacts(Library([])))
    assert (other.paper_id, other.version) == ("2302.99999", None)


def test_the_abstract_of_the_record_stands_in_without_a_page():
    facts = PaperFacts(
        Library([]), {"2301.00001": PaperRecord("2301.00001", "T", abstract="From the record.")}
    )
    for misread in (None, "Too short."):
        _, abstract, page = paper_of_pdf("2301.00001", text(abstract=misread), facts)
        assert (abstract, page) == ("From the record.", None)
    _, abstract, page = paper_of_pdf(
        "2301.00001", text(abstract="Too short."), PaperFacts(Library([]))
    )
    assert (abstract, page) == ("Too short.", 1)
