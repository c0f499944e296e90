"""Generations: written aside, sealed, swapped in whole."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest
from builders import build, opened, prose, write_papers

from rag.errors import IndexUnavailableError
from rag.indexing.generation import (
    CURRENT,
    KEYWORD_FILE,
    MANIFEST,
    current_generation,
    read_manifest,
    remove_old_generations,
    set_current,
    settings_hash,
    write_atomically,
    writer_lock,
)
from rag.sections import IndexingSettings


def test_a_generation_holds_what_its_manifest_says(tmp_path):
    files = write_papers(
        tmp_path / "pdfs", {"2301.00001": prose("widget"), "2301.00002": prose("gauge")}
    )
    summary = build(files, tmp_path / "index")
    directory = current_generation(tmp_path / "index")
    manifest = read_manifest(directory)
    assert manifest == summary.manifest
    assert directory.name == manifest.fingerprint
    assert (manifest.kind, manifest.papers, manifest.embedder, manifest.dimension) == (
        "built",
        2,
        "stub",
        16,
    )
    assert manifest.abstracts == 2
    assert manifest.abstracts + manifest.passages == manifest.chunks > 4
    assert not list((tmp_path / "index").glob("building-*"))
    assert (directory / KEYWORD_FILE).is_file()
    assert not [path for path in directory.rglob("*") if path.suffix in {".pkl", ".pickle"}]


def test_acronyms_of_the_library_are_mined(tmp_path):
    text = (
        "We use widget turning machines (WTM) here. Again, widget turning machines (WTM) are used. "
        + prose("x")
    )
    build(write_papers(tmp_path / "pdfs", {"2301.00001": text}), tmp_path / "index")
    index = opened(tmp_path / "index")
    assert index.acronyms == {"wtm": "widget turning machines"}
    index.close()


@pytest.mark.parametrize("name", ["", "gone", "../elsewhere", "a/b", "\n"])
def test_a_bad_pointer_is_a_sentence_with_the_command(tmp_path, name):
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (tmp_path / CURRENT).write_text(name)
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py"):
        current_generation(tmp_path)


def test_missing_and_half_written_are_told_apart(tmp_path):
    with pytest.raises(IndexUnavailableError, match="not there"):
        current_generation(tmp_path / "nowhere")
    (tmp_path / "building-abc").mkdir()
    with pytest.raises(IndexUnavailableError, match="half-written"):
        current_generation(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff\xfe", b'{"format": 2}'])
def test_an_unusable_manifest_is_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"index\.json.*scripts/build_index\.py"):
        read_manifest(tmp_path)


def test_an_index_of_another_version_of_the_program_is_refused(tmp_path):
    build(write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")}), tmp_path / "index")
    path = current_generation(tmp_path / "index") / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 0}))
    with pytest.raises(IndexUnavailableError, match="another version"):
        opened(tmp_path / "index")


def test_what_makes_another_index_changes_the_hash_and_speed_does_not():
    plain = settings_hash(IndexingSettings(), "stub")
    assert settings_hash(IndexingSettings(workers=7, seconds_per_file=5), "stub") == plain
    assert settings_hash(IndexingSettings(chunk_tokens=300), "stub") != plain
    assert settings_hash(IndexingSettings(), "other") != plain


def test_a_second_writer_is_refused_and_the_first_one_frees_the_place(tmp_path):
    with writer_lock(tmp_path / "index"):
        with (
            pytest.raises(IndexUnavailableError, match="Another process"),
            writer_lock(tmp_path / "index"),
        ):
            pytest.fail("two writers")
        with writer_lock(tmp_path / "other"):
            pass
    with writer_lock(tmp_path / "index"):
        pass


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(IndexUnavailableError, match="not writable"), writer_lock(tmp_path / "file"):
        pytest.fail("locked a file")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", read_only)
    with (
        pytest.raises(IndexUnavailableError, match="not writable"),
        writer_lock(tmp_path / "index"),
    ):
        pytest.fail("locked a read-only folder")


def test_an_error_of_the_work_itself_is_not_taken_for_the_locks(tmp_path):
    with pytest.raises(PermissionError, match="a file inside"), writer_lock(tmp_path):
        raise PermissionError("a file inside")
    with pytest.raises(TimeoutError, match="a slow call"), writer_lock(tmp_path):
        raise TimeoutError("a slow call")


def test_a_reader_sees_the_old_text_or_the_new_one(tmp_path):
    path = tmp_path / "file"
    texts = ["a" * 100_000, "b" * 100_000]
    write_atomically(path, texts[0])
    stop = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        write_atomically(path, texts[number % 2])
    stop.set()
    reader.join()
    assert seen
    assert seen <= set(texts)
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_the_newest_two_generations_stay(tmp_path):
    for age, name in enumerate(["new", "live", "old", "oldest"]):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text("{}")
        os.utime(tmp_path / name / MANIFEST, (1e9 - age, 1e9 - age))
    (tmp_path / "building-x").mkdir()
    set_current(tmp_path, "live")
    remove_old_generations(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        CURRENT,
        "building-x",
        "live",
        "new",
    ]
    assert (tmp_path / CURRENT).read_text() == "live\n"
