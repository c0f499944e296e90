"""Escaping: the one place where foreign text becomes HTML or Markdown, and where links are made.

Titles, questions, passages and model output are text from strangers. ``gr.HTML`` does not
sanitise, so nothing reaches it that did not pass through here.
"""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

_ARXIV_HOSTS = frozenset({"arxiv.org", "www.arxiv.org", "export.arxiv.org"})

# Control characters, lone surrogates and direction overrides: invisible, and able to hide or
# reorder what stands around them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$#@!(){}])")
_AUTOLINK = re.compile(r"(://|(?<=www)\.)", re.I)


def clean(value: str) -> str:
    """``value`` without characters that nobody can see."""
    return _UNSEEN.sub("", value)


def text(value: object) -> str:
    """``value`` as HTML text, safe in element content and in quoted attributes."""
    return html.escape(clean(str(value)), quote=True)


def arxiv_url(url: str) -> str | None:
    """``url`` when it is an http(s) address on arXiv, else None."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or host not in _ARXIV_HOSTS:
        return None
    return clean(url.strip())


def link(url: str, label_html: str, *, title: str = "") -> str:
    """A link to arXiv in a new tab around ready HTML; only the label when ``url`` is not safe."""
    safe = arxiv_url(url)
    if safe is None:
        return label_html
    hint = f' title="{text(title)}"' if title else ""
    return (
        f'<a class="ext" href="{text(safe)}" target="_blank" rel="noopener noreferrer"{hint}>'
        f"{label_html}</a>"
    )


def markdown_text(value: str) -> str:
    """``value`` on one line, so that a Markdown cell shows exactly these characters."""
    flat = " ".join(clean(value).split()).replace("&", "&amp;")
    return _AUTOLINK.sub(lambda found: "\\" + found.group(1), _MARKDOWN.sub(r"\\\1", flat))


def markdown_link(url: str, label: str) -> str:
    """A Markdown link to arXiv; plain text when ``url`` is not safe."""
    safe = arxiv_url(url)
    if safe is None or re.search(r"[\s()<>\\]", safe):
        return markdown_text(label)
    return f"[{markdown_text(label) or markdown_text(safe)}]({safe})"


def shorten(value: str, limit: int) -> str:
    """``value`` cut at a word with an ellipsis when longer than ``limit`` characters."""
    flat = " ".join(clean(value).split())
    if len(flat) <= limit:
        return flat
    cut = flat[:limit]
    head = cut.rsplit(" ", 1)[0] if " " in cut[limit // 2 :] else cut
    return head.rstrip(" ,;:") + "…"


def milliseconds(value: float) -> str:
    """A duration as people read it: ``31 ms``, ``1.9 s``."""
    return f"{value:.0f} ms" if value < 999.5 else f"{value / 1000:.1f} s"
