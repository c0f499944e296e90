from __future__ import annotations

import time

from rag.papers import Library, Paper
from rag.ui.library_rows import (
    ASKABLE,
    COLUMNS,
    LibraryRows,
    PaperFilter,
    authors_line,
    filter_frame,
    library_frame,
)

from .fake_engine import HOSTILE_TITLE, FakeEngine, make_papers


def titles(wanted: PaperFilter, papers: list[Paper] | None = None) -> list[str]:
    frame = library_frame(Library(papers or make_papers(304)))
    return list(filter_frame(frame, wanted)["Title"])


def test_filters_narrow_by_words_topic_year_tier_and_holding() -> None:
    frame = library_frame(Library(make_papers(304)))
    assert len(filter_frame(frame, PaperFilter())) == 304
    assert len(filter_frame(frame, PaperFilter(words="  vaswani NEED "))) == 1
    assert len(filter_frame(frame, PaperFilter(words=".*"))) == 0  # words, not patterns
    by_topic = filter_frame(frame, PaperFilter(topics=("Diffusion", "Speech")))
    assert set(by_topic["Topic"]) == {"Diffusion", "Speech"}
    years = filter_frame(frame, PaperFilter(first_year=2017, last_year=2018))
    assert set(years["Year"]) == {"2017", "2018"}
    turned = filter_frame(frame, PaperFilter(first_year=2018, last_year=2017))
    assert list(turned["arXiv"]) == list(years["arXiv"])
    assert set(filter_frame(frame, PaperFilter(tier="fill"))["Tier"]) == {"fill"}
    only = filter_frame(frame, PaperFilter(holding="metadata"))
    assert set(only["Holds"]) == {"metadata only"}
    askable = filter_frame(frame, PaperFilter(holding=ASKABLE))
    assert len(only) + len(askable) == 304
    assert set(askable["Holds"]) == {"digest", "full text"}


def test_accents_case_and_method_names_are_found() -> None:
    for words in ("schrodinger", "SCHRÖDINGER", "akos schrodinger", "word2vec", "Word2Vec mikolov"):
        assert titles(PaperFilter(words=words)) == [
            "Efficient Estimation of Word Representations in Vector Space"
        ], words
    other = Paper("2401.00001", "深度学习 for all", ("李 明",))
    assert titles(PaperFilter(words="深度"), [other]) == [other.title]
    assert titles(PaperFilter(words="深海"), [other]) == []


def test_ids_are_found_as_they_are_typed_and_as_they_are_pasted() -> None:
    for words in (
        "2106.09685",
        "2106.0968",
        "https://arxiv.org/abs/2106.09685v2",
        "arXiv:2106.09685",
    ):
        assert titles(PaperFilter(words=words)) == [
            "LoRA: Low-Rank Adaptation of Large Language Models"
        ], words


def test_the_paper_that_is_called_so_comes_first() -> None:
    papers = [
        Paper("2106.09685", "Low-Rank Adaptation", published="2021", names=("LoRA",)),
        Paper("2405.00001", "Flora: a lora of lora", published="2024"),
    ]
    assert titles(PaperFilter(words="lora"), papers)[0] == "Low-Rank Adaptation"
    assert titles(PaperFilter(words="lor"), papers)[0] == "Flora: a lora of lora"


def test_sorts() -> None:
    papers = [
        Paper("2101.00001", "Beta", ("Zoe Young",), "2021-01"),
        Paper("2301.00001", "álpha", ("Amy Zed",), "2023-01-05"),
        Paper("2201.00001", "Gamma"),
    ]
    assert titles(PaperFilter(), papers) == ["álpha", "Beta", "Gamma"]
    assert titles(PaperFilter(sort="oldest"), papers) == ["Beta", "álpha", "Gamma"]
    assert titles(PaperFilter(sort="title"), papers) == ["álpha", "Beta", "Gamma"]
    assert titles(PaperFilter(sort="author"), papers) == ["Beta", "álpha", "Gamma"]


def test_hostile_titles_stay_as_they_are_and_long_ones_are_cut() -> None:
    frame = library_frame(Library(make_papers(20))).set_index("arXiv")
    assert frame["Title"]["2301.00001"] == HOSTILE_TITLE  # a cell of plain text
    assert len(frame["Title"]["2301.00003"]) < 300
    assert frame["Authors"]["2301.00002"].endswith("and 58 more")
    assert authors_line(()) == "–"
    assert authors_line(("A", "B", "C")) == "A, B, C"
    assert authors_line(("A", "B", "C", "D")) == "A, B and 2 more"


def test_newest_first_and_unknown_years_last() -> None:
    frame = library_frame(Library([*make_papers(30), Paper("2301.00009", "Undated")]))
    years = frame["_year"].dropna().tolist()
    assert years == sorted(years, reverse=True)
    assert frame["Title"].iloc[-1] == "Undated" and frame["Year"].iloc[-1] == ""
    assert filter_frame(frame, PaperFilter(sort="oldest"))["Title"].iloc[-1] == "Undated"


def test_the_frame_is_made_once_for_a_catalogue() -> None:
    engine = FakeEngine(papers=30)
    rows = LibraryRows(engine)
    made = rows.frame
    rows.find(PaperFilter(words="lora"))
    assert rows.frame is made
    engine._catalogue = Library(make_papers(40))
    assert len(rows.frame) == 40


def test_a_thousand_rows_within_a_fifth_of_a_second() -> None:
    rows = LibraryRows(FakeEngine(papers=1000))
    assert len(rows.frame) == 1000
    wanted = PaperFilter(words="topic 1", first_year=2016, sort="title")
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        found = rows.find(wanted)[list(COLUMNS)]
        best = min(best, time.perf_counter() - start)
    assert len(found) > 10
    assert best < 0.05


def test_an_empty_library_is_an_empty_table() -> None:
    frame = library_frame(Library([]))
    wanted = PaperFilter(words="x", topics=("a",), first_year=2000, sort="oldest")
    assert filter_frame(frame, wanted).empty


def test_a_word_is_looked_for_at_the_beginning_of_words() -> None:
    papers = [Paper("2301.00001", "LoRA"), Paper("2301.00002", "An Exploratory Model")]
    frame = library_frame(Library(papers))
    assert list(filter_frame(frame, PaperFilter(words="lor"))["arXiv"]) == ["2301.00001"]
    assert list(filter_frame(frame, PaperFilter(words="explor mod"))["arXiv"]) == ["2301.00002"]
