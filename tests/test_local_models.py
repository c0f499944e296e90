"""Local models: found, verified, laid out for FlashRank, never downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag.errors import ModelUnavailableError
from rag.local_models import (
    BGE_SMALL,
    COLBERT_SMALL,
    FLASHRANK_FILE,
    FLASHRANK_MODEL,
    MINILM_L12,
    cl100k,
    count_cl100k,
    load_tokenizer,
    model_directory,
    prepare_flashrank_directory,
    verify_file,
)

PARTS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "config.json",
)


@pytest.mark.parametrize(
    "model", [BGE_SMALL, MINILM_L12, COLBERT_SMALL], ids=lambda model: model.name
)
def test_the_models_of_the_wheel_are_the_ones_meant(model):
    directory = model_directory(model)
    assert (directory / "tokenizer.json").is_file()


def test_a_missing_or_changed_file_is_a_sentence_with_the_way_out(tmp_path: Path):
    path = tmp_path / "model.onnx"
    right = hashlib.sha256(b"right").hexdigest()
    with pytest.raises(ModelUnavailableError, match=r"lacks its file model\.onnx.*pip install"):
        verify_file(path, right, "some-model")
    path.write_bytes(b"righ")
    with pytest.raises(ModelUnavailableError, match=r"damaged.*pip install") as caught:
        verify_file(path, right, "some-model")
    assert str(tmp_path) not in str(caught.value)
    path.write_bytes(b"right")
    verify_file(path, right, "some-model")


def test_without_the_wheel_the_message_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailableError, match="not installed"):
        model_directory(BGE_SMALL)


@pytest.mark.parametrize("model", [BGE_SMALL, MINILM_L12], ids=lambda model: model.name)
def test_the_tokenizer_neither_pads_nor_cuts_nor_obeys_markers(model):
    tokenizer = load_tokenizer(model_directory(model))
    long, short = tokenizer.encode_batch(["word " * 3000, "word"])
    assert len(long.ids) == 3002
    assert len(short.ids) == 3
    separator = tokenizer.token_to_id("[SEP]")
    assert tokenizer.encode("a [SEP] b").ids.count(separator) == 1  # the one at the end


def test_markers_count_as_ordinary_text_without_network(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was tried")

    cl100k.cache_clear()
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    text = "Training documents are joined by <|endoftext|> and <|im_start|> markers."
    assert count_cl100k(text) > count_cl100k(
        text.replace("<|endoftext|>", "").replace("<|im_start|>", "")
    )
    assert cl100k().decode(cl100k().encode_ordinary(text)) == text
    assert count_cl100k("") == 0
    assert count_cl100k("tiktoken is great!") == 6


def complete(cache: Path) -> bool:
    target = cache / FLASHRANK_MODEL
    return (target / FLASHRANK_FILE).stat().st_size > 1_000_000 and all(
        (target / name).is_file() for name in PARTS
    )


def test_the_layout_is_made_once(tmp_path: Path):
    cache = tmp_path / "data" / "models"
    assert prepare_flashrank_directory(cache) == cache
    assert complete(cache)
    assert json.loads((cache / FLASHRANK_MODEL / "config.json").read_text()) == {"pad_token_id": 0}
    before = (cache / FLASHRANK_MODEL).stat().st_ino
    prepare_flashrank_directory(cache)
    assert (cache / FLASHRANK_MODEL).stat().st_ino == before
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [FLASHRANK_MODEL]


def without_model(target: Path) -> None:
    (target / FLASHRANK_FILE).unlink()


def with_small_model(target: Path) -> None:
    (target / FLASHRANK_FILE).unlink()
    (target / FLASHRANK_FILE).write_bytes(b"PK" * 512)


def with_dangling_link(target: Path) -> None:
    (target / FLASHRANK_FILE).unlink()
    (target / FLASHRANK_FILE).symlink_to("/nowhere/model.onnx")


def without_vocabulary(target: Path) -> None:
    (target / "vocab.txt").unlink()


def empty(target: Path) -> None:
    shutil.rmtree(target)
    target.mkdir()


@pytest.mark.parametrize(
    "damage", [without_model, with_small_model, with_dangling_link, without_vocabulary, empty]
)
def test_a_broken_layout_is_repaired(tmp_path: Path, damage):
    prepare_flashrank_directory(tmp_path)
    damage(tmp_path / FLASHRANK_MODEL)
    prepare_flashrank_directory(tmp_path)
    assert complete(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [FLASHRANK_MODEL]


@pytest.mark.parametrize("state", ["nothing", "broken"])
def test_workers_that_start_together_do_not_disturb_each_other(tmp_path: Path, state):
    for round_number in range(4):
        cache = tmp_path / str(round_number)
        if state == "broken":
            (cache / FLASHRANK_MODEL).mkdir(parents=True)
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(prepare_flashrank_directory, [cache] * 8))
        assert results == [cache] * 8
        assert complete(cache)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path):
    occupied = tmp_path / "models"
    occupied.write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailableError, match="RAG_DATA_DIR") as caught:
        prepare_flashrank_directory(occupied)
    assert str(tmp_path) not in str(caught.value)
