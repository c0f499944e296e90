"""Addresses and keys of model servers, as people set them and as the client needs them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from rag.errors import ProviderError

_PASTED_ENDPOINTS = re.compile(
    r"/(?:chat/completions|chat|completions?|responses|messages|models|embeddings)$"
)
_OLLAMA_PORT = 11434
_OLLAMA_ENDPOINTS = re.compile(r"/api(?:/\w+)?$")
_BROKEN_SCHEME = re.compile(r"https?(?!://[^/])[:/]", re.IGNORECASE)
# Where a well-known host keeps its compatible interface, for those who type the host only.
_HOME = {"api.groq.com": "/openai/v1", "openrouter.ai": "/api/v1"}
_INCOMPLETE = frozenset({"", "/v1", "/api", "/openai"})
_NOTHING = frozenset({"", "null", "none"})


def configuration_error(sentence: str, provider: str = "") -> ProviderError:
    """The error of a setting that has to change before any call can be made."""
    return ProviderError(sentence, provider=provider, kind="configuration")


def normalise_base_url(address: str, variable: str = "RAG_REASONING__BASE_URL") -> str:
    """The address of an OpenAI-compatible server as the client needs it.

    Adds a missing scheme (http for this machine, private networks and names without a dot, https
    otherwise) and a missing ``/v1``; takes away quotes, trailing slashes and a pasted
    ``/chat/completions``. Raises ``ProviderError`` that names ``variable`` and what is wrong, for
    example a user or password in it, without showing them.
    """
    text = address.strip().strip("\"'<>").strip()
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        raise configuration_error(f"The address in {variable} contains blanks.")
    if _BROKEN_SCHEME.match(text) or "\\" in text:
        raise configuration_error(f"The address in {variable} must start with http:// or https://.")
    if "://" not in text:
        text = ("http://" if _is_near(f"http://{text}") else "https://") + text
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise configuration_error(f"The address in {variable} is not a valid one.") from None
    if parts.scheme not in {"http", "https"}:
        raise configuration_error(f"The address in {variable} must start with http:// or https://.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise configuration_error(
            f"The address in {variable} must hold neither user and password nor a query; "
            "put the key into its own variable."
        )
    if not host:
        raise configuration_error(f"The address in {variable} has no host name.")
    shown = f"[{host}]" if ":" in host else host
    path = _PASTED_ENDPOINTS.sub("", parts.path.rstrip("/")).rstrip("/")
    if port == _OLLAMA_PORT:
        path = _OLLAMA_ENDPOINTS.sub("", path)
    if path in _INCOMPLETE:
        path = _HOME.get(host, path)
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path or '/v1'}"


def _is_near(base_url: str) -> bool:
    """Whether a server is reached without TLS: local, or a name of a container network."""
    if is_local(base_url):
        return True
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return False
    return bool(host) and "." not in host and ":" not in host


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


def read_key(environ: Mapping[str, str], variable: str) -> SecretStr | None:
    """The key in ``variable``; None when blank or "null".

    Raises ``ProviderError`` for a key with characters that cannot be in a header: the HTTP
    library would otherwise fail with the key in its message.
    """
    value = environ.get(variable, "").strip()
    if value.lower() in _NOTHING:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", value):
        raise configuration_error(
            f"{variable} holds characters that no key has; copy the key again."
        )
    return SecretStr(value)


def read_identifier(environ: Mapping[str, str], *variables: str) -> str | None:
    """The first of ``variables`` that holds an organisation or project; None without one."""
    for variable in variables:
        value = environ.get(variable, "").strip()
        if re.fullmatch(r"[\w-]+", value, re.ASCII) and value.lower() not in _NOTHING:
            return value
    return None
