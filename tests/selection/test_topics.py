"""Topics and the catalogue made of them."""

from __future__ import annotations

from collections import Counter

import pytest
from builders import CORPUS

from rag.errors import InvalidSettingError
from rag.papers import Paper, dump_papers, is_paper_id
from rag.selection.topics import catalogue, read_topics

TOML = """
[[topic]]
slug = "widgets"
name = "Widgets"
hand_picked = [{ id = "2301.00001", title = "On Widgets" }, { id = "2301.00002", title = "On Gauges" }]

[[topic]]
slug = "levers"
name = "Levers"
"""


def test_topics_are_read(tmp_path):
    (tmp_path / "topics.toml").write_text(TOML)
    widgets, levers = read_topics(tmp_path / "topics.toml")
    assert (widgets.name, [entry.id for entry in widgets.hand_picked]) == (
        "Widgets",
        ["2301.00001", "2301.00002"],
    )
    assert levers.hand_picked == ()


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"[[topic]",
        b"topic = 3",
        b"[topic]\nslug = 'a'",
        b"[[topic]]\nname = 'x'",
        b"\xff\xfe",
        TOML.encode() + b"colour = 'red'",
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "topics.toml").write_bytes(content)
    with pytest.raises(InvalidSettingError, match=r"topics\.toml is missing or damaged"):
        read_topics(tmp_path / "topics.toml")


def test_the_manifest_wins_over_the_topics(tmp_path):
    (tmp_path / "topics.toml").write_text(TOML)
    assert [paper.title for paper in catalogue(tmp_path)] == ["On Widgets", "On Gauges"]
    dump_papers(
        [Paper("2301.00001", "From the manifest"), Paper("2301.00003", "Third")],
        tmp_path / "manifest.json",
    )
    library = catalogue(tmp_path)
    assert [paper.title for paper in library] == ["From the manifest", "On Gauges", "Third"]
    assert library["2301.00002"].hand_picked
    assert library["2301.00002"].topic == "Widgets"


def test_the_topics_of_the_project_are_twenty_and_pick_each_paper_once():
    topics = read_topics(CORPUS / "topics.toml")
    assert len(topics) == 20
    assert len({topic.slug for topic in topics}) == 20
    picked = Counter(entry.id for topic in topics for entry in topic.hand_picked)
    assert picked.most_common(1)[0][1] == 1
    assert len(picked) >= 304
    assert all(is_paper_id(paper_id) for paper_id in picked)
