"""TinyBERT: downloaded once, pinned, whole or not there at all (C48)."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from builders import real_pool
from engines import engine_with_reranker

from rag.engine import Engine
from rag.errors import ModelUnavailableError
from rag.local_models import MINILM_L12, model_directory
from rag.retrieval import model_download
from rag.retrieval.flashrank_reranker import FlashRankReranker
from rag.retrieval.open_reranker import open_reranker
from rag.retrieval.tinybert_reranker import (
    NEEDED,
    TINYBERT_CALIBRATION,
    TINYBERT_FILE,
    TINYBERT_MODEL,
    TinyBertReranker,
    prepare_tinybert_directory,
)
from rag.sections import RerankingSettings
from rag.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = {name: f"content of {name}".encode() * 50 for name in NEEDED}
QUERY = "How does low-rank adaptation reduce the number of trained parameters?"
PASSAGES = ["LoRA trains a pair of low-rank matrices.", "The Eiffel Tower is in Paris.", " "]


def zipped(files: dict[str, bytes], **extra: bytes) -> bytes:
    """A zip laid out as the real one, with its companions of macOS."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{TINYBERT_MODEL}/", b"")
        archive.writestr(f"__MACOSX/._{TINYBERT_MODEL}", b"companion")
        for name, content in files.items():
            archive.writestr(f"{TINYBERT_MODEL}/{name}", content)
            archive.writestr(f"__MACOSX/{TINYBERT_MODEL}/._{name}", b"companion")
        for name, content in extra.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class FileServer(ThreadingHTTPServer):
    """Serves one body in a way that ``mode`` names, the first ``spoiled`` times; then whole."""

    daemon_threads = True

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = body
        self.mode = "whole"
        self.spoiled = 1_000
        self.calls = 0
        self.streaming = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/model.zip"

    def handle_error(self, *_: Any) -> None:
        """A client that was killed is no news."""


class Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        server.calls += 1
        mode = server.mode if server.calls <= server.spoiled else "whole"
        if mode == "redirect" and self.path != "/there.zip":
            self.send_response(302)
            self.send_header("Location", "/there.zip")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if mode.startswith("to "):
            self.send_response(302)
            self.send_header("Location", mode[3:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if mode.isdecimal():
            self.send_error(int(mode))
            return
        body = server.body
        self.send_response(200)
        if mode != "short":  # "short": the connection is closed early and no length was told
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if mode in {"cut", "short"}:
            self.wfile.write(body[: len(body) // 2])
        elif mode == "wrong":
            self.wfile.write(bytes(len(body)))
        elif mode in {"slow", "drip", "stall"}:
            half = len(body) // 2
            self.wfile.write(body[:half])
            self.wfile.flush()
            server.streaming.set()
            if mode == "drip":
                for place in range(half, len(body)):
                    self.wfile.write(body[place : place + 1])
                    self.wfile.flush()
                    time.sleep(0.1)
            time.sleep({"slow": 0.5, "drip": 0, "stall": 20}[mode])
            self.wfile.write(body[half:])
        else:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def server() -> Iterator[FileServer]:
    made = FileServer(zipped(SMALL))
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def settings_for(server: FileServer, **values: Any) -> RerankingSettings:
    facts = {
        "name": "flashrank-tinybert-l2",
        "tinybert_url": server.url,
        "tinybert_sha256": hashlib.sha256(server.body).hexdigest(),
    }
    return RerankingSettings(**{**facts, **values})


def whole(cache: Path, files: dict[str, bytes] = SMALL) -> bool:
    """The model's files and nothing half-done beside them."""
    found = {path.name: path.read_bytes() for path in (cache / TINYBERT_MODEL).iterdir()}
    beside = {path.name for path in cache.iterdir()}
    return found == files and beside <= {
        TINYBERT_MODEL,
        f"{TINYBERT_MODEL}.zip",
        f".{TINYBERT_MODEL}.lock",
    }


def test_it_is_downloaded_once(server: FileServer, tmp_path: Path) -> None:
    cache = tmp_path / "data" / "models"
    for _ in range(3):
        assert prepare_tinybert_directory(cache, settings_for(server)) == cache
    assert whole(cache) and server.calls == 1


def test_a_vocabulary_is_taken_along(server: FileServer, tmp_path: Path) -> None:
    files = {**SMALL, "vocab.txt": b"[PAD]\n"}
    server.body = zipped(files)
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path, files)


def test_redirects_on_this_machine_are_followed(server: FileServer, tmp_path: Path) -> None:
    server.mode = "redirect"
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path) and server.calls == 2


@pytest.mark.parametrize("mode", ["cut", "short", "wrong", "503", "429"])
def test_a_broken_download_is_tried_again(server: FileServer, tmp_path: Path, mode: str) -> None:
    server.mode, server.spoiled = mode, 1
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path) and server.calls == 2


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("cut", "connection failed"),
        ("short", "SHA-256"),
        ("wrong", "SHA-256"),
        ("404", "HTTP 404"),
        ("500", "HTTP 500"),
        ("to /model.zip", "too many redirects"),
    ],
)
def test_a_failed_download_is_a_sentence_and_leaves_nothing(
    server: FileServer, tmp_path: Path, mode: str, why: str
) -> None:
    server.mode = mode
    with pytest.raises(ModelUnavailableError, match=why) as caught:
        prepare_tinybert_directory(tmp_path, settings_for(server))
    assert str(tmp_path) not in str(caught.value) and str(caught.value).count(".") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f".{TINYBERT_MODEL}.lock"]
    server.mode = "whole"
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path)


