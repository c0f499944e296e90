"""Addresses of OpenAI-compatible servers, as people type them and as the client needs them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from rag.errors import ProviderError

_PASTED_ENDPOINTS = re.compile(r"/(?:chat/completions|completions|responses|models|embeddings)$")


def configuration_error(sentence: str, provider: str = "") -> ProviderError:
    """The error of a setting that has to change before any call can be made."""
    return ProviderError(sentence, provider=provider, kind="configuration")


def normalise_base_url(address: str) -> str:
    """The address of an OpenAI-compatible server as the client needs it.

    Adds a missing scheme (http for this machine and private networks, https otherwise) and a
    missing ``/v1``; takes away trailing slashes and a pasted ``/chat/completions``. Raises
    ``ProviderError`` for one with user, password or query in it, without showing them.
    """
    text = address.strip()
    if "://" not in text:
        text = ("http://" if is_local(f"http://{text}") else "https://") + text
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        raise configuration_error("The base URL of the model server contains blanks.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise configuration_error(
            "The base URL of the model server is not a valid address."
        ) from None
    if parts.scheme not in {"http", "https"} or not host:
        raise configuration_error("The base URL of the model server must start with http or https.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise configuration_error(
            "The base URL of the model server must hold neither user and password nor a query; "
            "put the key into its own variable."
        )
    shown = f"[{host}]" if ":" in host else host
    path = _PASTED_ENDPOINTS.sub("", parts.path.rstrip("/")).rstrip("/")
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path or '/v1'}"


def is_local(base_url: str) -> bool:
    """Whether the address is this machine or a private network (so that chatting costs nothing).
    Anything that is not surely local is not."""
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return False
    if host in {"localhost", "host.docker.internal"} or host.endswith((".localhost", ".local")):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_private
