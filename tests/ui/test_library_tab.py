from __future__ import annotations

import time

from rag.papers import Library
from rag.ui.library_tab import (
    COLUMNS,
    PaperFilter,
    authors_line,
    filter_frame,
    library_frame,
    render_counts,
)

from .fake_engine import HOSTILE_TITLE, make_papers


def test_filters_narrow_by_words_topic_year_and_tier() -> None:
    frame = library_frame(Library(make_papers(304)))
    assert len(filter_frame(frame, PaperFilter())) == 304
    assert len(filter_frame(frame, PaperFilter(words="  vaswani NEED "))) == 1
    assert len(filter_frame(frame, PaperFilter(words="2106.09685"))) == 1
    assert len(filter_frame(frame, PaperFilter(words=".*"))) == 0  # words, not patterns
    by_topic = filter_frame(frame, PaperFilter(topics=("Diffusion", "Speech")))
    assert set(by_topic["Topic"]) == {"Diffusion", "Speech"}
    years = filter_frame(frame, PaperFilter(first_year=2017, last_year=2018))
    assert set(years["Year"]) == {"2017", "2018"}
    assert set(filter_frame(frame, PaperFilter(tier="fill"))["Tier"]) == {"fill"}


def test_topics_with_marks_can_be_chosen() -> None:
    frame = library_frame(Library(make_papers(20)))
    assert len(filter_frame(frame, PaperFilter(topics=("Retrieval-augmented generation",)))) > 0


def test_hostile_titles_stay_text_and_readable() -> None:
    frame = library_frame(Library(make_papers(20)))
    titles = {title.split("](")[-1]: title for title in frame["Title"]}
    assert "\\<img src=x" in titles["https://arxiv.org/abs/2301.00001)"]
    marked = titles["https://arxiv.org/abs/2301.00002)"]
    assert "A \\| table \\* of \\_odd\\_ \\$x" in marked and "www\\.evil" in marked
    assert len(titles["https://arxiv.org/abs/2301.00003)"]) < 300
    authors = frame.loc[frame["Title"] == marked, "Authors"].iloc[0]
    assert authors.endswith("and 56 more")
    hostile = frame.loc[
        frame["_text"].str.contains(HOSTILE_TITLE.casefold(), regex=False), "Authors"
    ]
    assert hostile.iloc[0] == "\\<b\\>Eve\\</b\\>"


def test_a_paper_without_authors_shows_a_dash() -> None:
    assert authors_line(()) == "–"


def test_newest_first_and_unknown_years_last() -> None:
    papers = [*make_papers(30)]
    years = list(library_frame(Library(papers))["_year"])
    assert years == sorted(years, reverse=True)


def test_counts_say_what_is_held() -> None:
    frame = library_frame(Library(make_papers(304)))
    assert "<b>304 papers</b>" in render_counts(frame, 304)
    found = filter_frame(frame, PaperFilter(words="vaswani"))
    assert "<b>1 of 304 papers</b> · 1 hand-picked · 1 digest" in render_counts(found, 304)
    assert "nothing held" in render_counts(filter_frame(frame, PaperFilter(words="zzz")), 304)


def test_a_thousand_rows_within_a_fifth_of_a_second() -> None:
    library = Library(make_papers(1000))
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        frame = filter_frame(library_frame(library), PaperFilter(words="topic 1", first_year=2016))
        frame = frame[list(COLUMNS)]
        best = min(best, time.perf_counter() - start)
    assert len(frame) > 10
    assert best < 0.2


def test_an_empty_library_is_an_empty_table() -> None:
    frame = library_frame(Library([]))
    assert filter_frame(frame, PaperFilter(words="x", topics=("a",), first_year=2000)).empty
