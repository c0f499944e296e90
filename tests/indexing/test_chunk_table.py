"""The table of chunks: what comes out is what went in, a paper at a time."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from builders import StubEmbedder, StubLate, add_paper, chunk_table, make_chunk

from rag.errors import IndexUnavailableError
from rag.indexing.chunk_table import FILE_NAME, ChunkTable
from rag.papers import Paper
from rag.retrieval.late_interaction import quantise

CHUNKS = [
    make_chunk(
        "2301.00002", 0, "The abstract, with “quotes”, 𝜎 and a line\nbreak.", page_breaks=()
    ),
    make_chunk(
        "2301.00002",
        1,
        "First passage.",
        page_breaks=((0, 3), (6, 4)),
        char_end=14,
        section="2 Naïve",
    ),
    make_chunk("2301.00002", 2, "Second passage.", char_start=10, char_end=25),
    make_chunk("2301.00002", 4, "Fourth passage."),
    make_chunk("2301.00001", 0, "First passage."),
]


@pytest.fixture
def table(tmp_path: Path) -> ChunkTable:
    return chunk_table(tmp_path, CHUNKS)


def test_chunks_come_back_equal_and_unknown_ids_are_absent(table):
    wanted = [chunk.chunk_id for chunk in CHUNKS]
    assert table.get([*wanted, "unknown"]) == {chunk.chunk_id: chunk for chunk in CHUNKS}
    assert table.get([]) == {}
    assert table.count() == 5
    assert table.paper_ids() == {"2301.00001", "2301.00002"}
    assert [paper.title for paper in table.papers()] == [
        "Title of 2301.00001",
        "Title of 2301.00002",
    ]


def test_many_ids_are_asked_for_at_once(table):
    wanted = [f"unknown-{number}" for number in range(2500)] + [CHUNKS[0].chunk_id]
    assert list(table.get(wanted).values()) == [CHUNKS[0]]


def test_a_papers_chunks_stand_in_order_and_neighbours_are_its_own(table):
    assert table.of_paper("2301.00002") == CHUNKS[:4]
    assert table.neighbours(CHUNKS[2], 1) == [CHUNKS[1], CHUNKS[2]]
    assert table.neighbours(CHUNKS[2], 2) == CHUNKS[:4]
    assert table.neighbours(CHUNKS[4], 5) == [CHUNKS[4]]


def test_batches_give_every_chunk_with_its_own_vector_in_corpus_order(table):
    batches = list(table.batches(2))
    assert [len(chunks) for chunks, _ in batches] == [2, 2, 1]
    chunks = [chunk for part, _ in batches for chunk in part]
    assert chunks == [CHUNKS[4], *CHUNKS[:4]]
    vectors = np.concatenate([part for _, part in batches])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(
        vectors, StubEmbedder().embed_passages([chunk.text for chunk in chunks])
    )


def test_token_vectors_come_back_equal(table):
    expected = quantise(StubLate().encode_query("Title of 2301.00002"))
    stored = dict(table.late_tokens())
    assert list(stored) == ["2301.00001", "2301.00002"]
    np.testing.assert_array_equal(stored["2301.00002"], expected)


def test_a_paper_added_again_replaces_its_chunks(table):
    add_paper(table, Paper("2301.00002", "New title"), CHUNKS[:2])
    assert table.of_paper("2301.00002") == CHUNKS[:2]
    assert [paper.title for paper in table.papers()] == ["Title of 2301.00001", "New title"]


def test_a_paper_is_wholly_in_or_wholly_out(table):
    twice = [make_chunk("2301.00003", 1, "One."), make_chunk("2301.00003", 1, "One.")]
    with pytest.raises(sqlite3.IntegrityError):
        add_paper(table, Paper("2301.00003", "Bad"), twice)
    with pytest.raises(sqlite3.IntegrityError):
        add_paper(
            table, Paper("2301.00002", "Bad"), [*CHUNKS[1:3], make_chunk("2301.00002", 1, "Other.")]
        )
    assert table.paper_ids() == {"2301.00001", "2301.00002"}
    assert table.of_paper("2301.00002") == CHUNKS[:4]


def test_the_content_hash_follows_ids_and_texts_but_not_the_order_of_adding(tmp_path):
    def content_hash(name, chunks):
        (tmp_path / name).mkdir()
        return chunk_table(tmp_path / name, chunks).content_hash()

    plain = content_hash("a", CHUNKS)
    assert content_hash("b", [CHUNKS[4], *CHUNKS[:4]]) == plain
    assert content_hash("c", CHUNKS[:4]) != plain
    assert content_hash("d", [*CHUNKS[:4], make_chunk("2301.00001", 0, "First passage!")]) != plain


def test_threads_may_read_side_by_side(table):
    wanted = [chunk.chunk_id for chunk in CHUNKS]
    with ThreadPoolExecutor(8) as pool:
        counts = list(
            pool.map(
                lambda _: len(table.get(wanted)) + len(table.neighbours(CHUNKS[2], 1)), range(200)
            )
        )
    assert counts == [7] * 200


def test_an_opened_table_cannot_be_written(table, tmp_path):
    table.close()
    opened = ChunkTable(tmp_path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        add_paper(opened, Paper("2301.00003", "T"), [make_chunk("2301.00003", 0, "Text.")])
    opened.close()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.mark.parametrize(
    "content", [None, b"", POINTER, bytes(8192)], ids=["missing", "empty", "pointer", "zeroed"]
)
def test_an_unusable_file_is_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py"):
        ChunkTable(tmp_path)


def test_a_table_damaged_behind_its_first_page_is_a_sentence_when_read(tmp_path):
    many = [make_chunk("2301.00001", number, f"Text {number}. " * 50) for number in range(200)]
    chunk_table(tmp_path, many).close()
    path = tmp_path / FILE_NAME
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    with pytest.raises(IndexUnavailableError):
        list(ChunkTable(tmp_path).batches(50))
