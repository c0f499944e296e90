from __future__ import annotations

from rag.papers import Library, Paper
from rag.ui.library_rows import PaperFilter, filter_frame, library_frame
from rag.ui.library_scope import (
    MOST_PAPERS,
    describe_filter,
    filtered_papers,
    one_paper,
    render_scope,
    select_papers,
)

from .fake_engine import HOSTILE_TITLE, make_papers

FRAME = library_frame(Library(make_papers(304)))


def test_only_searchable_papers_are_selected_and_the_rest_is_told() -> None:
    found = filter_frame(FRAME, PaperFilter(topics=("Parameter-efficient tuning",)))
    selection = select_papers(found, FRAME)
    left_out = int((found["_holding"] == "metadata").sum())
    assert left_out > 1 and len(selection.paper_ids) == len(found) - left_out
    assert (
        selection.note
        == f"{left_out} of these are listed by their facts only and cannot be asked about."
    )
    assert selection.button == f"Ask only these {len(selection.paper_ids)} papers"
    one = select_papers(filter_frame(FRAME, PaperFilter(words="vaswani")), FRAME)
    assert one.button == "Ask only this paper" and not one.note


def test_nothing_to_ask_is_explained() -> None:
    def why(wanted: PaperFilter) -> str:
        selection = select_papers(filter_frame(FRAME, wanted), FRAME)
        assert selection.paper_ids == () and selection.button == "Ask only these"
        return selection.why_not

    assert why(PaperFilter(words="zzz")) == "No paper passes the filters."
    assert "no text to ask about" in why(PaperFilter(holding="metadata"))
    assert "Nothing is narrowed" in why(PaperFilter())
    assert "Nothing is narrowed" in why(PaperFilter(holding="askable"))


def test_too_many_papers_are_refused_with_their_number() -> None:
    frame = library_frame(Library(make_papers(1000)))
    selection = select_papers(filter_frame(frame, PaperFilter(tier="fill")), frame)
    assert not selection.paper_ids
    assert f"narrow them to {MOST_PAPERS} at most" in selection.why_not


def test_scopes_carry_ids_and_words() -> None:
    lora = one_paper(Paper("2106.09685", "LoRA: Low-Rank Adaptation"))
    assert lora.scope.paper_ids == ("2106.09685",)
    assert lora.label == "LoRA: Low-Rank Adaptation" and lora.placeholder == "Ask about “LoRA”"
    wanted = PaperFilter(topics=("Diffusion",), first_year=2020)
    several = filtered_papers(("1", "2"), ("a", "b"), wanted)
    assert several.label == "2 papers (topic: Diffusion, from 2020)"
    assert filtered_papers(("1",), ("Only: one",), wanted).label == "Only: one"


def test_a_filter_in_words() -> None:
    assert describe_filter(PaperFilter()) == ""
    wanted = PaperFilter(
        words="lora", topics=("a", "b"), first_year=2021, last_year=2020, tier="hand_picked"
    )
    assert describe_filter(wanted) == "“lora”, 2 topics, 2020–2021, hand-picked"
    assert describe_filter(PaperFilter(first_year=2020, last_year=2020)) == "2020"
    assert describe_filter(PaperFilter(last_year=2020, holding="digest")) == "to 2020, digest"


def test_the_chip_is_text() -> None:
    assert render_scope(None) == ""
    shown = render_scope(one_paper(Paper("2301.00001", HOSTILE_TITLE)))
    assert "<img" not in shown and "Asking only: <b>&lt;img" in shown
