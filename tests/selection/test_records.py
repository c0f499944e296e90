"""Records of one paper from several sources, and what says that a paper was withdrawn."""

from __future__ import annotations

from itertools import permutations

import pytest

from rag.selection.records import (
    PaperRecord,
    collect_records,
    join_records,
    one_line,
    says_withdrawn,
)

FIRST = PaperRecord(
    "2301.00001",
    "Widgets",
    ("Ann Ray",),
    "2023-01-03",
    ("cs.LG", "stat.ML"),
    "About widgets.",
    "v1",
)
THIRD = PaperRecord("2301.00001", "Better Widgets", categories=("cs.CL", "cs.LG"), version="v3")


@pytest.mark.parametrize(
    ("version", "number"),
    [("v1", 1), ("v12", 12), (None, 0), ("", 0), ("v", 0), ("draft", 0), ("v²", 0)],
)
def test_the_number_of_a_version(version, number):
    assert PaperRecord("2301.00001", "T", version=version).version_number == number


@pytest.mark.parametrize("pair", [(FIRST, THIRD), (THIRD, FIRST)])
def test_the_newest_version_wins_and_gaps_are_filled_from_the_other(pair):
    assert join_records(*pair) == PaperRecord(
        "2301.00001",
        "Better Widgets",
        ("Ann Ray",),
        "2023-01-03",
        ("cs.CL", "cs.LG", "stat.ML"),
        "About widgets.",
        "v3",
    )


def test_of_equal_versions_the_first_wins_and_a_known_version_beats_none():
    other = PaperRecord("2301.00001", "Other", ("Bo Lim",), version="v1", abstract="Other.")
    assert (join_records(FIRST, other).title, join_records(other, FIRST).title) == (
        "Widgets",
        "Other",
    )
    unnamed = PaperRecord("2301.00001", "No version", published="2023")
    joined = join_records(unnamed, FIRST)
    assert (joined.title, joined.version, joined.published) == ("Widgets", "v1", "2023-01-03")


@pytest.mark.parametrize("withdrawn", [(True, False), (False, True)])
def test_a_withdrawal_said_by_either_stands(withdrawn):
    """C30: a first version with full text is no substitute for a withdrawn second one."""
    first, second = (
        PaperRecord("2301.00001", "T", version=f"v{number}", withdrawn=said)
        for number, said in enumerate(withdrawn, start=1)
    )
    assert join_records(first, second).withdrawn
    assert join_records(second, first).withdrawn
    assert not join_records(FIRST, THIRD).withdrawn


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_versions_and_cross_lists_are_one_paper_in_any_order(order):
    pieces = [
        PaperRecord("2301.00001", "Widgets", categories=("cs.LG",), version="v1"),
        PaperRecord("2301.00001", "Better Widgets", categories=("cs.LG",), version="v3"),
        PaperRecord("2301.00001", "Widgets", categories=("cs.LG",)),
        PaperRecord("2301.00001", "Widgets", categories=("cs.LG", "cs.CL")),
    ]
    (paper,) = collect_records([pieces[place] for place in order], {}).values()
    assert (paper.title, paper.version) == ("Better Widgets", "v3")
    assert paper.categories == ("cs.LG", "cs.CL")


def test_records_are_added_to_those_that_are_known():
    known = {FIRST.paper_id: FIRST}
    other = PaperRecord("2301.00002", "Gauges")
    assert collect_records([other, THIRD], known) is known
    assert list(known) == ["2301.00001", "2301.00002"]
    assert known["2301.00001"].version == "v3"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  A \n  title\twith\r\nbreaks ", "A title with breaks"),
        ("ﬁne\u00a0text", "fine text"),
        ("", ""),
        (None, ""),
        (7, ""),
        (["a"], ""),
    ],
)
def test_text_becomes_one_line(text, line):
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("comment", "abstract"),
    [
        ("This paper has been withdrawn by the authors", None),
        ("WITHDRAWN", "A fine abstract."),
        ("8 pages; withdrawn due to an error in Lemma 2", ""),
        (None, "This paper has been withdrawn by the author due to a crucial error."),
        (None, "  This submission (arXiv:2301.00001) has been\n temporarily withdrawn."),
        (None, "The article was withdrawn."),
        ("5 pages", "This paper withdrawn by the authors."),
    ],
)
def test_a_comment_or_an_abstract_says_withdrawn(comment, abstract):
    assert says_withdrawn(comment, abstract)


@pytest.mark.parametrize(
    ("comment", "abstract"),
    [
        (None, None),
        ("12 pages, 3 figures", "We study widgets."),
        ("notwithdrawn", None),
        (None, "This work studies withdrawn papers and why their authors gave them up."),
        (None, "This paper is about withdrawn articles."),
        (None, "We ask why a widget is withdrawn. The paper is withdrawn in no case."),
        (None, "This paper measures widgets. A widget that was bent has been withdrawn."),
        (7, ["withdrawn"]),
    ],
)
def test_the_word_alone_does_not_withdraw_a_paper(comment, abstract):
    assert not says_withdrawn(comment, abstract)