@pytest.mark.parametrize("mode", ["stall", "drip"])
def test_a_slow_download_is_given_up(server: FileServer, tmp_path: Path, mode: str) -> None:
    server.mode = mode
    begun = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="took too long"):
        prepare_tinybert_directory(tmp_path, settings_for(server, tinybert_timeout_seconds=1))
    assert time.monotonic() - begun < 4


@pytest.mark.parametrize(
    "target", ["http://example.org/model.zip", "file:///etc/passwd", "ftp://h/x"]
)
def test_a_redirect_to_anything_but_https_is_refused(
    server: FileServer, tmp_path: Path, target: str
) -> None:
    server.mode = f"to {target}"
    with pytest.raises(ModelUnavailableError):
        prepare_tinybert_directory(tmp_path, settings_for(server))


@pytest.mark.parametrize(
    "url",
    ["http://example.org/m.zip", "file:///m.zip", "", "https://", "https://a:b@example.org/m.zip"],
)
def test_only_https_is_downloaded(server: FileServer, tmp_path: Path, url: str) -> None:
    with pytest.raises(ModelUnavailableError, match="not https or not usable"):
        prepare_tinybert_directory(tmp_path, settings_for(server, tinybert_url=url))


@pytest.mark.parametrize("sha256", ["", "752eddf1", "g" * 64])
def test_without_a_hash_nothing_is_loaded(server: FileServer, tmp_path: Path, sha256: str) -> None:
    prepare_tinybert_directory(tmp_path, settings_for(server))
    with pytest.raises(ModelUnavailableError, match="TINYBERT_SHA256"):
        prepare_tinybert_directory(tmp_path, settings_for(server, tinybert_sha256=sha256))


def test_a_model_of_another_hash_is_not_loaded(server: FileServer, tmp_path: Path) -> None:
    prepare_tinybert_directory(tmp_path, settings_for(server))
    with pytest.raises(ModelUnavailableError, match="SHA-256"):
        prepare_tinybert_directory(tmp_path, settings_for(server, tinybert_sha256="0" * 64))


def test_too_long_a_download_is_given_up(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_download, "MOST_ARCHIVE_BYTES", 1000)
    with pytest.raises(ModelUnavailableError, match="longer than"):
        prepare_tinybert_directory(tmp_path, settings_for(server))


def test_files_that_unpack_to_too_much_are_refused(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_download, "MOST_UNPACKED_BYTES", 1000)
    with pytest.raises(ModelUnavailableError, match="does not hold"):
        prepare_tinybert_directory(tmp_path, settings_for(server))


def test_a_path_in_the_archive_leads_nowhere(server: FileServer, tmp_path: Path) -> None:
    cache = tmp_path / "a" / "models"
    evil = {"../../evil.txt": b"x", "/tmp/rag-evil.txt": b"x", f"{TINYBERT_MODEL}/../up.txt": b"x"}
    server.body = zipped(SMALL, **evil)
    prepare_tinybert_directory(cache, settings_for(server))
    assert whole(cache)
    assert not [path for path in tmp_path.rglob("*.txt") if path.parent != cache / TINYBERT_MODEL]
    assert not Path("/tmp/rag-evil.txt").exists()


@pytest.mark.parametrize(
    "body",
    [
        b"no zip at all",
        zipped({name: content for name, content in SMALL.items() if name != TINYBERT_FILE}),
        zipped(SMALL)[:-30],
    ],
)
def test_another_layout_is_refused(server: FileServer, tmp_path: Path, body: bytes) -> None:
    server.body = body
    with pytest.raises(ModelUnavailableError, match="does not hold"):
        prepare_tinybert_directory(tmp_path, settings_for(server))
    assert not (tmp_path / TINYBERT_MODEL).exists()


def without_model(cache: Path) -> None:
    (cache / TINYBERT_MODEL / TINYBERT_FILE).unlink()


