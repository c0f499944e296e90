"""BM25 as sparse columns: the same scores as rank_bm25, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from rag.errors import IndexUnavailableError
from rag.retrieval.keyword import (
    KeywordIndex,
    build_keyword_index,
    load_keyword_index,
    save_keyword_index,
)
from rag.retrieval.terms import terms

tokens = st.sampled_from([*"abcdefgh", "naïve", "中文"])
documents = st.lists(st.lists(tokens, max_size=12), min_size=1, max_size=30).filter(any)
queries = st.lists(st.one_of(tokens, st.just("unknown")), max_size=8)


def build(corpus: list[list[str]]) -> KeywordIndex:
    return build_keyword_index([f"id{number}" for number in range(len(corpus))], corpus)


@settings(max_examples=300, deadline=None)
@given(documents, queries)
def test_scores_are_bit_identical_to_rank_bm25(corpus, query):
    expected = BM25Okapi(corpus).get_scores(query)
    np.testing.assert_array_equal(build(corpus).scores(query), expected)


@settings(max_examples=300, deadline=None)
@given(documents, queries, st.integers(0, 35))
def test_hits_are_the_holders_of_a_term_in_the_order_of_a_stable_sort(corpus, query, k):
    reference = BM25Okapi(corpus).get_scores(query)
    holders = [number for number, document in enumerate(corpus) if set(document) & set(query)]
    expected = sorted(holders, key=lambda number: -reference[number])[:k]
    hits = build(corpus).search(query, k)
    assert [hit.position for hit in hits] == expected
    assert [hit.chunk_id for hit in hits] == [f"id{number}" for number in expected]
    assert [hit.score for hit in hits] == [reference[number] for number in expected]


@settings(max_examples=100, deadline=None)
@given(documents, queries, st.integers(1, 35), st.randoms())
def test_a_mask_keeps_the_order_of_what_it_lets_through(corpus, query, k, random):
    allowed = np.array([random.random() < 0.5 for _ in corpus])
    index = build(corpus)
    everything = index.search(query, len(corpus))
    assert (
        index.search(query, k, allowed) == [hit for hit in everything if allowed[hit.position]][:k]
    )


OPTIMISERS = [terms(text) for text in (
    "Adam is an optimiser", "SGD with momentum", "Adam and SGD compared", "A learning rate schedule", "weight decay",
)]  # fmt: skip


@pytest.mark.parametrize("query", ["zebra crossing", "!!! ???", "what is the", ""])
def test_nothing_is_found_without_a_shared_term(query):
    assert build(OPTIMISERS).search(terms(query), 5) == []


def test_a_term_in_exactly_half_of_the_chunks_weighs_nothing_and_still_finds_them():
    index = build([["adapter", "x"], ["y"], ["adapter", "z"], ["w"]])
    assert [(hit.chunk_id, hit.score) for hit in index.search(["adapter"], 5)] == [
        ("id0", 0.0),
        ("id2", 0.0),
    ]
    alone = build([["adapter"]])
    assert [hit.chunk_id for hit in alone.search(["adapter"], 5)] == ["id0"]


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_empty_corpora_are_searchable(corpus, tmp_path):
    index = build(corpus)
    assert index.search(["adapter"], 5) == []
    assert len(index) == len(corpus)
    assert index.scores(["adapter"]).tolist() == [0.0] * len(corpus)
    save_keyword_index(index, tmp_path / "k.npz")
    assert load_keyword_index(tmp_path / "k.npz").chunk_ids == index.chunk_ids


def test_a_chunk_without_terms_beside_others_is_never_found():
    index = build([["adapter"], [], ["other"]])
    assert [hit.chunk_id for hit in index.search(["adapter", "other"], 5)] == ["id0", "id2"]


def test_document_frequency_and_rarity():
    index = build([["a", "b"], ["a"], ["a", "a"]])
    assert (
        index.document_frequency("a"),
        index.document_frequency("b"),
        index.document_frequency("z"),
    ) == (3, 1, 0)
    assert index.rarity("z") > index.rarity("b") > index.rarity("a") >= 0


@settings(max_examples=30, deadline=None)
@given(documents, queries)
def test_an_index_survives_saving_and_loading(tmp_path_factory, corpus, query):
    path = tmp_path_factory.mktemp("k") / "keyword.npz"
    ids = [f"cs/0112017:{number:04d}:abc" for number in range(len(corpus))]
    index = build_keyword_index(ids, corpus, "the hash")
    save_keyword_index(index, path)
    loaded = load_keyword_index(path)
    assert loaded.content_hash == "the hash"
    assert loaded.search(query, 10) == index.search(query, 10)
    np.testing.assert_array_equal(loaded.scores(query), index.scores(query))


def test_nothing_is_pickled(tmp_path):
    save_keyword_index(build(OPTIMISERS), tmp_path / "k.npz")
    with np.load(tmp_path / "k.npz", allow_pickle=False) as data:
        assert all(data[name].dtype != object for name in data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: None,
        lambda content: b"",
        lambda content: content[:100],
        lambda content: content[:-30],
        lambda content: bytes(len(content)),
        lambda content: (
            content[: len(content) // 2] + b"\xff" * 16 + content[len(content) // 2 + 16 :]
        ),
        lambda content: b"version https://git-lfs.github.com/spec/v1\n",
        lambda content: b"\x80\x04\x95pickle",
    ],
    ids=[
        "missing",
        "empty",
        "cut short",
        "cut at the end",
        "zeroed",
        "bytes changed",
        "pointer",
        "pickle",
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path, damage):
    path = tmp_path / "keyword.npz"
    save_keyword_index(build(OPTIMISERS), path)
    content = damage(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py"):
        load_keyword_index(path)


@pytest.mark.parametrize(
    "changes", [{"format": np.asarray([99])}, {"format": np.asarray([], dtype=int)}, {"rows": None}]
)
def test_a_file_of_another_shape_is_a_sentence(tmp_path, changes):
    path = tmp_path / "keyword.npz"
    save_keyword_index(build(OPTIMISERS), path)
    with np.load(path) as data:
        arrays = {**dict(data), **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(IndexUnavailableError):
        load_keyword_index(path)
