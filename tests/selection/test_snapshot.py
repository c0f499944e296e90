"""Records of papers from files of either format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.errors import UnreadablePaperError
from rag.selection.records import one_line
from rag.selection.snapshot import SnapshotSource, merge_records, parse_record, read_records

SNAPSHOT = Path(__file__).resolve().parents[3] / "shared" / "arxiv" / "snapshot.jsonl.gz"

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
        record(title=["A", "title"]),
        record(id="2301.00001\n2301.00002"),
        '{"id": ' + "1" * 5000 + "}",
        "[" * 100_000,
        record()[:-1],
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
    assert set(paper.categories) == {"cs.LG", "cs.CL"}
    assert paper.published == "2023-01-03"
    assert len(paper.authors) == 3


@pytest.mark.parametrize(
    ("written", "paper_id", "version"),
    [
        ("cs/0112017", "cs/0112017", None),
        ("cs/0112017v2", "cs/0112017", "v2"),
        ("math.GT/0309136", "math.GT/0309136", None),
        ("http://arxiv.org/abs/hep-th/9901001v3", "hep-th/9901001", "v3"),
        ("https://arxiv.org/pdf/2301.00001v2.pdf", "2301.00001", "v2"),
        ("arXiv:0704.0001", "0704.0001", None),
    ],
)
def test_ids_of_every_style_are_bare_with_the_version_apart(written, paper_id, version):
    parsed = parse_record(record(id=written, versions=[]))
    assert parsed is not None
    assert (parsed.paper_id, parsed.version) == (paper_id, version)


def test_the_list_of_versions_wins_over_the_version_of_the_id():
    parsed = parse_record(record(id="2301.00001v1"))
    assert parsed is not None
    assert parsed.version == "v3"


def test_a_line_of_papers_jsonl_is_read_as_well():
    parsed = parse_record(
        json.dumps(
            {
                "arxiv_id": "2301.00001",
                "title": "Widgets",
                "arxiv_stamp_category": "cs.LG",
                "stamp_version": "v2",
            }
        )
    )
    assert parsed is not None
    assert (parsed.paper_id, parsed.version, parsed.categories) == (
        "2301.00001",
        "v2",
        ("cs.LG",),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"comments": "This paper has been withdrawn by the authors"},
        {"comments": None, "abstract": "  This paper has been withdrawn\nby the author.\n"},
    ],
)
def test_a_withdrawn_paper_is_known_by_its_comment_or_abstract(changes):
    """C30."""
    parsed = parse_record(record(**changes))
    assert parsed is not None
    assert parsed.withdrawn


def test_plain_and_gzipped_files_say_the_same(tmp_path):
    lines = [record(id=f"2301.{number:05d}", title=f"Über {number}") for number in range(1, 50)]
    plain, gz = write(tmp_path / "a.jsonl", *lines), write(tmp_path / "a.jsonl.gz", *lines)
    assert plain.read_bytes() != gz.read_bytes()
    assert list(read_records(plain)) == list(read_records(gz))
    assert [item.title for item in read_records(gz)][-1] == "Über 49"


def test_windows_line_ends_and_bytes_that_are_no_text_cost_one_character_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(record(title="A TITLE").encode().replace(b"TITLE", b"T\xffTLE") + b"\r\n")
    (parsed,) = read_records(path)
    assert parsed.title == "A TTLE"


def test_a_file_is_read_as_a_stream(tmp_path):
    records = read_records(write(tmp_path / "a.jsonl", record(), "{" * 10))
    assert isinstance(records, Iterator)
    assert next(records).paper_id == "2301.00001"
    assert list(records) == []


def test_a_snapshot_is_a_source_that_names_its_file(tmp_path):
    source = SnapshotSource(write(tmp_path / "a.jsonl", record()))
    assert source.name == "the snapshot a.jsonl"
    assert [item.paper_id for item in source.records(())] == ["2301.00001"]


@pytest.mark.papers
@pytest.mark.skipif(not SNAPSHOT.is_file(), reason="no snapshot beside the checkout")
def test_every_line_of_the_real_snapshot_is_a_record_of_its_own():
    records = list(read_records(SNAPSHOT))
    assert len(records) == len({item.paper_id for item in records}) == 6897
    assert all(item.title and item.published for item in records)
    assert sum(item.abstract is None for item in records) < 100
    assert not any("\n" in f"{item.title}{item.abstract}" for item in records)
