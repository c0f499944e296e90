from __future__ import annotations

from rag.ui.sources import COLUMNS, excerpt, mark_spans, merge_spans, render_sources, sources_frame

from .fake_engine import HOSTILE_TEXT, HOSTILE_TITLE, compound_result, refusal_result, simple_result
from .test_panel import tags


def test_cards_are_one_a_cited_paper_with_its_passages() -> None:
    html = render_sources(compound_result("q"))
    tags(html)
    assert [f'id="src-{n}"' in html for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert html.count('class="pas"') == 4
    assert '<span class="tag">digest</span>' in html
    for chip in ("dense 2", "BM25 1", "fused 1", "rerank 0.98", ">raised<"):
        assert chip in html
    assert 'href="https://arxiv.org/pdf/2106.09685v2#page=4"' in html
    assert "§4.1 Low-rank updates, p. 4" in html and "pp. 10–11" in html
    assert "Read but not cited: 1 paper" in html


def test_support_is_marked_in_its_passage() -> None:
    html = render_sources(compound_result("q"))
    assert "<mark>The prefix is prepended to the keys and values of every layer.</mark>" in html
    assert "whole passage" in html


def test_spans_merge_clip_and_escape() -> None:
    assert merge_spans([(5, 9), (-3, 2), (8, 12), (99, 120), (4, 4)], 50) == [(0, 2), (5, 12)]
    assert mark_spans("a<b>c", [(1, 4)]) == "a<mark>&lt;b&gt;</mark>c"
    long = "word " * 200
    shown, cut = excerpt(long, [(500, 520)])
    assert cut and shown.startswith("… word") and shown.endswith("word …") and len(shown) < 450


def test_hostile_texts_are_text() -> None:
    html = render_sources(simple_result("q", "a [1]", HOSTILE_TITLE, HOSTILE_TEXT * 5))
    assert not {"script", "style", "img"} & set(tags(html))
    frame = sources_frame(simple_result("q", "a [1]", HOSTILE_TITLE, HOSTILE_TEXT))
    assert "<img" not in "".join(map(str, frame.iloc[0])).replace("\\<img", "")


def test_frame_has_a_row_a_kept_passage_grouped_by_paper() -> None:
    frame = sources_frame(compound_result("q"))
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["n"]) == [1, 1, 2, 3]
    assert frame["Paper"][0].startswith("[LoRA: Low-Rank") and frame["Paper"][0].endswith(
        "#page=4)"
    )
    assert list(frame["Pages"]) == ["p. 4", "pp. 10–11", "", "p. 4"]
    assert frame["Section"][2] == "Method (digest)"
    assert frame["Score"][3] == "0.50"
    assert frame["Found by"][0] == "dense 2 · BM25 1 · fused 1"


def test_nothing_cited_is_an_empty_frame() -> None:
    assert sources_frame(None).empty and sources_frame(refusal_result("q")).empty
    assert "src-" not in render_sources(refusal_result("q"))
