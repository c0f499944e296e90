"""Sentence boundaries: the cases of real users, and what must hold for any text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.indexing.sentences import sentence_spans


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def test_c17_citations_abbreviations_versions_and_urls() -> None:
    text = (
        "We follow Li et al. [12] and Eq. (3). See Fig. 2, e.g. the U.S. data vs. v1.5.2 at "
        "https://a.example/x.y/z?v=1.0. Loss falls to 0.5. Next we scale."
    )
    assert split(text) == [
        "We follow Li et al. [12] and Eq. (3).",
        "See Fig. 2, e.g. the U.S. data vs. v1.5.2 at https://a.example/x.y/z?v=1.0.",
        "Loss falls to 0.5.",
        "Next we scale.",
    ]


def test_c18_decimals_initials_and_ellipsis() -> None:
    text = (
        "Accuracy rose from 0.5 to .73 (p < .05). Python 3.11.4 and CUDA 12.1 were used. "
        "Use lr = 1e-4. See Sec. 3.2 and Tab. 4. Dr. A. B. Ray agreed… then left."
    )
    assert split(text) == [
        "Accuracy rose from 0.5 to .73 (p < .05).",
        "Python 3.11.4 and CUDA 12.1 were used.",
        "Use lr = 1e-4.",
        "See Sec. 3.2 and Tab. 4.",
        "Dr. A. B. Ray agreed… then left.",
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('It "works." Then it stops.', 2),
        ("It works (mostly.) Then it stops.", 2),
        ("Does it work? It does! We think so.", 3),
        ("It works.[12] We move on.", 2),
        ("We compare BERT, GPT, etc. The rest is noise.", 2),
        ("We compare models (BERT, GPT, etc.) In the table.", 1),
        ("As shown by Ray et al. The gap closes.", 2),
        ("Samples are i.i.d. We assume this.", 2),
        ("We use w.r.t. Models as a word.", 1),
        ("1. Train the model. 2. Test it.", 2),
        ("The Transformer (cf. Sec. 2) is fast, i.e., it scales. See p. 4 and No. 5.", 2),
        ("We have Fig. 2 and Figs. 3 and 4. Eqs. (1)-(3) hold.", 2),
        ("这是一句。这是第二句！", 2),
        ("One line\ngoes on here. Then more.", 2),
        ("No stop here\n\nand none here", 2),
    ],
)
def test_stops_of_many_kinds(text: str, count: int) -> None:
    assert len(split(text)) == count


def test_blank_line_always_ends_a_sentence() -> None:
    assert split("as shown in Fig.\n\nThe rest") == ["as shown in Fig.", "The rest"]


@pytest.mark.parametrize(
    "text",
    [
        "word " * 3_000,
        "x" * 40_000,
        "." * 40_000 + "x",
        ")." * 20_000,
        ". " * 20_000,
        "." + ")" * 40_000 + "x",
        " \n" * 20_000 + "x",
        "\n".join("• an item without a stop" for _ in range(60)),
    ],
    ids=["c20a", "c20b", "dots", "closed", "spaced", "closers", "breaks", "c20c"],
)
def test_c20_no_input_is_slow(text: str) -> None:
    begin = time.process_time()
    spans = sentence_spans(text)
    assert time.process_time() - begin < 2
    assert spans


_TEXT = st.text(
    alphabet=st.one_of(st.sampled_from(list("aAbB.!?…()[]12 \n\"'”,;:-")), st.characters()),
    max_size=300,
)


@given(_TEXT)
def test_spans_are_ordered_disjoint_and_cover_all_text(text: str) -> None:
    spans = sentence_spans(text)
    covered = set()
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        assert not text[start].isspace() and not text[end - 1].isspace()
        covered.update(range(start, end))
        last = end
    assert all(at in covered for at, char in enumerate(text) if not char.isspace())
