"""ResponseCache: answers of a public service on disk, so that a re-run makes no call."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

logger = logging.getLogger(__name__)


class ResponseCache:
    """Text answers by address. A file holds the address in its first line, for people."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, url: str) -> str | None:
        """The kept answer; None when there is none."""
        try:
            kept = self._path(url).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        address, _, text = kept.partition("\n")
        return text if address == url else None

    def put(self, url: str, text: str) -> None:
        """Keep an answer; a killed run never leaves half of one. A full or read-only disk costs
        only the next run its calls."""
        path = self._path(url)
        part = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(f"{url}\n{text}".encode())
            part.replace(path)
        except OSError as error:
            logger.warning("an answer could not be kept: %s", error.strerror)

    def _path(self, url: str) -> Path:
        return self._directory / f"{hashlib.sha256(url.encode()).hexdigest()}.txt"
