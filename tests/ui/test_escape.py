from __future__ import annotations

import pytest

from rag.ui import escape

HOSTILE = [
    "<img src=x onerror=alert(1)> Nets",
    "</div><script>1</script><style>body{display:none}</style>",
    '"><svg onload=1>',
    "' onmouseover='alert(1)",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_text_leaves_no_markup(words: str) -> None:
    shown = escape.text(words)
    assert not set("<>\"'") & set(shown)


def test_text_drops_what_cannot_be_seen() -> None:
    assert escape.text("a\x00b\u202ec\ud800d\ne") == "abcd\ne"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "data:text/html,x", "https://evil.example/arxiv.org", "//arxiv.org/abs/1",
        "https://arxiv.org.evil.example/", "http://[bad", "https://arxiv.org@evil.example/", "",
    ],
)  # fmt: skip
def test_only_arxiv_becomes_a_link(url: str) -> None:
    assert escape.arxiv_url(url) is None
    assert escape.link(url, "label") == "label"
    assert escape.markdown_link(url, "label") == "label"


def test_link_opens_apart_and_keeps_the_page() -> None:
    html = escape.link("https://arxiv.org/pdf/1301.3781v3#page=4", "p. 4", title='a"b')
    assert 'href="https://arxiv.org/pdf/1301.3781v3#page=4"' in html
    assert 'target="_blank" rel="noopener noreferrer"' in html
    assert "a&quot;b" in html


def test_markdown_keeps_hostile_titles_as_text() -> None:
    title = "A | b * c _d_ $x$ [y](javascript:alert(1)) `z` <b> & www.evil.example http://evil.example\n# e"
    shown = escape.markdown_text(title)
    for mark in (
        "\\|",
        "\\*",
        "\\_",
        "\\$",
        "\\[",
        "\\]",
        "\\`",
        "\\<",
        "\\>",
        "&amp;",
        "www\\.",
        "http\\://",
    ):
        assert mark in shown
    assert "\n" not in shown


def test_markdown_link_refuses_addresses_that_end_it_early() -> None:
    assert "](" not in escape.markdown_link("https://arxiv.org/abs/1) [x](http://evil", "t")
    assert escape.markdown_link("https://arxiv.org/abs/1", "t") == "[t](https://arxiv.org/abs/1)"


def test_shorten_and_milliseconds() -> None:
    assert escape.shorten("one two three", 9) == "one two…"
    assert escape.shorten("x" * 20, 5) == "xxxxx…"
    assert escape.milliseconds(31.4) == "31 ms"
    assert escape.milliseconds(999.9) == "1.0 s"
