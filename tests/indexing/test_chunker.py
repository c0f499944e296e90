"""From sentences to passages."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from builders import StubEmbedder, real_embedder
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.chunks import Chunk, page_at
from rag.indexing.chunker import PARAGRAPH, chunk_paper, mean_overlap
from rag.indexing.document import PaperText, Section
from rag.indexing.sentences import sentence_spans
from rag.sections import IndexingSettings

count = StubEmbedder().count_tokens
ALL = IndexingSettings(min_chunk_tokens=0)


def paper(*sections: Section) -> PaperText:
    return PaperText("T", None, None, None, 1, sections, ())


def section(text: str, heading: str = "Methods", breaks=((0, 1),), kind: str = "body") -> Section:
    return Section(heading, 1, kind, text, breaks)


def chunk(
    *sections: Section, options: IndexingSettings = ALL, counter=count, abstract=None
) -> list[Chunk]:
    return chunk_paper(
        "2301.00001", paper(*sections), abstract, 1 if abstract else None, options, counter
    )


def body_of(sections: list[Section]) -> str:
    return PARAGRAPH.join(item.text for item in sections)


def without_blanks(text: str) -> str:
    return "".join(text.split())


def retold(chunks: list[Chunk]) -> str:
    """The passages one after another, each without what it repeats."""
    text, end = "", 0
    for item in chunks:
        text += item.text[max(0, end - item.char_start) :]
        end = max(end, item.char_end)
    return without_blanks(text)


words = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "widget", "it", "k-NN", "naïve", "3.14"]
)
sentences = st.lists(words, min_size=1, max_size=40).map(
    lambda parts: "Then " + " ".join(parts) + " ends."
)
paragraphs = st.lists(sentences, min_size=1, max_size=12).map(" ".join)
bodies = st.lists(paragraphs, min_size=1, max_size=5).map(PARAGRAPH.join)


@st.composite
def papers(draw: st.DrawFn) -> list[Section]:
    sections = []
    page = 1
    for number, text in enumerate(draw(st.lists(bodies, min_size=1, max_size=4))):
        places = draw(st.lists(st.integers(1, max(1, len(text) - 1)), max_size=3, unique=True))
        breaks = [(0, page)]
        for place in sorted(places):
            page += 1
            breaks.append((place, page))
        heading = draw(st.sampled_from(["", "Methods", f"Part {number}"]))
        sections.append(
            section(text, heading, tuple(breaks), draw(st.sampled_from(["body", "appendix"])))
        )
    return sections


option_sets = st.builds(
    IndexingSettings,
    chunk_tokens=st.integers(60, 400),
    max_chunk_tokens=st.integers(100, 440),
    overlap_sentences=st.integers(0, 4),
    overlap_tokens=st.integers(0, 150),
    min_chunk_tokens=st.integers(0, 60),
)


@settings(max_examples=100, deadline=None)
@given(papers(), option_sets)
def test_passages_are_slices_of_the_body_that_lose_and_exceed_nothing(sections, options):
    body = body_of(sections)
    nothing_dropped = options.model_copy(update={"min_chunk_tokens": 0})
    chunks = chunk(*sections, options=nothing_dropped)
    assert retold(chunks) == without_blanks(body)
    boundaries = [sentence_spans(item.text) for item in sections]
    offsets = [
        len(body_of(sections[:number])) + (len(PARAGRAPH) if number else 0)
        for number in range(len(sections))
    ]
    starts = {
        offset + span[0]
        for offset, spans in zip(offsets, boundaries, strict=True)
        for span in spans
    }
    ends = {
        offset + span[1]
        for offset, spans in zip(offsets, boundaries, strict=True)
        for span in spans
    }
    for item in chunk(*sections, options=options):
        assert item.text == body[item.char_start : item.char_end]
        assert item.char_start in starts
        assert item.char_end in ends
        assert options.min_chunk_tokens <= item.wordpieces <= options.max_chunk_tokens
        assert item.wordpieces == count([item.text])[0]
        for place in range(0, len(item.text), 7):
            home = max(
                number for number, offset in enumerate(offsets) if offset <= item.char_start + place
            )
            inside = item.char_start + place - offsets[home]
            if inside < len(sections[home].text):
                assert item.page_at(place) == page_at(sections[home].page_breaks, inside)


@settings(max_examples=60, deadline=None)
@given(papers(), option_sets)
def test_positions_are_gapless_and_neighbours_repeat_whole_sentences_only_up_to_the_limit(
    sections, options
):
    chunks = chunk(*sections, options=options, abstract="An abstract that is short.")
    assert [item.chunk_index for item in chunks] == list(range(len(chunks)))
    assert len({item.chunk_id for item in chunks}) == len(chunks)
    for before, after in pairwise(chunks[1:]):
        assert after.char_start > before.char_start
        shared = after.text[: max(0, before.char_end - after.char_start)]
        assert len(sentence_spans(shared)) <= options.overlap_sentences
        assert count([shared])[0] <= options.overlap_tokens


def test_the_abstract_takes_position_0_and_stays_outside_the_body():
    text = "We turn widgets. " * 30
    chunks = chunk(section(text.strip()), abstract="Widgets turn. They do.")
    first, second = chunks[0], chunks[1]
    assert (first.chunk_type, first.chunk_index, first.section, first.text) == (
        "abstract", 0, "Abstract", "Widgets turn. They do.",
    )  # fmt: skip
    assert (first.char_start, first.char_end, first.page_start) == (0, 0, 1)
    assert (second.chunk_type, second.chunk_index, second.char_start) == ("passage", 1, 0)
    alone = chunk(section(text.strip()))
    assert alone[0].chunk_index == 1  # position 0 stays the abstract's, even where there is none


def test_an_abstract_that_is_too_long_goes_on_in_a_second_chunk():
    abstract = " ".join(f"Part {number} of it says a thing or two." for number in range(80))
    chunks = chunk(section("Widgets turn well in all of our many trials. " * 10), abstract=abstract)
    parts = [item for item in chunks if item.chunk_type == "abstract"]
    assert len(parts) > 1
    assert without_blanks("".join(item.text for item in parts)) == without_blanks(abstract)
    assert [item.chunk_index for item in chunks] == list(range(len(chunks)))


def test_short_sections_join_their_neighbours_of_the_same_kind():
    long = " ".join(["The widget turns and the gauge shows how far it went."] * 12)
    options = IndexingSettings()
    chunks = chunk(section("A remark.", "3 Remarks"), section(long, "4 Trials"), options=options)
    assert chunks[0].text.startswith("A remark.")
    assert chunks[0].section == "4 Trials"
    chunks = chunk(section(long, "4 Trials"), section("A remark.", "5 Remarks"), options=options)
    assert chunks[-1].text.endswith("A remark.")
    chunks = chunk(
        section(long, "4 Trials"),
        section("A remark.", "A Proofs", kind="appendix"),
        options=options,
    )
    assert not chunks[-1].text.endswith(
        "A remark."
    )  # no passage crosses from the body into the appendix


def test_an_empty_paper_has_no_chunks():
    assert chunk() == []
    assert chunk(section("")) == []
    assert chunk(section(" \n\n ")) == []


HARD = {
    "3,000 words without a stop": " ".join(f"word{number % 97}" for number in range(3000)),
    "40,000 letters without a blank": "abcdefghij" * 4000,
    "40,000 digits and signs": "0123456789+/=aF" * 2667,
    "a list of 60 items": "\n".join(f"• item {number} of the list, which has no end mark" for number in range(60)),
    "Korean without blanks": "한국어문장은길다" * 700,
    "Chinese": "这是一个没有空格的句子，" * 600,
    "one glued line after a sentence": "A sentence first. " + "wetrainthemodelonmanywords" * 300 + " and so on.",
    "emoji": "🙂🚀" * 3000,
}  # fmt: skip


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_text_without_boundaries_is_cut_to_fit_and_nothing_is_lost(text):
    started = time.perf_counter()
    embedder = real_embedder()
    options = ALL
    chunks = chunk(section(text), options=options, counter=embedder.count_tokens)
    assert time.perf_counter() - started < 2
    assert retold(chunks) == without_blanks(text)
    assert max(embedder.count_tokens([item.text for item in chunks])) <= options.max_chunk_tokens
    assert max(len(item.text) for item in chunks) <= 16 * options.max_chunk_tokens


def test_a_sentence_that_is_too_long_is_cut_between_words():
    words = [f"word{number}" for number in range(3000)]
    chunks = chunk(section(" ".join(words)), options=IndexingSettings(overlap_sentences=0))
    assert [word for item in chunks for word in item.text.split()] == words


def test_a_passage_that_begins_where_a_page_does_has_one_break_there():
    text = " ".join(
        f"Sentence number {number} is here to be counted by us." for number in range(60)
    )
    plain = chunk(section(text), options=IndexingSettings(overlap_sentences=0))
    pages = ((0, 1), (plain[1].char_start, 2), (plain[2].char_start + 5, 3))
    paged = chunk(section(text, breaks=pages), options=IndexingSettings(overlap_sentences=0))
    assert [item.page_breaks for item in paged[:3]] == [((0, 1),), ((0, 2),), ((0, 2), (5, 3))]


def test_a_word_at_the_very_end_of_a_passage_is_inside_the_encoders_window():
    embedder = real_embedder()
    options = IndexingSettings(chunk_tokens=400, max_chunk_tokens=440, overlap_sentences=0)
    filler = [
        f"In trial {number} the widgets turned as far as anyone had hoped."
        for number in range(10, 36)
    ]
    text = " ".join([*filler, "It all rests on the zircon-gate layer."])
    chunks = chunk(section(text), options=options, counter=embedder.count_tokens)
    last = next(item for item in chunks if "zircon-gate" in item.text)
    assert last.wordpieces > 360
    assert last.wordpieces + 2 <= embedder.window
    query = embedder.embed_queries(["zircon-gate layer"])[0]
    without = last.text.replace("It all rests on the zircon-gate layer.", "It all ends here.")
    scores = embedder.embed_passages([last.text, without]) @ query
    assert scores[0] > scores[1] + 0.02


def test_markers_of_language_models_are_ordinary_text():
    text = "Training documents are joined by <|endoftext|> and <|im_start|> markers. " * 10
    chunks = chunk(section(text.strip()), counter=real_embedder().count_tokens)
    assert "<|endoftext|> and <|im_start|>" in chunks[0].text
    assert chunks[0].tokens > 0


def test_identical_paragraphs_have_different_ids():
    same = " ".join(["This very boilerplate stands in all of our papers, word for word."] * 16)
    chunks = chunk(
        section(same, "1"), section(same, "2"), options=IndexingSettings(overlap_sentences=0)
    )
    texts = [item.text for item in chunks]
    assert len(set(texts)) < len(texts)
    assert len({item.chunk_id for item in chunks}) == len(chunks)


def test_mean_overlap_is_the_repeated_share():
    text = " ".join(
        f"Sentence number {number} is here to be counted by us." for number in range(100)
    )
    overlapping = chunk(section(text), options=IndexingSettings(overlap_sentences=2))
    assert 0.05 < mean_overlap(overlapping) < 0.3
    assert mean_overlap(chunk(section(text), options=IndexingSettings(overlap_sentences=0))) == 0
    assert mean_overlap([]) == 0