def changed_model(cache: Path) -> None:
    path = cache / TINYBERT_MODEL / TINYBERT_FILE
    path.write_bytes(bytes(len(path.read_bytes())))


def empty_folder(cache: Path) -> None:
    for path in (cache / TINYBERT_MODEL).iterdir():
        path.unlink()


def broken_zip(cache: Path) -> None:
    (cache / f"{TINYBERT_MODEL}.zip").write_bytes(b"PK\x03\x04" + bytes(1020))


@pytest.mark.parametrize(
    ("damage", "calls"),
    [(without_model, 1), (changed_model, 1), (empty_folder, 1), (broken_zip, 2)],
)
def test_a_broken_model_is_repaired(
    server: FileServer, tmp_path: Path, damage: Any, calls: int
) -> None:
    """C48: a missing or changed file comes from the kept archive, a broken archive from outside."""
    prepare_tinybert_directory(tmp_path, settings_for(server))
    damage(tmp_path)
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path) and server.calls == calls


def test_a_folder_that_cannot_be_written_is_a_sentence(server: FileServer, tmp_path: Path) -> None:
    occupied = tmp_path / "models"
    occupied.write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailableError, match="RAG_DATA_DIR"):
        prepare_tinybert_directory(occupied, settings_for(server))


def process(server: FileServer, cache: Path, **values: Any) -> subprocess.Popen[str]:
    """Another process that prepares the model."""
    chosen = settings_for(server, **values).model_dump_json()
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from rag.retrieval.tinybert_reranker import prepare_tinybert_directory\n"
        "from rag.sections import RerankingSettings\n"
        "chosen = RerankingSettings.model_validate_json(sys.argv[1])\n"
        "prepare_tinybert_directory(Path(sys.argv[2]), chosen)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, chosen, str(cache)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_download_it_once(server: FileServer, tmp_path: Path) -> None:
    server.mode = "slow"
    both = [process(server, tmp_path), process(server, tmp_path)]
    for one in both:
        _, errors = one.communicate(timeout=60)
        assert (one.returncode, errors) == (0, "")
    assert whole(tmp_path) and server.calls == 1


def test_a_killed_download_is_tried_again(server: FileServer, tmp_path: Path) -> None:
    server.mode, server.spoiled = "stall", 1
    killed = process(server, tmp_path)
    assert server.streaming.wait(30)
    time.sleep(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / TINYBERT_MODEL).exists()
    assert not (tmp_path / f"{TINYBERT_MODEL}.zip").exists()
    prepare_tinybert_directory(tmp_path, settings_for(server))
    assert whole(tmp_path) and server.calls == 2


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, RerankingSettings]]:
    """The layout of TinyBERT with the files of MiniLM inside, downloaded."""
    source = model_directory(MINILM_L12)
    files = {
        TINYBERT_FILE: (source / "model.onnx").read_bytes(),
        "config.json": b'{"pad_token_id": 0}',
        **{name: (source / name).read_bytes() for name in NEEDED[2:]},
    }
    made = FileServer(zipped(files))
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield tmp_path_factory.mktemp("data"), settings_for(made)
    made.shutdown()
    made.server_close()


def test_it_scores_through_flashrank(stand_in: tuple[Path, RerankingSettings]) -> None:
    data, chosen = stand_in
    settings = Settings(data_dir=data, reranking=chosen)
    reranker = open_reranker(settings, real_pool())
    assert isinstance(reranker, TinyBertReranker)
    assert reranker.name == f"flashrank {TINYBERT_MODEL}"
    assert reranker.calibration is TINYBERT_CALIBRATION
    pairs = [(QUERY, passage) for passage in PASSAGES]
    local = FlashRankReranker(real_pool(), data / "models")
    assert reranker.score(pairs) == pytest.approx(local.score(pairs), abs=1e-6)
    assert reranker.score([]) == []


def test_files_that_are_no_model_are_a_sentence(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="could not be loaded"):
        TinyBertReranker(real_pool(), tmp_path, settings_for(server)).load()


def test_a_failed_download_degrades_to_the_fused_order(
    server: FileServer, tmp_path: Path, starter_engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    server.mode = "404"
    settings = starter_engine.settings.model_copy(
        update={"data_dir": tmp_path, "reranking": settings_for(server)}
    )
    with caplog.at_level(logging.WARNING):
        reranker = open_reranker(settings, real_pool())
    assert reranker is None and "reranking is off" in caplog.text
    engine = engine_with_reranker(starter_engine, reranker, settings=settings)
    result = engine.ask("Which layers does LoRA adapt?")
    assert engine.facts.reranker == "none"
    assert result.degraded is not None and result.degraded.reason.startswith("Reranking is off")
    assert (result.reranking, result.bar) == ("", None)
    assert all(chunk.score_rerank is None for chunk in result.chunks)
