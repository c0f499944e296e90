"""FlashRank with ms-marco-TinyBERT-L-2-v2: about 20 times faster than MiniLM-L-12, weaker.

No wheel brings this model, so it is downloaded once into the data folder: the archive that
FlashRank itself uses, pinned by revision and SHA-256. The archive is kept, and at every start the
model's files are compared with it. FlashRank's own download has no time-out and checks nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from rag.compute import ComputePool
from rag.errors import ModelUnavailableError
from rag.retrieval.flashrank_reranker import FlashRankReranker
from rag.retrieval.model_download import PinnedArchive, download, unpack, verified_bytes
from rag.retrieval.reranker import unfitted_calibration
from rag.sections import RerankingSettings

TINYBERT_MODEL = "ms-marco-TinyBERT-L-2-v2"
TINYBERT_FILE = "flashrank-TinyBERT-L-2-v2.onnx"
NEEDED = (
    TINYBERT_FILE,
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
OPTIONAL = ("vocab.txt",)
# Not fitted: the model cannot be had where this was written. To fit it:
# python scripts/calibrate.py --index DIR --reranker flashrank-tinybert-l2
TINYBERT_CALIBRATION = unfitted_calibration(0.05)


class TinyBertReranker(FlashRankReranker):
    """TinyBERT-L-2 through FlashRank, downloaded when it is first loaded.

    Raises ``ModelUnavailableError`` with one sentence when it cannot be downloaded, is not the
    pinned file, or cannot be loaded.
    """

    name = f"flashrank {TINYBERT_MODEL}"
    calibration = TINYBERT_CALIBRATION
    model = TINYBERT_MODEL
    model_file = TINYBERT_FILE

    def __init__(self, pool: ComputePool, cache_dir: Path, settings: RerankingSettings) -> None:
        super().__init__(pool, cache_dir)
        self._settings = settings

    def _prepare(self) -> Path:
        return prepare_tinybert_directory(self._cache_dir, self._settings)


def prepare_tinybert_directory(cache_dir: Path, settings: RerankingSettings) -> Path:
    """Download and lay out the model where it is not there yet; returns ``cache_dir``.

    Both happen aside, under a lock, and are renamed into place: of processes that start together
    one downloads and the others wait for it. Raises ``ModelUnavailableError``.
    """
    pinned = _pinned(settings)
    archive = cache_dir / f"{TINYBERT_MODEL}.zip"
    target = cache_dir / TINYBERT_MODEL
    if _complete(target, archive, pinned):
        return cache_dir
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        # Who holds the lock may need all its seconds; then it is our turn to try.
        with FileLock(cache_dir / f".{TINYBERT_MODEL}.lock", timeout=2 * pinned.seconds):
            if not _complete(target, archive, pinned):
                _install(target, archive, pinned)
    except Timeout:
        raise ModelUnavailableError(
            f"The reranker {TINYBERT_MODEL} is still being downloaded by another process."
        ) from None
    except OSError as error:
        raise ModelUnavailableError(
            f"The reranker {TINYBERT_MODEL} could not be stored ({error.strerror}); "
            "make the data folder writable (RAG_DATA_DIR)."
        ) from None
    return cache_dir


def _pinned(settings: RerankingSettings) -> PinnedArchive:
    sha256 = settings.tinybert_sha256.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ModelUnavailableError(
            f"The reranker {TINYBERT_MODEL} is loaded only with the SHA-256 of its archive in "
            "RAG_RERANKING__TINYBERT_SHA256."
        )
    return PinnedArchive(
        TINYBERT_MODEL, settings.tinybert_url.strip(), sha256, settings.tinybert_timeout_seconds
    )


def _files(content: bytes) -> Mapping[str, bytes]:
    return unpack(content, TINYBERT_MODEL, NEEDED, OPTIONAL)


def _complete(target: Path, archive: Path, pinned: PinnedArchive) -> bool:
    """Whether the archive is the pinned one and the model's files are those inside it."""
    content = verified_bytes(archive, pinned.sha256)
    if content is None:
        return False
    return all(_holds(target / name, wanted) for name, wanted in _files(content).items())


def _holds(path: Path, wanted: bytes) -> bool:
    try:
        return path.stat().st_size == len(wanted) and path.read_bytes() == wanted
    except OSError:
        return False


def _install(target: Path, archive: Path, pinned: PinnedArchive) -> None:
    content = verified_bytes(archive, pinned.sha256)
    if content is None:
        download(pinned, archive)
        content = archive.read_bytes()
    files = _files(content)
    aside = target.with_name(f".{target.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for name, wanted in files.items():
        (aside / name).write_bytes(wanted)
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)
