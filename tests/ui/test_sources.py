from __future__ import annotations

import re

from rag.ui.sources import COLUMNS, excerpt, mark_spans, merge_spans, render_sources, sources_frame

from .fake_engine import HOSTILE_TEXT, HOSTILE_TITLE, compound_result, refusal_result, simple_result
from .test_panel import tags


def test_cards_are_one_a_cited_paper_with_its_passages() -> None:
    html = render_sources(compound_result("q"))
    tags(html)
    assert [f'id="src-{n}"' in html for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert html.count('class="pas"') == 4
    assert '<span class="tag">digest</span>' in html
    for chip in ("relevance 0.69", "dense 2", "BM25 1", "fused 1", "rerank 0.98", ">raised<"):
        assert chip in html
    assert 'href="https://arxiv.org/pdf/2106.09685v2#page=4"' in html
    assert ">p. 4 · §4.1 Low-rank updates</a>" in html and ">pp. 10–11 · §7.2 Rank</a>" in html
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
    assert excerpt("", []) == ("", False)
    assert excerpt("short", []) == ("short", False)


def test_every_supporting_sentence_is_whole_with_text_around() -> None:
    filler = "Some words stand here. " * 12
    first, second, third = ("Alpha " * 30).strip(), ("Beta " * 40).strip(), "Gamma delta."
    context = f"{filler}{first} {filler[:92]}{second} {filler}{filler}{third} {filler}"
    spans = [
        (context.index(part), context.index(part) + len(part)) for part in (first, second, third)
    ]
    shown, cut = excerpt(context, spans)
    assert cut and shown.count(" … ") == 1  # between the second and the third
    for part in (first, second, third):
        assert f"<mark>{part}</mark>" in shown
    for around in re.split("<mark>.*?</mark>", shown):
        assert len(around) > 60
    assert not re.search(r"(^… |<mark>)\S*…", shown)


def test_an_excerpt_never_cuts_inside_a_mark() -> None:
    context = "".join(f"Sentence number {number} says it. " for number in range(60))
    for start in range(0, len(context) - 400, 37):
        spans = merge_spans([(start, start + 90), (start + 200, start + 330)], len(context))
        shown, _ = excerpt(context, spans)
        assert re.findall("<mark>(.*?)</mark>", shown) == [context[a:b] for a, b in spans]


def test_a_digest_names_the_pages_of_its_paper_or_none() -> None:
    result = compound_result("q")

    def with_pages(first: int | None, last: int | None) -> str:
        chunks = tuple(
            item.model_copy(update={"page_start": first, "page_end": last})
            if item.chunk_type == "digest"
            else item
            for item in result.chunks
        )
        return render_sources(result.model_copy(update={"chunks": chunks}))

    assert ">digest · pp. 3–4 of the paper · Method</a>" in with_pages(3, 4)
    assert ">digest · Method</a>" in with_pages(None, None)


def test_a_paper_that_matches_as_a_whole_says_so() -> None:
    result = compound_result("q")
    assert "paper 3" not in render_sources(result)
    chunks = tuple(
        item.model_copy(update={"rank_dense": None, "rank_bm25": None}) for item in result.chunks
    )
    assert ">paper 3<" in render_sources(result.model_copy(update={"chunks": chunks}))


def test_a_refusal_shows_what_the_library_covers() -> None:
    html = render_sources(refusal_result("q"), topics={"Diffusion <b>": 3})
    assert "What the library covers" in html and "Diffusion &lt;b&gt; <i>3</i>" in html
    assert "covers" not in render_sources(simple_result("q"), topics={"Diffusion": 3})


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
    assert frame["Relevance"][3] == "0.35"
    assert frame["Found by"][0] == "dense 2 · BM25 1 · fused 1 · paper 3 · rerank 0.98"


def test_a_numbered_section_is_no_list() -> None:
    result = simple_result("q", title="3. Experiments")
    assert sources_frame(result)["Section"][0] == "3\\. Experiments"


def test_nothing_cited_is_an_empty_frame() -> None:
    assert sources_frame(None).empty and sources_frame(refusal_result("q")).empty
    assert "src-" not in render_sources(refusal_result("q"))
