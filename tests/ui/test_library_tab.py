from __future__ import annotations

from typing import Any

import pytest

from rag.papers import Library, Paper
from rag.ui.library_plots import render_plots
from rag.ui.library_rows import PaperFilter, filter_frame, library_frame
from rag.ui.library_scope import select_papers
from rag.ui.library_tab import LibraryTab, make_filter, render_counts

from .fake_engine import TOPICS, FakeEngine, make_papers

FRAME = library_frame(Library(make_papers(304)))


def counts(wanted: PaperFilter) -> str:
    found = filter_frame(FRAME, wanted)
    return render_counts(found, len(FRAME), select_papers(found, FRAME))


def test_counts_say_what_is_held() -> None:
    assert "<b>304 papers</b> · " in counts(PaperFilter())
    shown = counts(PaperFilter(words="vaswani"))
    assert "<b>1 of 304 papers</b> · 1 hand-picked · 1 digest" in shown
    assert "Choose a row to open its card." in shown
    assert "<b>0 of 304 papers</b></p>" in counts(PaperFilter(words="zzz"))


def test_missing_values_of_the_components_narrow_nothing() -> None:
    assert make_filter(None, None, None, None, None, None, None) == PaperFilter()
    assert make_filter("a", ["b"], 0, 2020, "fill", "", "title") == PaperFilter(
        "a", ("b",), None, 2020, "fill", "", "title"
    )


def test_plots_keep_their_rows_and_shorten_their_bars() -> None:
    whole = render_plots(FRAME, FRAME)
    some = render_plots(filter_frame(FRAME, PaperFilter(topics=("Diffusion",))), FRAME)
    assert whole.count("<li") == some.count("<li")
    total = int((FRAME["_topic"] == "Diffusion").sum())
    assert f'title="Diffusion: {total} of {total} papers"' in some
    assert 'title="Speech: 0 of' in some and '<u style="width:0%">' in some
    assert all(topic in whole for topic in TOPICS)
    assert '"2017: 1 of' in render_plots(filter_frame(FRAME, PaperFilter("vaswani")), FRAME)


def test_plots_of_nothing_and_of_hostile_topics() -> None:
    empty = library_frame(Library([]))
    assert "<figcaption>Papers per topic" in render_plots(empty, empty)
    hostile = library_frame(Library([Paper("2301.00001", "t", topic='"><script>1</script>')]))
    assert "<script" not in render_plots(hostile, hostile)


@pytest.fixture
def tab() -> LibraryTab:
    class Ask:
        def limited_to(self, chosen: Any) -> dict[Any, Any]:
            return {"scope": chosen}

    anything: Any = Ask()
    return LibraryTab(FakeEngine(papers=304), anything, anything, "tabs")  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", [None, 5, ["2106.09685"], "../../etc/passwd", "9999.99999"])
def test_an_id_that_is_not_listed_opens_no_paper(tab: LibraryTab, sent: object) -> None:
    opened, card, button = tab.open(sent)
    assert opened == "" and "does not list that paper" in str(card)
    assert button.interactive is False  # type: ignore[attr-defined]


def test_what_cannot_be_asked_about_limits_nothing(tab: LibraryTab) -> None:
    nothing = (None, None, None, None, None, None, None)
    for update in (tab.ask_about("1301.3781"), tab.ask_about(""), tab.ask_these(*nothing)):
        assert "scope" not in update
    assert tab.ask_about("2106.09685")["scope"].paper_ids == ("2106.09685",)
    chosen = tab.ask_these("vaswani", None, None, None, None, None, None)["scope"]
    assert chosen.paper_ids == ("1706.03762",) and chosen.label == "Attention Is All You Need"
