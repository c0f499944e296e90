"""What the reader gets: a passage with its neighbours, nothing twice, pages right."""

from __future__ import annotations

from itertools import pairwise

import pytest
from builders import StubEmbedder, chunk_table, make_chunk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.chunks import Chunk, page_at
from rag.indexing.chunker import PARAGRAPH, chunk_paper
from rag.indexing.document import PaperText, Section
from rag.retrieval.context import Context, expand, separator
from rag.sections import IndexingSettings

BODY = " ".join(
    f"Sentence {number} says that trial {number} of the widget went well."
    for number in range(1, 121)
)
PAGES = ((0, 1), (1500, 2), (3000, 3), (4500, 4), (6000, 5))


def chunks_of(body: str = BODY, pages=PAGES, **options) -> list[Chunk]:
    paper = PaperText("T", None, None, None, 1, (Section("Methods", 1, "body", body, pages),), ())
    return chunk_paper(
        "2301.00001",
        paper,
        "The abstract.",
        1,
        IndexingSettings(**options),
        StubEmbedder().count_tokens,
    )


def checked(context: Context, body: str = BODY, pages=PAGES) -> None:
    """The text is one slice of the body, and every character has the page that it has there."""
    start = body.find(context.text)
    assert start >= 0
    for offset in range(len(context.text)):
        assert context.page_at(offset) == page_at(pages, start + offset)
    assert list(context.page_breaks) == sorted(context.page_breaks)
    assert context.page_breaks[0][0] == 0


def spans_hold(context: Context, kept: list[Chunk]) -> None:
    by_id = {chunk.chunk_id: chunk for chunk in kept}
    for chunk_id, (start, end) in zip(context.chunk_ids, context.spans, strict=True):
        assert context.text[start:end] == by_id[chunk_id].text


def test_a_passage_brings_its_neighbours_without_repeating_the_overlap(tmp_path):
    chunks = chunks_of()
    assert chunks[4].char_start < chunks[3].char_end  # they overlap
    kept = [chunks[4]]
    (context,) = expand(kept, chunk_table(tmp_path, chunks), 440)
    assert context.first_index < 4 or context.last_index > 4
    assert context.text.count("Sentence 60 ") <= 1
    assert len(context.text) > len(chunks[4].text) * 1.5
    checked(context)
    spans_hold(context, kept)


def test_size_0_means_the_passage_alone_and_more_means_more(tmp_path):
    chunks = chunks_of()
    table = chunk_table(tmp_path, chunks)
    lengths = []
    for size in (0, 100, 440, 700, 2000):
        (context,) = expand([chunks[4]], table, size)
        lengths.append(len(context.text))
        checked(context)
        assert StubEmbedder().count_tokens([context.text])[0] <= max(
            size + 60, chunks[4].wordpieces
        )
    assert lengths[0] == lengths[1] == len(chunks[4].text)
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[2]


def test_kept_neighbours_share_one_context_and_order_is_that_of_the_best(tmp_path):
    chunks = chunks_of()
    kept = [chunks[7], chunks[3], chunks[8], chunks[4]]
    contexts = expand(kept, chunk_table(tmp_path, chunks), 440)
    assert [
        chunk_id
        for context in contexts
        for chunk_id in context.chunk_ids
        if chunk_id == chunks[7].chunk_id
    ]
    assert contexts[0].chunk_ids[0] == chunks[7].chunk_id
    assert sorted(chunk_id for context in contexts for chunk_id in context.chunk_ids) == sorted(
        chunk.chunk_id for chunk in kept
    )
    ranges = [set(range(context.first_index, context.last_index + 1)) for context in contexts]
    for number, indices in enumerate(ranges):
        assert not any(indices & other for other in ranges[number + 1 :])
    for context in contexts:
        checked(context)
        spans_hold(context, kept)


def test_abstracts_and_digests_stand_alone(tmp_path):
    chunks = chunks_of()
    digest = [
        make_chunk("2301.00002", index, f"Digest {index}.", chunk_type="digest")
        for index in range(3)
    ]
    table = chunk_table(tmp_path, [*chunks, *digest])
    abstract, middle = expand([chunks[0], digest[1]], table, 440)
    assert (abstract.text, middle.text) == ("The abstract.", "Digest 1.")
    assert (abstract.page_at(3), abstract.pages) == (1, (1,))


