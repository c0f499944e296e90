"""Download of one pinned archive: whole, verified and bounded, or not there at all.

Nothing else in the app fetches a model. The caller holds a lock, so that two processes do not
write the same file; a killed process leaves a part that the next one writes over.
"""

from __future__ import annotations

import hashlib
import io
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from rag.errors import ModelUnavailableError
from rag.retrieval.outside import BrokenReplyError, blocks_of, is_here, usable_address

TRIES = 2
REDIRECTS = 5
MOST_SILENCE = 15.0
# The archive of TinyBERT has 3.4 MB, its files 5 MB.
MOST_ARCHIVE_BYTES = 64_000_000
MOST_UNPACKED_BYTES = 128_000_000
_USUAL = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True)
class PinnedArchive:
    """A zip file of a model: where it is, what it must be, and how long it may take."""

    model: str
    url: str
    sha256: str
    seconds: float


def download(pinned: PinnedArchive, target: Path) -> None:
    """Put the archive at ``target``; a second try after a broken or wrong answer.

    Raises ``ModelUnavailableError`` with one sentence when the address may not be called or no
    answer is the pinned file, and ``OSError`` when it cannot be written.
    """
    part = target.with_name(f".{target.name}.part")
    until = time.monotonic() + pinned.seconds
    why = ""
    for _ in range(TRIES):
        try:
            _fetch(pinned, part, until)
            part.replace(target)
            return
        except BrokenReplyError as error:
            why = str(error)
        except httpx.TimeoutException:
            why = "it took too long"
        except (httpx.HTTPError, httpx.InvalidURL):
            why = "the connection failed"
        finally:
            part.unlink(missing_ok=True)
        if time.monotonic() > until:
            break
    raise ModelUnavailableError(
        f"The reranker {pinned.model} could not be downloaded ({why}); it is tried again at the "
        "next start."
    )


def _fetch(pinned: PinnedArchive, part: Path, until: float) -> None:
    """Stream the archive into ``part``; redirects are followed one by one, each address checked."""
    url = pinned.url
    local = True
    timeout = max(0.1, min(MOST_SILENCE, until - time.monotonic()))
    with httpx.Client(timeout=timeout, headers={"Accept-Encoding": "identity"}) as client:
        for _ in range(REDIRECTS + 1):
            if not usable_address(url, local=local):
                raise ModelUnavailableError(
                    f"The reranker {pinned.model} is not downloaded: its address is not https or "
                    "not usable (RAG_RERANKING__TINYBERT_URL)."
                )
            with client.stream("GET", url, follow_redirects=False) as response:
                if response.next_request is None:
                    _save(response, pinned.sha256, part, until)
                    return
                local = is_here(url)
                url = str(response.next_request.url)
    raise BrokenReplyError("too many redirects")


def _save(response: httpx.Response, sha256: str, part: Path, until: float) -> None:
    if response.status_code != 200:
        raise BrokenReplyError(f"HTTP {response.status_code}")
    digest = hashlib.sha256()
    with part.open("wb") as stream:
        for block in blocks_of(response, until, MOST_ARCHIVE_BYTES):
            digest.update(block)
            stream.write(block)
    if digest.hexdigest() != sha256:
        raise BrokenReplyError("it is not the file whose SHA-256 is pinned")


def verified_bytes(archive: Path, sha256: str) -> bytes | None:
    """The archive's content; None when it is missing, too long or has another SHA-256."""
    try:
        if archive.stat().st_size > MOST_ARCHIVE_BYTES:
            return None
        content = archive.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def unpack(
    content: bytes, folder: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, bytes]:
    """The named files under ``folder`` of a zip file, by name.

    Only these are read and none is written where the zip says, so a path in it leads nowhere;
    companions (``__MACOSX``) are left out. Raises ``ModelUnavailableError`` when a needed file is
    missing, or the files are damaged or too long.
    """
    found: dict[str, bytes] = {}
    room = MOST_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            there = {info.filename: info for info in archive.infolist()}
            for name in (*needed, *optional):
                info = there.get(f"{folder}/{name}")
                if info is None and name in optional:
                    continue
                if info is None or info.compress_type not in _USUAL or info.file_size > room:
                    raise zipfile.BadZipFile
                found[name] = archive.read(info)
                room -= info.file_size
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError):
        raise ModelUnavailableError(
            f"The archive of the reranker {folder} does not hold the files it should."
        ) from None
    return found
