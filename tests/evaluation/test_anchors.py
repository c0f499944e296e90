"""Papers that are asked to find themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders import CORPUS

from rag.engine import Engine
from rag.errors import InvalidSettingError
from rag.evaluation.anchors import Anchor, anchors_of, find_anchor, read_anchors
from rag.papers import Paper
from rag.selection.topics import read_plan

RECORD = {"paper_id": "01", "title": "On Widgets", "paraphrase": "a study of small devices"}


def test_anchors_of_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    path.write_text(json.dumps(RECORD) + "\n\n")
    records = read_anchors(path)
    papers = [Paper("01", "On Widgets", names=("W5", "Wid")), Paper("02", "On Gauges")]
    assert list(anchors_of(papers, records)) == [
        Anchor("01", "title", "On Widgets"),
        Anchor("01", "paraphrase", "a study of small devices"),
        Anchor("01", "name", "What is W5?"),
        Anchor("02", "title", "On Gauges"),
    ]


def test_a_damaged_anchor_file_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    for content in ("{}", "x", None):
        path.write_text(content) if content else path.unlink()
        with pytest.raises(InvalidSettingError, match=r"anchors\.jsonl"):
            read_anchors(path)


def test_every_hand_picked_paper_has_a_paraphrase_without_its_name() -> None:
    records = read_anchors(CORPUS / "eval" / "anchors.jsonl")
    for topic in read_plan(CORPUS).topic:
        for entry in topic.hand_picked:
            words = f" {records[entry.id].paraphrase} "
            assert not any(f" {name} " in words for name in entry.names), entry.id


def test_a_paper_finds_itself(starter_engine: Engine) -> None:
    lora = starter_engine.library["2106.09685"]
    row = find_anchor(
        starter_engine.searcher, starter_engine.settings, Anchor(lora.paper_id, "title", lora.title)
    )
    assert (row.rank_judged, row.kept) == (1, True)
    absent = find_anchor(
        starter_engine.searcher, starter_engine.settings, Anchor("9999.99999", "title", lora.title)
    )
    assert (absent.rank_fused, absent.rank_judged, absent.kept) == (None, None, False)