def test_no_context_crosses_a_section_or_takes_in_the_abstract(tmp_path):
    first = make_chunk("2301.00001", 1, "One is here.", section="A", wordpieces=100)
    second = make_chunk(
        "2301.00001", 2, "Two is here.", section="B", char_start=14, char_end=26, wordpieces=100
    )
    third = make_chunk(
        "2301.00001", 3, "Three is here.", section="B", char_start=27, char_end=41, wordpieces=100
    )
    table = chunk_table(tmp_path, [make_chunk("2301.00001", 0, "Abstract."), first, second, third])
    assert [context.text for context in expand([first], table, 440)] == ["One is here."]
    assert [context.text for context in expand([second], table, 440)] == [
        "Two is here. Three is here."
    ]


def test_another_papers_chunks_never_join(tmp_path):
    mine = make_chunk("2301.00001", 1, "Mine.", wordpieces=10)
    other = make_chunk("2301.00002", 2, "Other.", wordpieces=10)
    contexts = expand([mine, other], chunk_table(tmp_path, [mine, other]), 440)
    assert [context.text for context in contexts] == ["Mine.", "Other."]


def test_a_page_break_inside_the_overlap_is_told_once_and_in_its_place(tmp_path):
    chunks = chunks_of()
    overlaps = [(after.char_start, before.char_end) for before, after in pairwise(chunks[1:])]
    start, end = overlaps[2]
    pages = ((0, 1), ((start + end) // 2, 2), (end + 200, 3))
    moved = chunks_of(pages=pages)
    (context,) = expand([moved[3]], chunk_table(tmp_path, moved), 700)
    assert context.pages == (1, 2, 3)
    checked(context, pages=pages)


def test_a_repeated_paragraph_keeps_its_own_place(tmp_path):
    same = "This boilerplate stands in the paper twice, word for word."
    second = len(same) + 2
    passages = [
        make_chunk("2301.00001", 1, same, wordpieces=10),
        make_chunk(
            "2301.00001",
            2,
            same,
            char_start=second,
            char_end=second + len(same),
            wordpieces=10,
            page_breaks=((0, 2),),
        ),
    ]
    (context,) = expand(passages, chunk_table(tmp_path, passages), 700)
    assert len(set(context.spans)) == 2
    spans_hold(context, passages)
    assert [context.page_at(start + 1) for start, _ in context.spans] == [1, 2]


@pytest.mark.parametrize(("gap", "text"), [(0, ""), (1, " "), (2, "\n\n"), (500, "\n\n")])
def test_what_stands_between_neighbours(gap, text):
    assert separator(gap) == text


sentences = st.integers(3, 40).map(
    lambda length: "Then " + " ".join(["widgets"] * length) + " turn."
)
bodies = st.lists(
    st.lists(sentences, min_size=1, max_size=15).map(" ".join), min_size=1, max_size=6
).map(PARAGRAPH.join)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    bodies,
    st.lists(st.integers(1, 6000), max_size=8, unique=True),
    st.integers(60, 250),
    st.integers(0, 4),
    st.sampled_from([0, 200, 440, 1000]),
    st.randoms(),
)
def test_contexts_of_any_chunking_are_slices_of_the_body(
    tmp_path_factory, body, places, target, overlap, size, random
):
    numbered = "".join(
        f"{number % 10}" if char == "w" else char for number, char in enumerate(body)
    )
    pages = (
        (0, 1),
        *(
            (place, page)
            for page, place in enumerate(sorted(places), start=2)
            if place < len(numbered)
        ),
    )
    chunks = chunks_of(
        numbered,
        pages,
        chunk_tokens=target,
        overlap_sentences=overlap,
        overlap_tokens=90,
        min_chunk_tokens=0,
    )
    kept = random.sample(chunks[1:], min(4, len(chunks) - 1))
    table = chunk_table(tmp_path_factory.mktemp("t"), chunks)
    contexts = expand(kept, table, size)
    table.close()
    by_index = {chunk.chunk_index: chunk for chunk in chunks}
    covered: list[int] = []
    for context in contexts:
        first, last = by_index[context.first_index], by_index[context.last_index]
        assert context.text == numbered[first.char_start : last.char_end]
        for offset in range(0, len(context.text), 5):
            assert context.page_at(offset) == page_at(pages, first.char_start + offset)
        assert list(context.page_breaks) == sorted(set(context.page_breaks))
        spans_hold(context, kept)
        covered += range(context.first_index, context.last_index + 1)
    assert len(covered) == len(set(covered))  # no chunk in two contexts
    assert {chunk_id for context in contexts for chunk_id in context.chunk_ids} == {
        chunk.chunk_id for chunk in kept
    }
