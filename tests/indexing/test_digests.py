"""Digests as chunks, and the vectors that ship with them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from builders import StubEmbedder, StubLate

from rag.errors import IndexUnavailableError
from rag.indexing.digests import (
    Digest,
    digest_chunks,
    load_vectors,
    read_digests,
    save_vectors,
    text_key,
)
from rag.indexing.search_texts import embedding_text, keyword_terms, late_text
from rag.papers import Paper
from rag.retrieval.late_interaction import quantise
from rag.retrieval.terms import terms
from rag.retrieval.vector_store import slot_of

RECORD = {
    "paper_id": "2301.00001",
    "title": "Widgets",
    "authors": ["Ann Ray"],
    "paragraphs": [
        {
            "kind": "summary",
            "pages": [4, 1, 2],
            "text": "Widgets turn, and this paper says how far they do.",
        },
        {
            "kind": "findings",
            "pages": [3],
            "text": "The widgets of this paper turned further than others.",
        },
        {
            "kind": "limits",
            "pages": [],
            "text": "Only widgets were tried; gauges were left for later work.",
        },
    ],
    "search_terms": ["widget turning", "WT"],
}


def test_a_digest_is_a_chunk_a_paragraph_and_the_first_takes_the_abstract_slot():
    chunks = digest_chunks(Digest.model_validate(RECORD), StubEmbedder())
    assert [chunk.chunk_index for chunk in chunks] == [0, 1, 2]
    assert [chunk.section for chunk in chunks] == ["Summary", "Findings", "Limits"]
    assert {chunk.chunk_type for chunk in chunks} == {"digest"}
    assert [slot_of(chunk) for chunk in chunks] == ["abstracts", "passages", "passages"]
    assert chunks[0].text == RECORD["paragraphs"][0]["text"]
    assert [(chunk.page_start, chunk.page_end) for chunk in chunks] == [
        (1, 4),
        (3, 3),
        (None, None),
    ]
    body = "\n\n".join(chunk.text for chunk in chunks)
    assert [body[chunk.char_start : chunk.char_end] for chunk in chunks] == [
        chunk.text for chunk in chunks
    ]
    assert [chunk.wordpieces for chunk in chunks] == StubEmbedder().count_tokens(
        [chunk.text for chunk in chunks]
    )


def test_title_and_names_are_searched_with_the_first_chunk_and_never_shown():
    first, second, _ = digest_chunks(Digest.model_validate(RECORD), StubEmbedder())
    plain = Paper("2301.00001", "Widgets")
    named = Paper("2301.00001", "Widgets", names=("Wid5", "W"), search_terms=("w", "turning"))
    assert embedding_text(plain, first) == f"Widgets\n{first.text}"
    assert embedding_text(named, first) == f"Widgets (Wid5, W, turning)\n{first.text}"
    assert embedding_text(named, second) == f"Widgets\n{second.text}"
    assert late_text(named, first) == f"Widgets (Wid5, W, turning). {first.text}"
    assert keyword_terms(named, second) == terms(second.text)
    assert {"wid5", "turning"} <= set(keyword_terms(named, first))
    assert "Wid5" not in first.text


def write(directory, name, record):
    (directory / "digests").mkdir(exist_ok=True)
    text = record if isinstance(record, str) else json.dumps(record)
    (directory / "digests" / name).write_text(text, encoding="utf-8")


def test_digests_are_read_in_the_order_of_their_ids(tmp_path):
    write(tmp_path, "a.json", {**RECORD, "paper_id": "2301.00009"})
    write(tmp_path, "b.json", RECORD)
    assert [digest.paper_id for digest in read_digests(tmp_path)] == ["2301.00001", "2301.00009"]
    assert read_digests(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "record",
    [
        "version https://git-lfs.github.com/spec/v1",
        "{}",
        {**RECORD, "paragraphs": []},
        {**RECORD, "paragraphs": [{"kind": "summary", "pages": [1], "text": "Too short."}]},
        {**RECORD, "paragraphs": [{**RECORD["paragraphs"][0], "kind": "praise"}]},
        {**RECORD, "abstract": "not ours"},
    ],
)
def test_a_damaged_digest_is_named(tmp_path, record):
    write(tmp_path, "2301.00001.json", record)
    with pytest.raises(IndexUnavailableError, match=r"2301\.00001\.json is damaged"):
        read_digests(tmp_path)


TEXTS = ["First text.", "Second text.", "Third\ntext."]


@pytest.fixture
def vectors_file(tmp_path):
    path = tmp_path / "vectors.npz"
    vectors = StubEmbedder(dimension=384).embed_passages(TEXTS)
    late = [quantise(StubLate().encode_query(text)) for text in TEXTS[:2]]
    save_vectors(
        path,
        "stub",
        dict(zip(TEXTS, vectors, strict=True)),
        dict(zip(TEXTS[:2], late, strict=True)),
    )
    return path


def test_ready_vectors_come_back_by_the_hash_of_their_text(vectors_file):
    ready = load_vectors(vectors_file, "stub")
    assert set(ready.passages) == {text_key(text) for text in TEXTS}
    for text, expected in zip(
        TEXTS, StubEmbedder(dimension=384).embed_passages(TEXTS), strict=True
    ):
        vector = ready.passages[text_key(text)]
        assert vector.dtype == np.float32
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-6
        assert float(vector @ expected) > 0.9999
    np.testing.assert_array_equal(
        ready.late[text_key(TEXTS[1])], quantise(StubLate().encode_query(TEXTS[1]))
    )
    assert text_key(TEXTS[2]) not in ready.late


def test_vectors_of_another_embedder_are_not_used(vectors_file):
    assert load_vectors(vectors_file, "another").passages == {}
    assert load_vectors(vectors_file, "another").late == {}


@pytest.mark.parametrize(
    "part", ["missing", "empty", "half", "pointer", "bytes changed", "keys lost"]
)
def test_damaged_vectors_mean_none(vectors_file, part):
    content = vectors_file.read_bytes()
    if part == "missing":
        vectors_file.unlink()
    elif part == "keys lost":
        with np.load(vectors_file) as data:
            arrays = dict(data)
        arrays["keys"] = arrays["keys"][:64]
        np.savez_compressed(vectors_file, **arrays)
    else:
        middle = len(content) // 2
        vectors_file.write_bytes(
            {
                "empty": b"",
                "half": content[:middle],
                "pointer": b"version https://git-lfs.github.com/spec/v1\n",
                "bytes changed": content[: middle - 40] + b"\xaa" * 80 + content[middle + 40 :],
            }[part]
        )
    ready = load_vectors(vectors_file, "stub")
    assert (ready.passages, ready.late) == ({}, {})
