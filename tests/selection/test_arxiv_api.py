"""The arXiv API as a source, over real HTTP: patient, without repeats, and asked only once."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from stub_arxiv import (
    Answer,
    Entry,
    FakeTime,
    Seen,
    StubArxiv,
    captcha,
    cut_off,
    down,
    empty_page,
    error_entry,
    feed,
    refused,
    reset,
    sends,
    snapshot_line,
    too_many,
    web_page,
)

from rag.errors import SourceUnavailableError
from rag.papers import Paper, dump_papers, load_papers
from rag.sections import FetchingSettings
from rag.selection.arxiv_api import CACHE_FOLDER, ArxivApi, open_arxiv_api, search_query
from rag.selection.polite_client import PoliteClient
from rag.selection.records import PaperRecord, collect_records
from rag.selection.response_cache import ResponseCache
from rag.selection.selector import select_papers
from rag.selection.snapshot import SnapshotSource
from rag.selection.topics import Topic, read_plan
from rag.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
WIDGETS = [Entry(f"2301.{number:05d}", f"Widget {number}") for number in range(1, 51)]
TOPIC = Topic(slug="widgets", name="Widgets", categories=("cs.LG",), queries=("widget",))


class Bench:
    """The API at a stub, its waits in fake time, its cache in a folder."""

    def __init__(self, stack: ExitStack, stub: StubArxiv, folder: Path, **values: int) -> None:
        settings = FetchingSettings(
            **{"api_url": stub.api_url, "seconds_between_calls": 0, "page_size": 10} | values
        )
        self.time = FakeTime()
        self.cache = ResponseCache(folder)
        self.client = PoliteClient(settings, self.time.clock)
        self.api = ArxivApi(settings, self.client, self.cache)
        stack.callback(self.api.close)

    def search(self, topic: Topic = TOPIC) -> list[str]:
        return [record.paper_id for record in self.api.records([topic])]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def stub(stack: ExitStack) -> StubArxiv:
    return stack.enter_context(StubArxiv(WIDGETS))


@pytest.fixture
def bench(stack: ExitStack, stub: StubArxiv, tmp_path: Path) -> Callable[..., Bench]:
    return lambda **values: Bench(stack, stub, tmp_path / "cache", **values)


ALL = [entry.paper_id for entry in WIDGETS]


# Asking.


def test_a_search_asks_page_by_page_up_to_the_total(stub, bench):
    assert bench().search() == ALL
    assert [query["start"] for query in stub.queries] == ["0", "10", "20", "30", "40"]
    assert {query["search_query"] for query in stub.queries} == {
        '(ti:"widget" OR abs:"widget") AND (cat:cs.LG)'
    }
    assert {query["sortBy"] for query in stub.queries} == {"relevance"}
    assert stub.most_connections == 1


def test_a_search_stops_at_the_limit(stub, bench):
    assert bench(results_per_query=25).search() == ALL[:25]
    assert [query["max_results"] for query in stub.queries] == ["10", "10", "5"]


def test_a_search_without_results_is_an_answer(stub, bench):
    assert bench().search(TOPIC.model_copy(update={"queries": ("unheard of",)})) == []
    assert len(stub.seen) == 1


def test_papers_are_asked_for_by_id_in_parts_each_once(stub, bench):
    stub.entries.append(Entry("cs/0112017", "On Presses"))
    wanted = ["cs/0112017", *ALL[:12], *ALL[:3], "2399.99999", "../../etc/passwd", "%2e%2e%2fx"]
    found = [record.paper_id for record in bench().api.by_id(wanted)]
    assert found == ["cs/0112017", *ALL[:12]]
    assert [query["id_list"].count(",") for query in stub.queries] == [9, 3]
    assert not any("passwd" in str(query) for query in stub.queries)


def test_nothing_wanted_asks_nothing(stub, bench):
    assert list(bench().api.by_id([])) == []
    assert stub.seen == []


def test_hand_picked_and_preferred_papers_are_asked_for_by_id(stub, bench):
    topic = Topic.model_validate(
        TOPIC.model_dump()
        | {"hand_picked": [{"id": ALL[40], "title": "x"}], "prefer": [ALL[41]], "queries": []}
    )
    assert bench().search(topic) == [ALL[40], ALL[41]]


@pytest.mark.parametrize(
    ("phrase", "categories", "query"),
    [
        ("graph  network", (), '(ti:"graph network" OR abs:"graph network")'),
        ('a "b" OR ti:c', (), '(ti:"a b OR ti:c" OR abs:"a b OR ti:c")'),
        ("x", ("cs.LG", "cs.CL"), '(ti:"x" OR abs:"x") AND (cat:cs.LG OR cat:cs.CL)'),
    ],
)
def test_the_query_of_a_phrase(phrase, categories, query):
    assert search_query(phrase, categories) == query


def test_unknown_ids_whose_entries_hold_no_facts_are_absent(stub, bench):
    """arXiv answers an unknown id with an entry that has neither id nor title."""
    blank = feed([], 1).replace("</feed>", "<entry><title/></entry></feed>")
    stub.always("/api/query", sends(blank.encode(), "application/atom+xml"))
    assert list(bench().api.by_id(["2399.99999"])) == []
    assert len(stub.seen) == 1


# Misbehaviour.


def test_a_list_is_completed_without_repeats_whatever_comes_between(stub, bench):
    """C24."""
    stub.at(3, too_many(2), down(), down())
    one = bench()
    assert one.search() == ALL
    assert [query["start"] for query in stub.queries] == [
        "0", "10", "20", "20", "20", "20", "30", "40",
    ]  # fmt: skip
    assert one.time.slept == [5.0, 10.0, 20.0]
    assert stub.most_connections == 1


def test_a_long_retry_after_is_honoured(stub, bench):
    stub.at(1, too_many(123))
    one = bench()
    assert one.search() == ALL
    assert one.time.slept == [123.0]


@pytest.mark.parametrize(
    "fault",
    [
        empty_page(), cut_off(), web_page(), captcha(), reset(), reset(sent=200), down(500),
        sends(b"", "application/atom+xml"), sends(b"\xff\xfe\x00", "application/atom+xml"),
    ],
)  # fmt: skip
def test_an_answer_that_makes_no_sense_is_asked_for_again(stub, bench, fault):
    stub.at(2, fault, fault)
    one = bench()
    assert one.search() == ALL
    assert len(stub.seen) == 7
    assert one.time.slept == [5.0, 10.0]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (error_entry("incorrect id format for x"), "arXiv does not accept the query: incorrect id"),
        (refused(), r"arXiv refused the request \(HTTP 403\); nothing was kept of it\."),
        (refused(400), r"arXiv refused the request \(HTTP 400\)"),
    ],
)
def test_a_refusal_is_a_sentence_and_not_tried_again(stub, bench, fault, sentence):
    stub.at(2, fault)
    one = bench()
    with pytest.raises(SourceUnavailableError, match=sentence):
        one.search()
    assert len(stub.seen) == 2
    assert one.time.slept == []
    assert one.search() == ALL  # the client is not spoilt, and page 1 was kept
    assert len(stub.seen) == 6


def test_a_source_that_stays_down_stops_and_the_next_run_goes_on(stub, bench, tmp_path):
    stub.always("/api/query", empty_page())
    one = bench(attempts=3)
    with pytest.raises(SourceUnavailableError, match="an empty page where there are") as caught:
        one.search()
    assert str(tmp_path) not in str(caught.value)
    assert "127.0.0.1 did not give a usable answer" in str(caught.value)
    stub.heal()
    stub.at(6, down(), down(), down())
    with pytest.raises(SourceUnavailableError, match="HTTP 503"):
        one.search()
    before = len(stub.seen)
    assert bench().search() == ALL
    assert [query["start"] for query in stub.queries][before:] == ["20", "30", "40"]


def test_versions_and_cross_lists_are_one_paper(stub, bench):
    """C27."""
    stub.entries[:] = [
        Entry("2301.00001", "Widget old", categories=("cs.LG",), versions=1),
        Entry("2301.00001", "Widget new", categories=("cs.CL", "cs.LG"), versions=3),
        Entry("2301.00001", "Widget old", categories=("cs.LG", "stat.ML"), versions=2),
    ]
    again = TOPIC.model_copy(update={"slug": "again"})
    records = collect_records(bench().api.records([TOPIC, again]), {})
    record = records["2301.00001"]
    assert len(records) == 1
    assert (record.title, record.version) == ("Widget new", "v3")
    assert set(record.categories) == {"cs.LG", "cs.CL", "stat.ML"}
    paper = Paper(record.paper_id, record.title, version=record.version)
    assert paper.abs_url == "https://arxiv.org/abs/2301.00001v3"


# The cache.


def test_a_second_run_makes_no_call(stub, bench):
    first = bench().search()
    calls = len(stub.seen)
    again = bench()
    assert again.search() == first
    assert list(again.api.by_id(ALL[:3])) and list(again.api.by_id(ALL[:3]))
    assert len(stub.seen) == calls + 1
    assert again.client.calls == 1


@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_damaged_cache_file_is_asked_for_again(stub, bench, tmp_path, damage):
    bench().search()
    calls = len(stub.seen)
    path = sorted((tmp_path / "cache").iterdir())[0]
    path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    assert bench().search() == ALL
    assert len(stub.seen) == calls + 1
    assert bench().search() == ALL
    assert len(stub.seen) == calls + 1


def test_what_makes_no_sense_is_never_kept(stub, bench, tmp_path):
    stub.at(1, empty_page(), web_page(), cut_off(), error_entry("no"))
    with pytest.raises(SourceUnavailableError):
        bench().search()
    assert list(tmp_path.rglob("*.txt")) == []


def test_settings_name_the_cache(stub, stack, tmp_path):
    fetching = FetchingSettings(api_url=stub.api_url, seconds_between_calls=0)
    api = open_arxiv_api(Settings(data_dir=tmp_path, fetching=fetching))
    stack.callback(api.close)
    assert [record.paper_id for record in api.by_id(ALL[:1])] == ALL[:1]
    assert len(list((tmp_path / CACHE_FOLDER).iterdir())) == 1


def test_searches_are_logged(stub, bench, caplog):
    with caplog.at_level(logging.INFO, "rag.selection"):
        bench().search()
    assert caplog.messages == ["searching “widget” for widgets"]


# Selection.

TOML = """
[gates]
categories = ["cs.LG", "cs.CL"]

