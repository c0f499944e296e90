"""BibTeX entries."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.bibtex import bibtex_entry, citation_key
from rag.papers import Paper

WIDGETS = Paper(
    "2301.00001",
    "On Widgets & Gauges",
    ("Ann B. Ray", "Bo Lim"),
    "2023-01-05",
    ("cs.LG", "cs.CL"),
    version="v3",
)


def field(entry: str, name: str) -> str | None:
    """The value of a field between its outer braces."""
    found = re.search(rf"^  {name} = \{{(.*)\}},?$", entry, re.MULTILINE)
    return found and found.group(1)


def unescaped(text: str) -> str:
    """What TeX would print."""
    names = {
        "backslash": "\\",
        "asciitilde": "~",
        "asciicircum": "^",
        "braceleft": "{",
        "braceright": "}",
    }
    text = re.sub(r"\\text(\w+)\{\}", lambda match: f"\0{names[match[1]]}", text)
    return re.sub(r"\\([{}&%$#_])", r"\1", text).replace("\0", "")


def test_a_whole_entry():
    assert bibtex_entry(WIDGETS) == (
        "@misc{ray2023widgets,\n"
        "  title = {{On Widgets \\& Gauges}},\n"
        "  author = {Ann B. Ray and Bo Lim},\n"
        "  year = {2023},\n"
        "  eprint = {2301.00001},\n"
        "  archivePrefix = {arXiv},\n"
        "  primaryClass = {cs.LG},\n"
        "  url = {https://arxiv.org/abs/2301.00001}\n"
        "}"
    )


def test_unknown_facts_are_left_out():
    assert bibtex_entry(Paper("cs/0112017", "The Widget")) == (
        "@misc{widget,\n"
        "  title = {{The Widget}},\n"
        "  eprint = {cs/0112017},\n"
        "  archivePrefix = {arXiv},\n"
        "  url = {https://arxiv.org/abs/cs/0112017}\n"
        "}"
    )


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("A & B", r"A \& B"),
        ("100% of $5 #1", r"100\% of \$5 \#1"),
        ("wid_get^2 ~ 3", r"wid\_get\textasciicircum{}2 \textasciitilde{} 3"),
        ("{Braced}", r"\textbraceleft{}Braced\textbraceright{}"),
        ("A \\ B", r"A \textbackslash{} B"),
        ("Über “Ça” 中 – α", "Über “Ça” 中 – α"),
        ("Is 3 < 4, or 'not' \"so\"?", "Is 3 < 4, or 'not' \"so\"?"),
    ],
)
def test_special_characters_of_titles_and_names_are_escaped(title, written):
    entry = bibtex_entry(Paper("2301.00001", title, (title,)))
    assert field(entry, "title") == f"{{{written}}}"
    assert field(entry, "author") == written


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=20))
def test_tex_prints_the_title_as_it_is(title):
    written = field(bibtex_entry(Paper("2301.00001", title)), "title")
    assert written is not None
    assert unescaped(written[1:-1]) == title
    assert not re.search(r"(?<!\\)[&%$#_^~]", written)


@pytest.mark.parametrize("title", ["Sets {x", "Sets x}"])
def test_the_braces_of_an_entry_are_balanced_whatever_the_title(title):
    depth = 0
    for char in bibtex_entry(Paper("2301.00001", title)).removesuffix("}"):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 1 or char not in "}"
    assert depth == 1


@pytest.mark.parametrize(
    ("title", "authors", "published", "key"),
    [
        ("LoRA: Low-Rank Adaptation", ("Edward J. Hu", "Yelong Shen"), "2021-06-17", "hu2021lora"),
        ("On the Widget", ("Ann Ray",), "2023", "ray2023widget"),
        ("A Widget", ("Hervé Jégou",), "2023-01", "jegou2023widget"),
        ("The Widget", ("DeepMind",), None, "deepmindwidget"),
        ("Über Widgets", (), "2023", "arxiv230100001"),
        ("3D Widgets", ("Jean-Luc O'Neil-Smith",), "2023", "oneilsmith20233d"),
        ("Widgets", (), None, "widgets"),
        ("中文", ("王 伟",), "2023", "arxiv230100001"),
        ("中文", ("Ann Ray",), "2023", "ray2023"),
        ("The", (), None, "arxiv230100001"),
        ("", (), None, "arxiv230100001"),
    ],
)
def test_the_key_is_family_name_year_and_first_word(title, authors, published, key):
    assert citation_key(Paper("2301.00001", title, authors, published)) == key


def test_the_key_of_an_old_style_id():
    assert citation_key(Paper("math.GT/0309136", "?!")) == "arxivmath0309136"


@given(
    st.text(max_size=20), st.lists(st.text(min_size=1, max_size=9).filter(str.strip), max_size=2)
)
def test_a_key_is_letters_and_digits_whatever_the_facts(title, authors):
    key = citation_key(Paper("2301.00001", title, tuple(authors), "2023-01"))
    assert re.fullmatch(r"[a-z][a-z0-9]*", key)


def test_an_author_without_a_name_is_no_author():
    entry = bibtex_entry(Paper("2301.00001", "Widgets", ("  ", "Ann Ray"), "2023"))
    assert field(entry, "author") == "Ann Ray"
