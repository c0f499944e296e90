"""Records of papers from files of either format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rag.errors import UnreadablePaperError
from rag.selection.snapshot import merge_records, one_line, parse_record, read_records

RECORD = {
    "id": "2301.00001",
    "title": "A  Long\n  Title:\n Sub & More",
    "authors_parsed": [
        ["Ray", "Ann", ""],
        ["Bengio", "Yoshua ", "Jr"],
        ["DeepMind", "", ""],
        ["", "", ""],
    ],
    "abstract": "  We study\nwidgets over\nmany lines.\n",
    "categories": "cs.LG cs.CL",
    "versions": [
        {"version": "v1", "created": "Tue, 3 Jan 2023 10:11:12 GMT"},
        {"version": "v3", "created": "Wed, 4 Jan 2023 10:11:12 GMT"},
    ],
    "comments": None,
}


def record(**changes):
    return json.dumps({**RECORD, **changes})


def test_a_record_is_cleaned_to_single_lines():
    parsed = parse_record(record())
    assert parsed is not None
    assert parsed.title == "A Long Title: Sub & More"
    assert parsed.abstract == "We study widgets over many lines."
    assert parsed.authors == ("Ann Ray", "Yoshua Bengio Jr", "DeepMind")
    assert parsed.categories == ("cs.LG", "cs.CL")
    assert (parsed.published, parsed.version, parsed.withdrawn) == ("2023-01-03", "v3", False)


def test_broken_characters_are_cleaned():
    parsed = parse_record(record(title="A\ud800 Title\x00 with \ud835\udf0e"))
    assert parsed is not None
    assert parsed.title == "A Title with 𝜎"
    assert one_line("a\x00b\n\n c\u2028d") == "ab c d"
    assert one_line(None) == ""


@pytest.mark.parametrize(
    ("versions", "published"),
    [
        (
            [{"created": "Sun, 1 Jan 2023 00:00:00 GMT"}],
            "2023-01",
        ),  # the snapshot's month precision
        ([{"created": "Mon, 2 Jan 2023 23:30:00 -0500"}], "2023-01-03"),
        ([{"created": "yesterday"}], None),
        ([{}], None),
        (["v1"], None),
        ([], None),
        (None, None),
        ("v1", None),
    ],
)
def test_the_date_is_as_precise_as_the_source(versions, published):
    parsed = parse_record(record(versions=versions))
    assert parsed is not None
    assert parsed.published == published


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        '"text"',
        "{}",
        record(id=None),
        record(id="../x"),
        record(title=None),
        record(title=" \n"),
    ],
)
def test_what_is_no_record(line):
    assert parse_record(line) is None


def test_missing_facts_are_empty_never_invented():
    parsed = parse_record(
        json.dumps(
            {
                "id": "cs/0112017",
                "title": "T",
                "abstract": " ",
                "comments": "This paper has been Withdrawn.",
            }
        )
    )
    assert parsed is not None
    assert (
        parsed.authors,
        parsed.published,
        parsed.categories,
        parsed.abstract,
        parsed.version,
    ) == ((), None, (), None, None)
    assert parsed.withdrawn


def test_odd_values_do_not_break_a_record():
    parsed = parse_record(
        record(authors_parsed=[[], ["A"], "B", None, [1, 2, 3]], stamp_version=3, versions=[])
    )
    assert parsed is not None
    assert (parsed.authors, parsed.version) == (("A",), None)


def write(path: Path, *lines: str) -> Path:
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["snapshot.jsonl", "snapshot.jsonl.gz"])
def test_unusable_lines_are_skipped(tmp_path, name):
    path = write(tmp_path / name, "not json", record(), "", record(id="2301.00002"))
    assert [item.paper_id for item in read_records(path)] == ["2301.00001", "2301.00002"]


def test_an_unreadable_file_is_a_sentence(tmp_path):
    gz = write(
        tmp_path / "cut.jsonl.gz",
        *[record(id=f"2301.{number:05d}", title=f"T{number * 7919}") for number in range(500)],
    )
    content = gz.read_bytes()
    damaged = {
        "cut.jsonl.gz": content[: len(content) // 2],
        "bytes.jsonl.gz": content[:200] + b"\xff" * 200 + content[400:],
        "plain.jsonl.gz": b"not a gzip file",
        "page.jsonl": b"<html>Rate exceeded</html>\n",
        "binary.jsonl": bytes(range(256)) * 20,
        "empty.jsonl": b"",
    }
    for name, damage in damaged.items():
        (tmp_path / name).write_bytes(damage)
        with pytest.raises(UnreadablePaperError, match=name):
            list(read_records(tmp_path / name))
    with pytest.raises(UnreadablePaperError, match="could not be read"):
        list(read_records(tmp_path / "missing.jsonl"))


def test_many_spellings_of_one_paper_are_one_paper(tmp_path):
    first = write(
        tmp_path / "a.jsonl",
        record(id="2301.00001v1", versions=[], categories="cs.LG", abstract=None),
        record(id="2301.00001v3", versions=[], categories="cs.CL", abstract="Later."),
        record(id="http://arxiv.org/abs/2301.00001", versions=[], categories="cs.LG cs.CL"),
    )
    second = write(
        tmp_path / "b.jsonl", record(title="Another", authors_parsed=[]), record(id="2301.99999")
    )
    merged = merge_records([first, second], {"2301.00001"})
    assert list(merged) == ["2301.00001"]
    paper = merged["2301.00001"]
    assert (paper.title, paper.abstract, paper.version) == (
        "A Long Title: Sub & More",
        "Later.",
        "v3",
    )
    assert paper.categories == ("cs.LG", "cs.CL")
    assert paper.published == "2023-01-03"
    assert len(paper.authors) == 3