[[topic]]
slug = "widgets"
name = "Widgets"
quota = 6
categories = ["cs.LG"]
queries = ["widget", "brass dial"]
prefer = ["2301.00009"]
hand_picked = [{ id = "cs/0112017", title = "On Presses: A Long Study of Them", names = ["PressNet"] }]

[[topic]]
slug = "gauges"
name = "Gauges"
quota = 3
categories = ["cs.LG", "cs.CL"]
queries = ["gauge"]
"""
FACTS = [
    Entry("cs/0112017", "On Presses: A Long Study of Them", "Presses press & fold. " * 20),
    *(Entry(f"2301.{n:05d}", f"Widget {n}", versions=n % 3 + 1) for n in range(1, 10)),
    Entry("2301.00020", "Gauges and Widgets", "A brass dial.", ("Ümit Öz",), ("cs.CL", "cs.LG")),
    Entry("2301.00021", "The Über-Gauge\n & Others", categories=("cs.CL",)),
    Entry("2301.00022", "A Gauge Withdrawn", comment="This paper has been withdrawn"),
    Entry("2301.00023", "A Gauge of Physics", categories=("hep-th", "cs.LG")),
    Entry("2301.00024", "Tools", published="2023-02-28T23:59:59Z"),
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "topics.toml").write_text(TOML, encoding="utf-8")
    return folder


def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(snapshot_line, FACTS)) + "\n", encoding="utf-8")
    return path


def run(environ: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "scripts/select_papers.py", *map(str, arguments)],
        cwd=ROOT,
        env={**kept, **environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_api_and_a_snapshot_of_the_same_facts_choose_the_same_bytes(
    stub, bench, corpus, tmp_path
):
    stub.entries[:] = FACTS
    plan = read_plan(corpus)
    chosen = {
        "api": select_papers(plan, {}, bench().api),
        "snapshot": select_papers(plan, {}, SnapshotSource(snapshot(tmp_path))),
    }
    for name, selection in chosen.items():
        dump_papers(selection.papers, tmp_path / f"{name}.json")
    api, other = ((tmp_path / f"{name}.json").read_bytes() for name in ("api", "snapshot"))
    assert api == other
    assert "2301.00022" not in api.decode()
    assert len(chosen["api"].papers) == 7


def test_the_script_asks_the_api_and_a_second_run_asks_nothing(stub, corpus, tmp_path):
    stub.entries[:] = FACTS
    stub.at(2, too_many(0), down(), empty_page())
    environ = {**stub.environ, "RAG_DATA_DIR": str(tmp_path / "data")}
    done = run(environ, "--api", "--corpus", corpus, "--output", tmp_path / "api.json")
    assert done.returncode == 0, done.stderr
    assert "the arXiv API" in done.stdout
    assert "searching “gauge” for gauges" in done.stderr
    papers = load_papers(tmp_path / "api.json")
    assert {"cs/0112017", "2301.00009", "2301.00020"} <= {paper.paper_id for paper in papers}
    calls = len(stub.seen)
    again = run(environ, "--api", "--corpus", corpus, "--explain", "2301.00022")
    assert again.stdout.startswith("2301.00022 is out: withdrawn.")
    assert len(stub.seen) == calls
    assert stub.most_connections == 1


def test_the_script_stops_with_a_sentence_and_writes_nothing(stub, corpus, tmp_path):
    stub.always("/api/query", too_many(9999))
    environ = {**stub.environ, "RAG_DATA_DIR": str(tmp_path / "data")}
    done = run(environ, "--api", "--corpus", corpus, "--output", tmp_path / "api.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "error: The server asks to wait 9,999 seconds; run the same command again then.\n"
    )
    assert "Traceback" not in done.stderr and str(tmp_path) not in done.stderr
    assert not (tmp_path / "api.json").exists()


def test_the_stub_itself_answers_as_documented(stub):
    text = stub._feed({"id_list": "2301.00001v1,2301.00002", "start": "1", "max_results": "5"})
    assert text.count("<entry") == 1 and ">2</opensearch:totalResults>" in text
    assert isinstance(stub.answer(Seen("/nowhere", {}, "", 0)), Answer)
    assert PaperRecord("x", "y").version_number == 0
