"""The report of a selection, and one paper explained."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from rag.selection.records import PaperRecord
from rag.selection.report import explain, report_lines
from rag.selection.selector import Selection, select_papers
from rag.selection.topics import Gates, HandPicked, SelectionPlan, Topic


def picked(number: int, title: str) -> HandPicked:
    return HandPicked(id=f"2301.{number:05d}", title=title)


PLAN = SelectionPlan(
    gates=Gates(categories=frozenset({"cs.LG"}), title_blocklist=("clinical",)),
    topic=(
        Topic(
            slug="widgets",
            name="Widgets",
            quota=4,
            categories=("cs.LG",),
            queries=("widget", "brass"),
            hand_picked=(
                picked(1, "On Presses"),
                picked(2, "On Widgets and Gauges"),
                picked(3, "On Dials"),
                picked(4, "On Springs"),
                picked(5, "On Pulleys"),
            ),
        ),
        Topic(slug="levers", name="Levers", quota=3, categories=("cs.LG",), queries=("lever",)),
    ),
)


@dataclass(frozen=True)
class ListSource:
    listed: tuple[PaperRecord, ...]
    name: str = "a list"
    once: bool = False

    def records(self, topics):
        return iter(self.listed)


def paper(number: int, title: str, **values) -> PaperRecord:
    facts = {"categories": ("cs.LG",), "abstract": "Text.", "published": "2023-01"} | values
    return PaperRecord(f"2301.{number:05d}", title, **facts)


RECORDS = (
    paper(1, "On Presses", published="2019-05"),
    paper(2, "On Widgets, Gauges and Levers"),
    paper(3, "Quite Another Paper"),
    paper(5, "On Pulleys"),
    paper(11, "The Brass Widget"),
    paper(12, "A Widget", published="2024-01"),
    paper(13, "Another Widget"),
    paper(14, "Clinical Widgets"),
    paper(15, "A Clinical Lever"),
    paper(16, "Levers", categories=()),
    paper(17, "Lever Arms", published=None),
    paper(18, "Tools"),
    paper(19, "Benches"),
)
EXCLUDED = {"2301.00005": "a thesis"}


@pytest.fixture(scope="module")
def selection() -> Selection:
    return select_papers(PLAN, EXCLUDED, ListSource(RECORDS))


def test_the_whole_report(selection):
    assert report_lines(selection, PLAN, "a list") == [
        "# Selection",
        "",
        "5 papers from a list: 2 picked by hand, 3 found by keyword.",
        "",
        "13 papers seen = 5 chosen + 5 rejected + 1 with a wrong title + 2 that match no search "
        "phrase.",
        "",
        "| topic | quota | hand-picked | fill | years |",
        "|---|---:|---:|---:|---|",
        "| Widgets | 4 | 2 | 2 | 2019–2024 |",
        "| Levers (short of its quota) | 3 | 0 | 1 | – |",
        "",
        "Rejected candidates, by the topic they match best:",
        "",
        "| reason | widgets | levers | all |",
        "|---|---:|---:|---:|",
        "| on the reviewed exclude list | 1 | 0 | 1 |",
        "| no category | 0 | 1 | 1 |",
        "| its title names an applied niche | 1 | 1 | 2 |",
        "| the quota of its topic is full | 1 | 0 | 1 |",
        "",
        "Titles of hand-picked papers to look at:",
        "",
        "- 2301.00002: renamed: meant “On Widgets and Gauges”, "
        "the source says “On Widgets, Gauges and Levers”",
        "- 2301.00003: different: meant “On Dials”, the source says “Quite Another Paper”",
        "- 2301.00004: not in the source (meant “On Springs”)",
    ]


def test_the_counts_of_the_report_add_up(selection):
    lines = report_lines(selection, PLAN, "a list")
    seen, *parts = (int(number) for number in re.findall(r"\d+", lines[4]))
    assert seen == sum(parts) == len(RECORDS)
    rows = [list(map(int, re.findall(r"\| (\d+)", line))) for line in lines[15:19]]
    assert all(sum(row[:-1]) == row[-1] for row in rows)
    assert sum(row[-1] for row in rows) == len(selection.rejected)


def test_a_report_without_rejections_and_without_notable_titles_is_short():
    plan = SelectionPlan(topic=(Topic(slug="empty", name="Empty"),))
    lines = report_lines(select_papers(plan, {}, ListSource(())), plan, "nothing")
    assert lines[2] == "0 papers from nothing: 0 picked by hand, 0 found by keyword."
    assert lines[-3:] == ["| Empty | 0 | 0 | 0 | – |", "", "No candidate was rejected."]


def test_large_numbers_are_grouped():
    records = tuple(paper(number, "Tools") for number in range(1234))
    plan = SelectionPlan(topic=(Topic(slug="empty", name="Empty"),))
    lines = report_lines(select_papers(plan, {}, ListSource(records)), plan, "much")
    assert lines[4].startswith("1,234 papers seen = 0 chosen + ")
    assert "+ 1,234 that match no search phrase." in lines[4]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "is in: picked by hand for “Widgets”. Its title is same."),
        (2, "is in: picked by hand for “Widgets”. Its title is renamed."),
        (
            3,
            "is out: picked by hand, but 2301.00003: different: meant “On Dials”, "
            "the source says “Quite Another Paper”.",
        ),
        (4, "is out: picked by hand, but 2301.00004: not in the source (meant “On Springs”)."),
        (5, "is out: on the reviewed exclude list (a thesis)."),
        (
            11,
            "is in: found by keyword for “Widgets”. "
            "It matches widgets with score 6 (widget, brass).",
        ),
        (
            13,
            "is out: the quota of its topic is full. It matches widgets with score 3 (widget).",
        ),
        (
            15,
            "is out: its title names an applied niche. It matches levers with score 3 (lever).",
        ),
        (16, "is out: no category. It matches levers with score 3 (lever)."),
        (17, "is in: found by keyword for “Levers”. It matches levers with score 3 (lever)."),
        (18, "is out: the source does not hold it, or it matches no search phrase."),
        (99, "is out: the source does not hold it, or it matches no search phrase."),
    ],
)
def test_why_a_paper_is_in_or_out(selection, number, text):
    assert explain(f"2301.{number:05d}", selection) == f"2301.{number:05d} {text}"


@pytest.mark.parametrize(
    ("changes", "excluded", "reason"),
    [
        ({}, {"2301.00011": "a poster"}, "on the reviewed exclude list (a poster)"),
        ({"withdrawn": True}, {}, "withdrawn"),
        ({"abstract": None}, {}, "no abstract"),
        ({"categories": ()}, {}, "no category"),
        ({"categories": ("q-bio.NC",)}, {}, "its first category is outside CS and ML"),
        ({"categories": ("cs.CV",)}, {}, "none of its categories belongs to the topic"),
        ({"title": "A Clinical Widget"}, {}, "its title names an applied niche"),
        (
            {"title": "Tools", "abstract": "A widget."},
            {},
            "the search words occur only in passing",
        ),
        ({"title": "The Widget!"}, {}, "its title is in the library already"),
        ({"published": "2000-01"}, {}, "the quota of its topic is full"),
    ],
)
def test_each_rejection_is_explained(changes, excluded, reason):
    topic = Topic(
        slug="widgets", name="Widgets", quota=2, categories=("cs.LG",), queries=("widget",)
    )
    gates = Gates(categories=frozenset({"cs.LG", "cs.CV"}), title_blocklist=("clinical",))
    plan = SelectionPlan(gates=gates, topic=(topic,))
    full = reason.startswith("the quota")
    others = (paper(20, "The Widget"), paper(21, "That Widget"))
    records = (replace(paper(11, "A Widget", published="2022-12"), **changes), *others[: 1 + full])
    said = explain("2301.00011", select_papers(plan, excluded, ListSource(records)))
    assert said.startswith(f"2301.00011 is out: {reason}. It matches widgets with score ")
