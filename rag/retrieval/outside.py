"""Outside: what calls to a service outside this machine have in common, whatever they fetch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx

from rag.errors import SourceUnavailableError
from rag.selection.polite_client import LOCAL_HOSTS, check_address


class BrokenReplyError(Exception):
    """An answer that was cut, came too slowly, is too long, or is not what was asked for.

    ``str(error)`` is half a sentence without the address or anything of the answer.
    """


def usable_address(url: str, *, local: bool = True) -> bool:
    """Whether the address may be called: https, or http to this machine; no user or password.

    ``local`` is whether it may be this machine: a host elsewhere may not send us there.
    """
    try:
        check_address(url, local=local)
        parts = httpx.URL(url)
    except (SourceUnavailableError, httpx.InvalidURL):
        return False
    return not parts.userinfo


def is_here(url: str) -> bool:
    """Whether the address is this machine."""
    return urlsplit(url).hostname in LOCAL_HOSTS


def blocks_of(response: httpx.Response, until: float, most_bytes: int) -> Iterator[bytes]:
    """The blocks of an unread body, given up past ``until`` (``time.monotonic``) or ``most_bytes``.

    The time limit of httpx is one of each read and never sees a body that drips.
    """
    size = 0
    for block in response.iter_bytes():
        size += len(block)
        if size > most_bytes:
            raise BrokenReplyError(f"it is longer than {most_bytes / 1e6:.0f} MB")
        if time.monotonic() > until:
            raise BrokenReplyError("it took too long")
        yield block
