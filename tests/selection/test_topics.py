"""The plan of a selection, the exclude list and the catalogue made of them."""

from __future__ import annotations

import json

import pytest
from builders import CORPUS

from rag.errors import InvalidSettingError
from rag.papers import Paper, dump_papers, is_paper_id
from rag.selection.topics import catalogue, read_excluded, read_plan

TOML = """
[gates]
categories = ["cs.LG"]
title_blocklist = ["clinical"]

[[topic]]
slug = "widgets"
name = "Widgets"
quota = 3
categories = ["cs.LG", "cs.CL"]
queries = ["widget", "brass widget"]
prefer = ["2301.00009"]
hand_picked = [
  { id = "2301.00001", title = "On Widgets", names = ["WidgetNet", "WN"] },
  { id = "cs/0112017", title = "On Gauges" },
]

[[topic]]
slug = "levers"
name = "Levers"
"""


def write_topics(directory, text):
    (directory / "topics.toml").write_text(text, encoding="utf-8")
    return directory


def test_the_plan_is_read(tmp_path):
    plan = read_plan(write_topics(tmp_path, TOML))
    widgets, levers = plan.topic
    assert plan.gates.categories == {"cs.LG"}
    assert plan.gates.title_blocklist == ("clinical",)
    assert (widgets.slug, widgets.name, widgets.quota) == ("widgets", "Widgets", 3)
    assert widgets.categories == ("cs.LG", "cs.CL")
    assert widgets.queries == ("widget", "brass widget")
    assert widgets.prefer == {"2301.00009"}
    assert [(entry.id, entry.title, entry.names) for entry in widgets.hand_picked] == [
        ("2301.00001", "On Widgets", ("WidgetNet", "WN")),
        ("cs/0112017", "On Gauges", ()),
    ]
    assert (levers.quota, levers.hand_picked, levers.queries, levers.categories) == (0, (), (), ())


@pytest.mark.parametrize("content", [None, b"[[topic]", b"\xff\xfe", b"topic = [", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "topics.toml").write_bytes(content)
    with pytest.raises(InvalidSettingError) as raised:
        read_plan(tmp_path)
    assert str(raised.value) == "The topics file topics.toml is missing or damaged."


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("", "topic", "Field required"),
        ("topic = 3", "topic", "valid tuple"),
        ("[[topic]]\nname = 'x'", "topic.0.slug", "Field required"),
        (TOML + "colour = 'red'", "topic.1.colour", "not permitted"),
        (TOML + "quota = -1", "topic.1.quota", "greater than or equal to 0"),
        (TOML + "quota = 'many'", "topic.1.quota", "valid integer"),
        (TOML + "prefer = 7", "topic.1.prefer", "valid frozenset"),
        (TOML.replace("title_blocklist", "blocklist"), "gates.blocklist", "not permitted"),
        (TOML.replace(', title = "On Gauges"', ""), "topic.0.hand_picked.1.title", "required"),
        (TOML.replace("cs/0112017", "2301.00001"), "topic", "2301.00001 is picked twice"),
        (TOML.replace("cs/0112017", "2301.00001v2"), "topic", "2301.00001v2 is picked twice or is"),
        (TOML.replace("cs/0112017", "../secret"), "topic", "is no arXiv id"),
        (TOML.replace('"levers"', '"widgets"'), "topic", "same slug or name"),
        (TOML.replace('"Levers"', '"Widgets"'), "topic", "same slug or name"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said_with_its_place(tmp_path, content, place, what):
    write_topics(tmp_path, content)
    with pytest.raises(InvalidSettingError) as raised:
        read_plan(tmp_path)
    said = str(raised.value)
    assert said.startswith(f"The topics file topics.toml is not usable ({place}: ")
    assert what in said
    assert said.endswith(").")
    assert "\n" not in said


def test_an_id_is_picked_once_over_all_topics(tmp_path):
    again = 'hand_picked = [{ id = "2301.00001", title = "On Widgets" }]'
    with pytest.raises(InvalidSettingError, match=r"2301\.00001 is picked twice"):
        read_plan(write_topics(tmp_path, TOML + again))


def write_excluded(directory, content):
    text = content if isinstance(content, str) else json.dumps(content)
    (directory / "excluded.json").write_text(text, encoding="utf-8")


def test_the_exclude_list_is_read_with_its_reasons(tmp_path):
    assert read_excluded(tmp_path) == {}
    write_excluded(tmp_path, [])
    assert read_excluded(tmp_path) == {}
    write_excluded(
        tmp_path,
        [
            {"id": "2301.00001", "reason": " a thesis "},
            {"id": "cs/0112017", "reason": "a poster", "by": "me"},
        ],
    )
    assert read_excluded(tmp_path) == {"2301.00001": "a thesis", "cs/0112017": "a poster"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "7",
        "null",
        ["2301.00001"],
        {"2301.00001": "a thesis"},
        [{"id": "2301.00001"}],
        [{"reason": "a thesis"}],
        [None],
    ],
)
def test_a_damaged_exclude_list_is_a_sentence(tmp_path, content):
    write_excluded(tmp_path, content)
    with pytest.raises(InvalidSettingError) as raised:
        read_excluded(tmp_path)
    assert str(raised.value) == "The exclude list excluded.json is damaged."


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"id": "2301.00001", "reason": " "}, "2301.00001"),
        ({"id": "2301.00001", "reason": None}, "2301.00001"),
        ({"id": "2301.00001v1", "reason": "a thesis"}, "2301.00001v1"),
        ({"id": "", "reason": "a thesis"}, "no id"),
    ],
)
def test_an_entry_needs_an_id_and_a_reason(tmp_path, entry, named):
    write_excluded(tmp_path, [{"id": "2301.00002", "reason": "fine"}, entry])
    with pytest.raises(InvalidSettingError) as raised:
        read_excluded(tmp_path)
    assert str(raised.value) == (
        f"The exclude list excluded.json needs an arXiv id and a reason in every entry ({named})."
    )


