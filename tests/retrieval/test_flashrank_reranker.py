"""The reranker: FlashRank's own scores, one pair at a time."""

from __future__ import annotations

import json
import math
import shutil
import socket

import numpy as np
import pytest
from builders import real_pool
from flashrank import Ranker, RerankRequest

from rag.errors import ModelUnavailableError
from rag.local_models import FLASHRANK_FILE, FLASHRANK_MODEL, prepare_flashrank_directory
from rag.retrieval.flashrank_reranker import FlashRankReranker

QUERY = "How does low-rank adaptation reduce the number of trained parameters?"
PASSAGES = [
    "LoRA freezes the weights of the pretrained model and trains a pair of low-rank matrices for each layer.",
    "The Eiffel Tower is in Paris.",
    "Adapters add small layers between the layers of a frozen model, which makes inference slower. "
    * 12,
    "Paramètres entraînés: 𝜎 ≈ 0.01 %",
    "word " * 3000,
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return prepare_flashrank_directory(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def reranker(cache):
    return FlashRankReranker(real_pool(), cache)


def test_scores_equal_flashranks_own_one_pair_a_call(reranker, cache):
    ranker = Ranker(FLASHRANK_MODEL, cache_dir=str(cache), log_level="WARNING")
    expected = [
        ranker.rerank(RerankRequest(query=QUERY, passages=[{"id": 0, "text": text}]))[0]["score"]
        for text in PASSAGES
    ]
    assert reranker.score([(QUERY, text) for text in PASSAGES]) == pytest.approx(expected, abs=1e-6)


def test_a_score_does_not_depend_on_company_or_order(reranker):
    pairs = [(QUERY, text) for text in PASSAGES]
    together = reranker.score(pairs)
    assert reranker.score(pairs[::-1]) == together[::-1]
    assert [reranker.score([pair])[0] for pair in pairs] == together
    assert reranker.score(pairs * 5) == together * 5


def test_a_good_passage_scores_above_a_bad_one(reranker):
    good, bad = reranker.score([(QUERY, PASSAGES[0]), (QUERY, PASSAGES[1])])
    assert good > 0.005
    assert good > 20 * bad


def test_scores_are_plain_finite_numbers_in_0_to_1(reranker):
    scores = reranker.score([(QUERY, text) for text in [*PASSAGES, "\u200b", "[PAD]" * 100]])
    assert all(
        type(score) is float and math.isfinite(score) and 0 <= score <= 1 for score in scores
    )
    assert json.loads(json.dumps(scores)) == scores


def test_the_callers_pairs_are_left_as_they_were(reranker):
    pairs = [(QUERY, text) for text in PASSAGES[:3]]
    before = list(pairs)
    assert len(reranker.score(pairs)) == 3
    assert pairs == before


def test_blank_passages_score_nothing_and_shift_nobody(reranker):
    alone = reranker.score([(QUERY, PASSAGES[0])])[0]
    assert reranker.score([(QUERY, ""), (QUERY, PASSAGES[0]), (QUERY, " \n")]) == [0.0, alone, 0.0]


def test_control_tokens_in_a_passage_are_text(reranker):
    plain, tricked = reranker.score(
        [(QUERY, PASSAGES[1]), (QUERY, f"{PASSAGES[1]} [SEP] {QUERY} [CLS] [PAD]")]
    )
    assert plain < 0.1
    sep = reranker._ranker.tokenizer.token_to_id("[SEP]")
    assert reranker._ranker.tokenizer.encode("a [SEP] b").ids.count(sep) == 1
    assert 0 <= tricked <= 1


def test_no_pairs_need_no_model(tmp_path):
    assert FlashRankReranker(real_pool(), tmp_path / "nowhere").score([]) == []
    assert not (tmp_path / "nowhere").exists()


class StubRanker:
    """FlashRank with whatever score it is told to return."""

    def __init__(self, score: float) -> None:
        self._score = score

    def rerank(self, request: RerankRequest) -> list[dict[str, object]]:
        return [{**request.passages[0], "score": np.float32(self._score)}]


@pytest.mark.parametrize(
    ("given", "score"), [(0.25, 0.25), (math.nan, 0.0), (math.inf, 0.0), (-math.inf, 0.0)]
)
def test_numpy_scores_become_plain_finite_ones(tmp_path, given, score):
    reranker = FlashRankReranker(real_pool(), tmp_path)
    reranker._ranker = StubRanker(given)
    (result,) = reranker.score([("q", "p")])
    assert type(result) is float
    assert result == score


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def no_model(cache):
    (cache / FLASHRANK_MODEL).mkdir()


def half_a_model(cache):
    prepare_flashrank_directory(cache)
    (cache / FLASHRANK_MODEL / FLASHRANK_FILE).unlink()
    (cache / FLASHRANK_MODEL / FLASHRANK_FILE).write_bytes(b"PK\x03\x04" + bytes(1020))
    (cache / f"{FLASHRANK_MODEL}.zip").write_bytes(b"PK\x03\x04" + bytes(1020))


@pytest.mark.parametrize("damage", [no_model, half_a_model])
@pytest.mark.usefixtures("offline")
def test_a_broken_cache_is_repaired_at_first_use(tmp_path, reranker, damage):
    damage(tmp_path)
    repaired = FlashRankReranker(real_pool(), tmp_path)
    pair = (QUERY, PASSAGES[0])
    assert repaired.score([pair]) == reranker.score([pair])


@pytest.mark.usefixtures("offline")
def test_a_missing_model_is_a_sentence_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    reranker = FlashRankReranker(real_pool(), tmp_path)
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match="pip install"):
            reranker.score([("q", "p")])


def test_unloadable_files_are_a_sentence(tmp_path, cache, monkeypatch):
    shutil.copytree(cache / FLASHRANK_MODEL, tmp_path / FLASHRANK_MODEL, symlinks=True)
    (tmp_path / FLASHRANK_MODEL / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelUnavailableError, match="could not be loaded"):
        FlashRankReranker(real_pool(), tmp_path).load()
