"""The local embedder."""

from __future__ import annotations

import numpy as np
import pytest
from builders import real_embedder

from rag.retrieval.embed import QUERY_PREFIX

TEXTS = [
    "LoRA trains low-rank matrices.",
    "The Eiffel Tower is in Paris.",
    "word " * 2000,
    "",
    "𝜎 ≈ 中文",
]


def test_vectors_have_length_one_and_do_not_depend_on_company():
    embedder = real_embedder()
    together = embedder.embed_passages(TEXTS)
    assert together.shape == (len(TEXTS), embedder.dimension)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    for row, text in zip(together, TEXTS, strict=True):
        np.testing.assert_array_equal(embedder.embed_passages([text])[0], row)
    np.testing.assert_array_equal(embedder.embed_passages(TEXTS[::-1]), together[::-1])


def test_no_texts_give_no_vectors():
    assert real_embedder().embed_passages([]).shape == (0, 384)
    assert real_embedder().embed_queries([]).shape == (0, 384)


def test_a_question_carries_its_prefix_and_finds_its_passage():
    embedder = real_embedder()
    question = "How are models adapted with few parameters?"
    vector = embedder.embed_queries([question])[0]
    np.testing.assert_array_equal(vector, embedder.embed_passages([QUERY_PREFIX + question])[0])
    scores = embedder.embed_passages(TEXTS[:2]) @ vector
    assert scores[0] > scores[1] + 0.1


def test_what_exceeds_the_window_is_cut_and_the_counter_still_counts_it():
    embedder = real_embedder()
    filled = "word " * (embedder.window - 2)
    assert embedder.count_tokens([filled, filled + "and more", ""]) == [510, 512, 0]
    np.testing.assert_array_equal(*embedder.embed_passages([filled, filled + "and more"]))
    short = embedder.embed_passages([filled[: -len("word ")], filled])
    assert not np.array_equal(short[0], short[1])
