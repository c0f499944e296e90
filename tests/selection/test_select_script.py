"""scripts/select_papers.py as a maintainer runs it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from builders import CORPUS

from rag.papers import Paper, load_papers
from rag.selection.snapshot import read_records

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = ROOT.parent / "shared" / "arxiv" / "snapshot.jsonl.gz"

TOML = """
[gates]
categories = ["cs.LG"]

[[topic]]
slug = "widgets"
name = "Widgets"
quota = 3
categories = ["cs.LG"]
queries = ["widget", "brass dial", "über widget"]
hand_picked = [{ id = "cs/0112017", title = "On Presses", names = ["PressNet"] }]

[[topic]]
slug = "gauges"
name = "Gauges"
quota = 2
categories = ["cs.LG", "cs.CL"]
queries = ["gauge"]
"""
LINES = [
    {"id": "cs/0112017", "title": "On Presses"},
    *({"id": f"2301.{number:05d}", "title": f"Widget {number}"} for number in range(1, 6)),
    {"id": "2301.00006", "title": "Gauges and Widgets"},
    {"id": "2301.00007", "title": "The Über-Gauge 中"},
    {"id": "2301.00008", "title": "Tools"},
]


def snapshot_line(facts: dict[str, Any]) -> str:
    return json.dumps(
        {
            "abstract": "A confidential sentence.",
            "categories": "cs.LG cs.CL",
            "authors_parsed": [["Ray", "Ann", ""], ["Lim", "Bo", ""]],
            "versions": [{"version": "v1", "created": "Tue, 3 Jan 2023 10:11:12 GMT"}],
        }
        | facts
    )


def write_snapshot(path: Path, *changes: dict[str, Any]) -> Path:
    text = "\n".join(snapshot_line(facts) for facts in [*LINES, *changes]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "topics.toml").write_text(TOML, encoding="utf-8")
    return folder


def run(*arguments: object, seed: int = 0) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own; ``seed`` sets the order of Python's sets."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "scripts/select_papers.py", *map(str, arguments)],
        cwd=ROOT,
        env={**kept, "PYTHONHASHSEED": str(seed), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_manifest_and_report_are_written_and_a_second_run_writes_the_same_bytes(tmp_path, corpus):
    snapshot = write_snapshot(tmp_path / "s.jsonl")
    written = []
    for seed in (1, 2):
        done = run("--snapshot", snapshot, "--corpus", corpus, seed=seed)
        assert (done.returncode, done.stderr) == (0, "")
        files = [corpus / "manifest.json", corpus / "selection.md"]
        written.append([file.read_bytes() for file in files])
        assert done.stdout == files[1].read_text(encoding="utf-8") + (
            "\nmanifest.json and selection.md written\n"
        )
    assert written[0] == written[1]
    papers = load_papers(corpus / "manifest.json")
    assert [(paper.paper_id, paper.topic) for paper in papers] == [
        ("2301.00001", "Widgets"),
        ("2301.00002", "Widgets"),
        ("2301.00006", "Gauges"),
        ("2301.00007", "Gauges"),
        ("cs/0112017", "Widgets"),
    ]
    assert papers[-1].names == ("PressNet",)
    assert papers[0].authors == ("Ann Ray", "Bo Lim")
    assert b"confidential" not in b"".join(written[0])
    assert "9 papers seen = 5 chosen + 3 rejected + 0 with a wrong title + 1 that" in done.stdout


def test_plain_and_gzipped_snapshots_of_any_order_choose_the_same(tmp_path, corpus):
    plain = write_snapshot(tmp_path / "s.jsonl")
    turned = tmp_path / "turned.jsonl.gz"
    lines = plain.read_text(encoding="utf-8").splitlines()[::-1]
    turned.write_bytes(gzip.compress("\n".join(lines).encode()))
    for name, snapshot in (("a", plain), ("b", turned)):
        done = run(
            "--snapshot", snapshot, "--corpus", corpus, "--output", tmp_path / f"{name}.json"
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert not (corpus / "manifest.json").exists()


def test_manifest_and_report_go_where_they_are_told(tmp_path, corpus):
    snapshot = write_snapshot(tmp_path / "s.jsonl")
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    arguments = ("--snapshot", snapshot, "--corpus", corpus, "--output", tmp_path / "x" / "m.json")
    assert run(*arguments).returncode == 0
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == ["m.json", "selection.md"]
    done = run(*arguments, "--report", tmp_path / "y" / "r.md")
    assert done.stdout.endswith("\nm.json and r.md written\n")
    assert (tmp_path / "y" / "r.md").read_bytes() == (tmp_path / "x" / "selection.md").read_bytes()
    assert [path.name for path in corpus.iterdir()] == ["topics.toml"]


@pytest.mark.parametrize(
    ("title", "line"),
    [
        (
            "Quite Another Paper",
            "not taken: cs/0112017: different: meant “On Presses”, "
            "the source says “Quite Another Paper”\n",
        ),
        (None, "not taken: cs/0112017: not in the source (meant “On Presses”)\n"),
    ],
)
def test_a_wrong_or_missing_title_ends_with_1_and_the_rest_is_written(
    tmp_path, corpus, title, line
):
    snapshot = write_snapshot(tmp_path / "s.jsonl")
    lines = snapshot.read_text(encoding="utf-8").splitlines()[1:]
    if title:
        lines.append(snapshot_line({"id": "cs/0112017", "title": title}))
    snapshot.write_text("\n".join(lines), encoding="utf-8")
    done = run("--snapshot", snapshot, "--corpus", corpus)
    assert (done.returncode, done.stderr) == (1, line)
    assert line.removeprefix("not taken: ") in done.stdout
    papers = load_papers(corpus / "manifest.json")
    assert len(papers) == 5  # a paper found by keyword takes the room
    assert "cs/0112017" not in {paper.paper_id for paper in papers}


def test_a_renamed_paper_ends_with_0(tmp_path, corpus):
    changed = corpus / "topics.toml"
    changed.write_text(TOML.replace("On Presses", "On Presses: Revisited"), encoding="utf-8")
    done = run("--snapshot", write_snapshot(tmp_path / "s.jsonl"), "--corpus", corpus)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cs/0112017: renamed: meant “On Presses: Revisited”" in done.stdout


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("cs/0112017", "cs/0112017 is in: picked by hand for “Widgets”. Its title is same.\n"),
        (
            "https://arxiv.org/abs/2301.00007v2",
            "2301.00007 is in: found by keyword for “Gauges”. "
            "It matches gauges with score 3 (gauge).\n",
        ),
        (
            "2301.00005",
            "2301.00005 is out: the quota of its topic is full. "
            "It matches widgets with score 3 (widget).\n",
        ),
        (
            "2301.00002",
            "2301.00002 is out: on the reviewed exclude list (a thesis). "
            "It matches widgets with score 3 (widget).\n",
        ),
        (
            "2399.99999",
            "2399.99999 is out: the source does not hold it, or it matches no search phrase.\n",
        ),
        (
            "my thesis",
            "my thesis is out: the source does not hold it, or it matches no search phrase.\n",
        ),
    ],
)
def test_explaining_a_paper_writes_nothing(tmp_path, corpus, asked, answer):
    excluded = [{"id": "2301.00002", "reason": "a thesis"}]
    (corpus / "excluded.json").write_text(json.dumps(excluded), encoding="utf-8")
    snapshot = write_snapshot(tmp_path / "s.jsonl")
    done = run("--snapshot", snapshot, "--corpus", corpus, "--explain", asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, "")
    assert {path.name for path in corpus.iterdir()} == {"topics.toml", "excluded.json"}


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("no snapshot", "error: The metadata file s.jsonl could not be read.\n"),
        ("empty snapshot", "error: The metadata file s.jsonl holds no arXiv record.\n"),
        ("no topics", "error: The topics file topics.toml is missing or damaged.\n"),
        (
            "bad topics",
            "error: The topics file topics.toml is not usable (topic: Field required).\n",
        ),
        ("bad excluded", "error: The exclude list excluded.json is damaged.\n"),
    ],
)
def test_what_cannot_be_used_is_a_sentence_and_ends_with_2(tmp_path, corpus, damage, sentence):
    snapshot = write_snapshot(tmp_path / "s.jsonl")
    (corpus / "manifest.json").write_text("kept", encoding="utf-8")
    if damage == "no snapshot":
        snapshot.unlink()
    elif damage == "empty snapshot":
        snapshot.write_bytes(b"<html>\n")
    elif damage == "no topics":
        (corpus / "topics.toml").unlink()
    elif damage == "bad topics":
        (corpus / "topics.toml").write_bytes(b"")
    else:
        (corpus / "excluded.json").write_bytes(b"{")
    done = run("--snapshot", snapshot, "--corpus", corpus)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)
    assert (corpus / "manifest.json").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("arguments", [(), ("--snapshot", "a", "--api"), ("--snapshot",)])
def test_one_source_is_needed(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: select_papers.py" in done.stderr
    assert "Traceback" not in done.stderr


# The library itself.


def real(test: Any) -> Any:
    """Marks a test that needs the snapshot beside the checkout."""
    absent = pytest.mark.skipif(not SNAPSHOT.is_file(), reason="no snapshot beside the checkout")
    return pytest.mark.papers(absent(test))


def test_the_committed_manifest_is_a_thousand_papers_of_facts():
    papers = load_papers(CORPUS / "manifest.json")
    assert len({paper.paper_id for paper in papers}) == len(papers) == 1000
    assert Counter(paper.tier for paper in papers) == {"hand_picked": 304, "fill": 696}
    topics = Counter(paper.topic for paper in papers)
    assert len(topics) == 20
    assert min(topics.values()) >= 12
    picked = Counter(paper.topic for paper in papers if paper.hand_picked)
    assert min(picked[topic] for topic in topics) >= 12
    assert all(paper.title and paper.authors and paper.year for paper in papers)


@pytest.fixture(scope="module")
def chosen_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    done = run("--snapshot", SNAPSHOT, "--corpus", CORPUS, "--output", folder / "manifest.json")
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@real
@pytest.mark.parametrize("name", ["manifest.json", "selection.md"])
def test_it_gives_the_committed_files_byte_by_byte(chosen_again, name):
    same = (chosen_again / name).read_bytes() == (CORPUS / name).read_bytes()
    assert same, f"corpus/{name} is not what scripts/select_papers.py writes"


@real
def test_a_thousand_papers_of_which_304_were_picked_by_hand(chosen_again):
    papers = load_papers(chosen_again / "manifest.json")
    assert Counter(paper.tier for paper in papers) == {"hand_picked": 304, "fill": 696}
    assert set(Counter(paper.topic for paper in papers).values()) == {50}
    report = (chosen_again / "selection.md").read_text(encoding="utf-8")
    assert "6,897 papers seen = 1,000 chosen + 5,101 rejected + 0 with a wrong title" in report


@real
def test_no_abstract_is_in_the_manifest(chosen_again):
    entries = json.loads((chosen_again / "manifest.json").read_text(encoding="utf-8"))
    texts = {entry["paper_id"]: " ".join(map(str, entry.values())) for entry in entries}
    known = [record for record in read_records(SNAPSHOT) if record.paper_id in texts]
    abstracts = {record.paper_id: record.abstract for record in known if record.abstract}
    assert len(abstracts) > 900
    assert not [name for name, text in abstracts.items() if text[:60] in texts[name]]
    allowed = {field.name for field in fields(Paper)} - {"holding"}
    assert {name for entry in entries for name in entry} <= allowed