def test_the_manifest_wins_over_the_topics(tmp_path):
    write_topics(tmp_path, TOML)
    assert [paper.title for paper in catalogue(tmp_path)] == ["On Widgets", "On Gauges"]
    dump_papers(
        [Paper("2301.00001", "From the manifest"), Paper("2301.00003", "Third")],
        tmp_path / "manifest.json",
    )
    library = catalogue(tmp_path)
    assert [paper.title for paper in library] == ["From the manifest", "Third", "On Gauges"]
    assert library["cs/0112017"].hand_picked
    assert library["cs/0112017"].topic == "Widgets"
    assert library["2301.00003"].topic is None


def test_names_of_hand_picked_papers_are_in_the_catalogue(tmp_path):
    library = catalogue(write_topics(tmp_path, TOML))
    assert library["2301.00001"].names == ("WidgetNet", "WN")
    assert library["cs/0112017"].names == ()


def test_the_plan_of_the_project_is_twenty_topics_with_room_for_a_thousand():
    plan = read_plan(CORPUS)
    assert len(plan.topic) == 20
    assert sum(topic.quota for topic in plan.topic) == 1000
    picked = [entry.id for topic in plan.topic for entry in topic.hand_picked]
    assert len(picked) == len(set(picked)) == 304
    assert min(len(topic.hand_picked) for topic in plan.topic) >= 12


def test_every_topic_of_the_project_can_be_searched():
    plan = read_plan(CORPUS)
    preferred = [paper_id for topic in plan.topic for paper_id in topic.prefer]
    assert all(is_paper_id(paper_id) for paper_id in preferred)
    assert all(topic.queries and topic.categories for topic in plan.topic)
    # A category that no field gate lets through could never be a first one, but may be a second.
    assert all(set(topic.categories) & plan.gates.categories for topic in plan.topic)
    assert (
        read_excluded(CORPUS)
        .keys()
        .isdisjoint(entry.id for topic in plan.topic for entry in topic.hand_picked)
    )
