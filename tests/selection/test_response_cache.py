"""Answers on disk: found again, never half of one, never of another address."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rag.selection.response_cache import ResponseCache

URL = "https://arxiv.example/api?id_list=2301.00001&start=0"
TEXT = "<feed>\n  Ünïcode 𝜎 \r\n</feed>\n"


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_what_was_put_is_got_by_its_address_only(tmp_path):
    cache = ResponseCache(tmp_path / "deep" / "cache")
    assert cache.get(URL) is None
    assert not (tmp_path / "deep").exists()  # looking makes nothing
    cache.put(URL, TEXT)
    assert cache.get(URL) == TEXT
    assert ResponseCache(tmp_path / "deep" / "cache").get(URL) == TEXT
    assert cache.get(URL + "0") is None
    cache.put(URL, "new")
    assert cache.get(URL) == "new"


def test_a_file_name_holds_nothing_of_the_address(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put("https://arxiv.example/../../etc/passwd?" + "x" * 5000, TEXT)
    (path,) = files(tmp_path)
    assert len(path.name) == 68 and path.name.endswith(".txt")
    assert path.read_text(encoding="utf-8").startswith("https://arxiv.example/")


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"https://other\nx", URL.encode()[:-1]])
def test_a_damaged_file_is_no_answer(tmp_path, damage):
    cache = ResponseCache(tmp_path)
    cache.put(URL, TEXT)
    files(tmp_path)[0].write_bytes(damage)
    assert cache.get(URL) is None
    cache.put(URL, TEXT)
    assert cache.get(URL) == TEXT


def test_a_folder_in_its_place_is_no_answer(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put(URL, TEXT)
    (path,) = files(tmp_path)
    path.unlink()
    path.mkdir()
    assert cache.get(URL) is None


@pytest.mark.parametrize("old", [None, "old"])
def test_a_put_that_is_killed_leaves_the_old_answer_or_none(tmp_path, monkeypatch, old):
    cache = ResponseCache(tmp_path)
    if old:
        cache.put(URL, old)
    write = Path.write_bytes

    def killed(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            cache.put(URL, TEXT)
    assert cache.get(URL) == old
    cache.put(URL, TEXT)
    assert cache.get(URL) == TEXT
    assert len(files(tmp_path)) == 1


def test_a_disk_that_takes_nothing_costs_only_the_next_run_its_calls(tmp_path, caplog):
    (tmp_path / "cache").write_text("a file where the folder should be")
    cache = ResponseCache(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        cache.put(URL, TEXT)
    assert cache.get(URL) is None
    assert "could not be kept" in caplog.text
    assert str(tmp_path) not in caplog.text
