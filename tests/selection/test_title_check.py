"""Whether a hand-picked id is the paper that was meant."""

from __future__ import annotations

import pytest

from rag.selection.records import PaperRecord
from rag.selection.title_check import TitleFinding, check_title
from rag.selection.topics import HandPicked


def check(meant: str, said: str | None):
    record = None if said is None else PaperRecord("2301.00001", said)
    return check_title(HandPicked(id="2301.00001", title=meant), record)


@pytest.mark.parametrize(
    ("meant", "said"),
    [
        ("On Widgets", "On Widgets"),
        ("On Widgets", "ON WIDGETS."),
        ("Widgets: A Re-Visit", "Widgets - a revisit!"),
        ("Naïve Widgets", "Naive widgets"),
        ("Naïve Widgets", r"Na\"{\i}ve Widgets"),
        ("H2O Widgets", "H$_2$O Widgets"),
        ("ℓ1 Widgets", r"$\ell_1$ Widgets"),
        ("α-Widgets", r"$\alpha$-Widgets"),
        ("pi0: A Widget", "$π_0$: A Widget"),
        ("The WidGet", r"The \textsc{WidGet}"),
        ("“Widgets”", "``Widgets''"),
        ("论部件", "论部件"),
    ],
)
def test_the_same_title_with_case_punctuation_and_tex_folded(meant, said):
    found = check(meant, said)
    assert found.finding is TitleFinding.SAME
    assert found.passed


@pytest.mark.parametrize(
    ("meant", "said"),
    [
        ("On Widgets and Gauges", "On Widgets, Gauges and Levers"),
        ("WidgetNet: Turning by Hand", "WidgetNet: Large Presses Read Any Dial"),
        ("On Widgets", "More on Widgets Again"),  # two of four words: the half that is needed
    ],
)
def test_a_renamed_paper_is_kept_and_reported(meant, said):
    found = check(meant, said)
    assert found.finding is TitleFinding.RENAMED
    assert found.passed
    assert found.line() == (f"2301.00001: renamed: meant “{meant}”, the source says “{said}”")


@pytest.mark.parametrize(
    ("meant", "said"),
    [
        ("On Widgets", "Attention to Gauges"),
        ("On Widgets", "More on Widgets Again Today"),  # two of five words
        ("WidgetNet: Turning by Hand", "WidgetNet Large Presses Read Any Dial"),
        ("Widgets: A Press", "A Press for Brass: Widgets Among Many Other Dials"),
        ("论部件", "另一篇"),
        ("论部件", "On Widgets"),
        ("On Widgets", "论部件"),
    ],
)
def test_a_different_paper_is_not_taken(meant, said):
    found = check(meant, said)
    assert found.finding is TitleFinding.DIFFERENT
    assert not found.passed
    assert found.line() == (f"2301.00001: different: meant “{meant}”, the source says “{said}”")


def test_a_missing_paper_is_not_taken():
    found = check("On Widgets", None)
    assert (found.finding, found.passed, found.source_title) == (TitleFinding.MISSING, False, None)
    assert found.line() == "2301.00001: not in the source (meant “On Widgets”)"
