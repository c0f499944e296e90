"""Token vectors, their scores, and the files that they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builders import CORPUS, StubLate, real_late

from rag.errors import IndexUnavailableError
from rag.retrieval.late_interaction import (
    DIMENSION,
    LEAST_QUERY_TOKENS,
    MOST_QUERY_TOKENS,
    PROJECTION_FILE,
    fit_projection,
    load_projection,
    paper_tokens,
    quantise,
    save_projection,
    unit_rows,
)


def test_the_right_paper_scores_best_without_a_shared_word() -> None:
    texts = {
        "sound": "We transcribe spoken language with a network trained on audio recordings.",
        "image": "We classify photographs with deep convolutional networks.",
        "graph": "We pass messages between the nodes of molecules.",
    }
    vectors = real_late().encode_documents(list(texts.values()))
    tokens = paper_tokens(
        [(name, quantise(rows)) for name, rows in zip(texts, vectors, strict=True)]
    )
    scores = tokens.scores(real_late().encode_query("How can a computer turn talk into writing?"))
    assert max(scores, key=lambda name: scores[name]) == "sound"
    assert all(type(score) is float and -1 <= score <= 1 for score in scores.values())


def test_encoding_is_reproducible_and_of_unit_length() -> None:
    short = real_late().encode_query("LoRA?")
    assert short.shape == (LEAST_QUERY_TOKENS, DIMENSION)
    np.testing.assert_array_equal(short, real_late().encode_query("LoRA?"))
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-5)
    assert real_late().encode_query("word " * 900).shape == (MOST_QUERY_TOKENS, DIMENSION)
    alone = real_late().encode_documents(["One abstract."])[0]
    company = real_late().encode_documents(
        ["Another, longer abstract of many words.", "One abstract."]
    )[1]
    np.testing.assert_array_equal(alone, company)


def test_scores_are_means_of_the_best_matches() -> None:
    basis = np.eye(DIMENSION, dtype=np.float32)
    tokens = paper_tokens(
        [("A", quantise(basis[[0, 1]])), ("none", quantise(basis[:0])), ("B", quantise(basis[[1]]))]
    )
    assert tokens.paper_ids == ("A", "B")
    assert tokens.scores(basis[[0, 1]]) == pytest.approx({"A": 1.0, "B": 0.5})
    assert tokens.scores(basis[[2]]) == pytest.approx({"A": 0.0, "B": 0.0})


def test_no_papers() -> None:
    assert paper_tokens([]).scores(StubLate().encode_query("q")) == {}


def test_quantising_changes_a_score_by_less_than_a_hundredth() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(200, DIMENSION)).astype(np.float32))
    restored = quantise(rows).astype(np.float32) / 127
    assert np.abs(restored @ rows.T - rows @ rows.T).max() < 0.01
    assert quantise(rows).dtype == np.int8
    assert not np.isnan(unit_rows(np.zeros((1, DIMENSION), np.float32))).any()


def test_a_projection_is_fitted_saved_and_read(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    low = random.normal(size=(300, 4)) @ random.normal(size=(4, 384))
    projection = fit_projection([low[:100].astype(np.float32), low[100:].astype(np.float32)], 4)
    assert projection.shape == (384, 4)
    np.testing.assert_allclose(low @ projection @ projection.T, low, atol=1e-3)
    save_projection(tmp_path / "p.npz", projection)
    np.testing.assert_allclose(load_projection(tmp_path / "p.npz"), projection, atol=1e-3)
    assert load_projection(CORPUS / PROJECTION_FILE).shape == (384, DIMENSION)


@pytest.mark.parametrize("content", [None, b"", b"no zip", b"PK\x03\x04broken"])
def test_a_damaged_projection_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"p\.npz is missing or damaged"):
        load_projection(path)


def test_a_projection_under_another_name_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", other=np.zeros(3))
    with pytest.raises(IndexUnavailableError):
        load_projection(tmp_path / "p.npz")
