"""A manifest becomes an index: fetched from a stub of arXiv, stopped, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import CORPUS, StubEmbedder, StubLate, opened, prose, real_embedder
from stub_arxiv import (
    Entry,
    StubArxiv,
    captcha,
    down,
    drip,
    error_entry,
    missing,
    pdf_bytes,
    refused,
    snapshot_line,
)
from stub_extract import extract_text, extract_unless_scanned

from rag.errors import IndexUnavailableError, InvalidSettingError
from rag.indexing.downloads import pdf_path
from rag.indexing.extract import extract_paper
from rag.indexing.full_library import (
    Builders,
    LibraryPlan,
    LibrarySummary,
    build_library,
    read_manifest_papers,
)
from rag.papers import Paper, dump_papers, load_papers
from rag.sections import FetchingSettings
from rag.settings import Settings

TESTS = Path(__file__).resolve().parent.parent
REAL = TESTS.parent.parent / "shared" / "papers"
# Small ones of two to five pages, some of the library and some not.
CHOSEN = ["1301.5088", "1803.10963", "1910.01108", "2003.04297", "2105.02723"]

IDS = [*(f"2301.{number:05d}" for number in range(1, 6)), "cs/0112017"]
ENTRIES = [Entry(name, f"On Widget {name}", f"We study widget {name}. " * 3) for name in IDS]
PAPERS = [Paper(entry.paper_id, entry.title, topic="Widgets") for entry in ENTRIES]


class Bench:
    """A data folder, a corpus with two digests, and a stub of arXiv."""

    def __init__(self, stub: StubArxiv, folder: Path) -> None:
        self.stub, self.folder = stub, folder
        self.embedder = StubEmbedder()
        self.progress: list[tuple[str, str]] = []
        digests = folder / "corpus" / "starter" / "digests"
        digests.mkdir(parents=True)
        for name in IDS[:2]:
            text = f"A digest of {name} in our own words, long enough to be one of them."
            (digests / f"{name}.json").write_text(
                json.dumps(
                    {
                        "paper_id": name,
                        "title": "D",
                        "authors": [],
                        "paragraphs": [{"kind": "summary", "pages": [1], "text": text}],
                    }
                )
            )

    def settings(self, **values: float) -> Settings:
        fetching = FetchingSettings(
            **{  # type: ignore[arg-type]
                "api_url": self.stub.api_url,
                "pdf_url": self.stub.pdf_url,
                "seconds_between_calls": 0,
                "first_wait_seconds": 0,
            }
            | values
        )
        return Settings(
            data_dir=self.folder / "data", corpus_dir=self.folder / "corpus", fetching=fetching
        )

    def build(self, **plan: Any) -> LibrarySummary:
        """A run with a fresh record of what was embedded; its counts add up."""
        self.embedder = StubEmbedder()
        self.progress.clear()
        extract = plan.pop("extract", extract_text)
        values: dict[str, Any] = {
            "papers": tuple(PAPERS),
            "pdf_dir": self.pdfs,
            "index": self.index,
        }
        summary = build_library(
            LibraryPlan(**values | plan),
            self.settings(),
            Builders(self.embedder, StubLate(), extract),
            lambda phase, name: self.progress.append((phase, name)),
        )
        build, downloads = summary.build, summary.downloads
        assert build.indexed + build.skipped_count + build.failed_count == build.inputs
        if downloads:
            assert len(downloads.outcomes) + downloads.left == downloads.wanted
        return summary

    def holdings(self) -> dict[str, str]:
        index = opened(self.index)
        try:
            return {paper.paper_id: paper.holding for paper in index.papers}
        finally:
            index.close()

    def metadata(self, *entries: Entry) -> tuple[Path, ...]:
        path = self.folder / "snapshot.jsonl"
        path.write_text("\n".join(map(snapshot_line, entries or ENTRIES)), encoding="utf-8")
        return (path,)

    @property
    def pdfs(self) -> Path:
        return self.folder / "pdfs"

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def embedded(self) -> set[str]:
        """Ids of the papers whose text was embedded in the last run."""
        return {name for name in IDS + CHOSEN if any(name in t for t in self.embedder.embedded)}


@pytest.fixture
def stub() -> Iterator[StubArxiv]:
    with StubArxiv(ENTRIES, {name: pdf_bytes(prose(f"widget{name[-3:]}")) for name in IDS}) as one:
        yield one


@pytest.fixture
def bench(stub: StubArxiv, tmp_path: Path) -> Bench:
    return Bench(stub, tmp_path)


def without_pdfs(stub: StubArxiv, *ids: str) -> None:
    for name in ids:
        stub.always(f"/pdf/{name}", missing())


FULL = dict.fromkeys(IDS, "full_text")


def test_all_pdfs_become_full_text_and_a_second_run_does_nothing(stub, bench):
    summary = bench.build()
    assert summary.complete and summary.problems == []
    assert bench.holdings() == FULL
    assert summary.lines()[:2] == [
        "PDFs: 6 downloaded = 6 papers",
        "6 indexed + 0 skipped + 0 failed = 6 inputs",
    ]
    assert [phase for phase, _ in bench.progress] == ["abstracts"] * 6 + ["PDFs"] * 6 + [
        "index"
    ] * 6
    assert len(stub.queries) == 1 and stub.most_connections == 1
    calls, first = len(stub.seen), summary.build.manifest
    again = bench.build()
    assert len(stub.seen) == calls
    assert bench.embedder.embedded == []
    assert again.build.skipped == {
        "already in the index": sorted(pdf_path(bench.pdfs, name).name for name in IDS)
    }
    assert again.build.manifest == first


def test_papers_without_a_pdf_are_held_by_digest_else_by_abstract(stub, bench):
    without_pdfs(stub, IDS[0], IDS[3], "cs/0112017")
    summary = bench.build()
    assert bench.holdings() == FULL | {
        IDS[0]: "digest",
        IDS[3]: "abstract",
        "cs/0112017": "abstract",
    }
    assert summary.complete
    assert summary.lines()[0] == "PDFs: 3 downloaded + 3 no PDF on arXiv = 6 papers"
    assert summary.build.indexed == summary.build.inputs == 6


def test_full_text_later_takes_the_place_of_digest_and_abstract(stub, bench):
    without_pdfs(stub, IDS[0], IDS[3])
    bench.build()
    stub.heal()
    summary = bench.build()
    assert bench.holdings() == FULL
    assert bench.embedded == {IDS[0], IDS[3]}
    assert summary.build.indexed == 2
    assert summary.build.skipped_count == 4


def test_a_paper_of_which_nothing_is_known_is_named(stub, bench):
    stub.entries[:] = [entry for entry in ENTRIES if entry.paper_id != IDS[4]]
    without_pdfs(stub, IDS[4])
    summary = bench.build()
    assert summary.build.skipped == {"neither PDF nor abstract": [IDS[4]]}
    assert set(bench.holdings()) == set(IDS) - {IDS[4]}


# Withdrawn papers (C30).


@pytest.mark.parametrize("told", ["by arXiv", "by a file", "offline"])
def test_a_withdrawn_paper_is_left_out_and_an_old_file_of_it_is_not_used(stub, bench, told):
    gone = Entry(IDS[2], "On Widget", versions=2, comment="Withdrawn by the authors in v2")
    entries = [gone if entry.paper_id == IDS[2] else entry for entry in ENTRIES]
    bench.pdfs.mkdir()
    for name in IDS[:3] if told == "offline" else IDS[2:3]:
        pdf_path(bench.pdfs, name).write_bytes(pdf_bytes(prose("an early version")))
    without_pdfs(stub, IDS[2])
    stub.entries[:] = entries
    metadata = () if told == "by arXiv" else bench.metadata(*entries)
    summary = bench.build(metadata=metadata, offline=told == "offline")
    assert summary.withdrawn == [IDS[2]]
    assert summary.build.skipped == {"withdrawn": [IDS[2]]}
    assert summary.build.failed == {}
    assert f"  skipped, withdrawn: 1 ({IDS[2]})" in summary.lines()
    assert summary.complete
    assert set(bench.holdings()) == set(IDS) - {IDS[2]}
    assert IDS[2] not in "".join(stub.pdfs_asked)
    assert IDS[2] not in bench.embedded
    if told != "offline":
        assert summary.downloads
        assert summary.lines()[0] == "PDFs: 5 downloaded + 1 withdrawn = 6 papers"


# Quick and offline runs.


@pytest.mark.parametrize("source", ["arXiv", "a file"])
def test_abstracts_only_makes_an_index_of_abstracts_without_a_pdf(stub, bench, source):
    metadata = bench.metadata() if source == "a file" else ()
    summary = bench.build(abstracts_only=True, metadata=metadata)
    assert bench.holdings() == dict.fromkeys(IDS, "abstract")
    assert stub.pdfs_asked == []
    assert len(stub.seen) == (0 if source == "a file" else 1)
    assert summary.complete and summary.downloads is None
    assert not bench.pdfs.exists()
    index = opened(bench.index)
    assert index.chunks.of_paper(IDS[0])[0].text == ENTRIES[0].abstract.strip()
    index.close()


def test_abstracts_only_falls_back_to_the_digest_where_there_is_no_abstract(stub, bench):
    stub.entries[:] = ENTRIES[1:]
    summary = bench.build(abstracts_only=True)
    assert bench.holdings() == dict.fromkeys(IDS, "abstract") | {IDS[0]: "digest"}
    assert summary.build.skipped == {}
    assert summary.complete


def test_abstracts_become_full_text_in_a_later_run(stub, bench):
    bench.build(abstracts_only=True)
    calls = len(stub.queries)
    bench.build()
    assert bench.holdings() == FULL
    assert len(stub.queries) == calls  # the abstracts were kept
    bench.build(abstracts_only=True)  # and never take it back
    assert bench.holdings() == FULL
    assert bench.embedder.embedded == []


def test_only_abstracts_that_the_files_lack_are_asked_for(stub, bench):
    nothing = Entry(IDS[1], "On Widget", " ")
    bench.build(abstracts_only=True, metadata=bench.metadata(*ENTRIES[2:], nothing))
    assert [query["id_list"] for query in stub.queries] == [f"{IDS[0]},{IDS[1]}"]
    assert bench.holdings() == dict.fromkeys(IDS, "abstract")


def test_offline_asks_nothing_and_uses_what_is_there(stub, bench):
    bench.pdfs.mkdir()
    pdf_path(bench.pdfs, IDS[5]).write_bytes(pdf_bytes(prose("press")))
    pdf_path(bench.pdfs, IDS[4]).write_bytes(b"<html>captcha</html>")
    (bench.pdfs / f"{IDS[3]}.part").write_bytes(pdf_bytes("half"))
    summary = bench.build(offline=True, metadata=bench.metadata(ENTRIES[4]))
    assert stub.seen == []
    assert bench.holdings() == {
        IDS[0]: "digest", IDS[1]: "digest", IDS[4]: "abstract", IDS[5]: "full_text",
    }  # fmt: skip
    assert summary.build.skipped == {"neither PDF nor abstract": IDS[2:4]}
    assert summary.complete and summary.downloads is None


# What cannot be fetched.


@pytest.mark.parametrize(
    ("fault", "words"), [(refused(), "HTTP 403"), (captcha(), "a web page instead")]
)
def test_a_refused_download_is_told_and_the_index_is_of_what_there_is(stub, bench, fault, words):
    stub.on(f"/pdf/{IDS[3]}", fault)
    summary = bench.build()
    assert not summary.complete
    assert words in "\n".join(summary.lines()[:2])
    assert bench.holdings() == FULL | dict.fromkeys(IDS[3:], "abstract")
    before = len(stub.pdfs_asked)
    again = bench.build()
    assert again.complete
    assert stub.pdfs_asked[before:] == IDS[3:]
    assert bench.embedded == set(IDS[3:])
    assert bench.holdings() == FULL


def test_abstracts_that_cannot_be_had_do_not_hinder_the_pdfs(stub, bench):
    stub.always("/api/query", error_entry("no"))
    without_pdfs(stub, IDS[0], IDS[4])
    summary = bench.build()
    assert summary.problems == ["abstracts: arXiv does not accept the query: no"]
    assert summary.lines()[-1] == summary.problems[0]
    assert not summary.complete
    assert summary.build.skipped == {"neither PDF nor abstract": [IDS[4]]}
    assert bench.holdings() == {
        name: "digest" if name == IDS[0] else "full_text" for name in IDS if name != IDS[4]
    }


def test_when_nothing_could_be_fetched_the_error_says_why(stub, bench, tmp_path):
    stub.always("/api/query", down(503, 9999))
    stub.always(f"/pdf/{IDS[2]}", refused())
    with pytest.raises(IndexUnavailableError) as caught:
        bench.build(papers=tuple(PAPERS[2:4]))
    message = str(caught.value)
    assert message.startswith("No file became a paper, so no index was made")
    assert "PDFs: stopped: arXiv refused a PDF (HTTP 403 at 2301.00003)" in message
    assert "abstracts: The server asks to wait 9,999 seconds" in message
    assert str(tmp_path) not in message


# Manifests.


def test_the_papers_of_a_manifest(tmp_path):
    dump_papers(PAPERS, tmp_path / "m.json")
    assert read_manifest_papers(tmp_path / "m.json") == tuple(PAPERS)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "{}",
        "[]",
        "[1]",
        "null",
        '{"papers": []}',
        '[{"titel": "x"}]',
        '[{"paper_id": "x"',
    ],
)
def test_a_manifest_that_cannot_be_used_is_a_sentence(tmp_path, content):
    path = tmp_path / "m.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidSettingError, match=r"^The manifest m\.json (is missing|names no)"):
        read_manifest_papers(path)


def test_a_paper_that_a_manifest_names_twice_is_one(tmp_path):
    text = json.dumps([{"paper_id": IDS[0], "title": title} for title in ("A", "B")])
    (tmp_path / "m.json").write_text(text)
    assert [paper.title for paper in read_manifest_papers(tmp_path / "m.json")] == ["B"]


@pytest.mark.parametrize("paper_id", ["../../etc/passwd", "2301.00001v2", "x", "", None, 7])
def test_a_manifest_cannot_smuggle_in_a_path(tmp_path, paper_id):
    path = tmp_path / "m.json"
    path.write_text(json.dumps([{"paper_id": paper_id, "title": "T"}]))
    with pytest.raises(InvalidSettingError, match=r"m\.json"):
        read_manifest_papers(path)


# Killed, with real papers.


def real(test: Any) -> Any:
    """Marks a test that needs the PDFs beside the checkout."""
    absent = pytest.mark.skipif(not REAL.is_dir(), reason="no folder of PDFs beside the checkout")
    return pytest.mark.papers(absent(test))


RUN = """
    import sys, time
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from builders import StubEmbedder, StubLate
    from rag.indexing.extract import extract_paper
    from rag.indexing.full_library import Builders, LibraryPlan, build_library, read_manifest_papers
    from rag.settings import load_settings

    class Slow(StubEmbedder):
        def embed_passages(self, texts):
            time.sleep(0.15)
            return super().embed_passages(texts)

    if __name__ == "__main__":
        folder = Path({folder!r})
        papers = read_manifest_papers(folder / "manifest.json")
        plan = LibraryPlan(papers, folder / "pdfs", folder / "index")
        build_library(plan, load_settings(), Builders(Slow(), StubLate(), extract_paper),
                      lambda *words: print(*words, flush=True))
"""


@pytest.fixture
def real_bench(tmp_path: Path) -> Iterator[Bench]:
    known = {paper.paper_id: paper for paper in load_papers(CORPUS / "manifest.json")}
    papers = [known.get(name) or Paper(name, f"Paper {name}") for name in CHOSEN]
    entries = [Entry(paper.paper_id, paper.title) for paper in papers]
    dump_papers(papers, tmp_path / "manifest.json")
    with StubArxiv(entries, REAL) as stub:
        yield Bench(stub, tmp_path)


def killed_when(bench: Bench, due: Callable[[list[str]], bool]) -> list[str]:
    """Run in another process and kill it with SIGKILL once ``due``; the lines it printed."""
    script = bench.folder / "run.py"
    paths = [str(TESTS), str(TESTS.parent)]
    script.write_text(textwrap.dedent(RUN.format(paths=paths, folder=str(bench.folder))))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environ = kept | bench.stub.environ | {
        "RAG_DATA_DIR": str(bench.folder / "data"),
        "RAG_CORPUS_DIR": str(bench.folder / "corpus"),
    }  # fmt: skip
    output = bench.folder / "output"
    with output.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, str(script)], stdout=stream, stderr=stream, env=environ,
            start_new_session=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + 30
            while not due(output.read_text().splitlines()):
                assert process.poll() is None and time.monotonic() < end, output.read_text()
                time.sleep(0.01)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    return output.read_text().splitlines()


def finish(bench: Bench) -> LibrarySummary:
    summary = bench.build(
        papers=read_manifest_papers(bench.folder / "manifest.json"), extract=extract_paper
    )
    assert summary.complete
    assert bench.holdings() == dict.fromkeys(sorted(CHOSEN), "full_text")
    assert not list(bench.pdfs.glob("*.part"))
    return summary


@real
def test_a_run_that_is_killed_while_downloading_fetches_no_whole_pdf_again(real_bench):
    bench, stub = real_bench, real_bench.stub
    order = sorted(CHOSEN)
    stub.on(f"/pdf/{order[2]}", drip(0.001))
    killed_when(bench, lambda _: bool(list(bench.pdfs.glob("*.part"))) and len(stub.seen) == 4
                and stub.seen[-1].bytes_sent > 100)  # fmt: skip
    assert [path.name for path in sorted(bench.pdfs.glob("*.pdf"))] == [
        f"{name}.pdf" for name in order[:2]
    ]
    assert len(list(bench.pdfs.glob("*.part"))) == 1
    summary = finish(bench)
    assert stub.pdfs_asked == order[:3] + order[2:]
    assert summary.lines()[0] == "PDFs: 3 downloaded + 2 already there = 5 papers"
    assert len(stub.queries) == 1
    for name in CHOSEN:
        assert (bench.pdfs / f"{name}.pdf").read_bytes() == (REAL / f"{name}.pdf").read_bytes()


@real
def test_a_run_that_is_killed_while_indexing_indexes_no_whole_paper_again(real_bench):
    bench, stub = real_bench, real_bench.stub
    lines = killed_when(bench, lambda lines: sum(line.startswith("index ") for line in lines) == 2)
    done = [line.split()[1] for line in lines if line.startswith("index ")]
    with pytest.raises(IndexUnavailableError, match="half-written"):
        opened(bench.index)
    calls = len(stub.seen)
    summary = finish(bench)
    assert len(stub.seen) == calls
    held = summary.build.skipped["already in the index"]
    assert set(done) <= set(held)
    assert summary.build.indexed == 5 - len(held) >= 1
    titles = {paper.paper_id: paper.title for paper in load_papers(bench.folder / "manifest.json")}
    for name in held:
        title = titles[name.removesuffix(".pdf")]
        assert not any(title in text for text in bench.embedder.embedded)


@real
@pytest.mark.slow
def test_the_script_builds_a_real_library_and_goes_on_after_a_refusal(real_bench):
    bench, stub = real_bench, real_bench.stub
    order = sorted(CHOSEN)
    stub.on(f"/pdf/{order[3]}", refused())
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environ = kept | stub.environ | {"RAG_DATA_DIR": str(bench.folder / "data")}
    command = [sys.executable, "scripts/build_index.py", "--quiet", "--manifest"]
    command.append(str(bench.folder / "manifest.json"))
    codes = []
    for _ in range(2):
        done = subprocess.run(
            command, cwd=TESTS.parent, env=environ, capture_output=True, text=True, timeout=200
        )
        codes.append(done.returncode)
        assert "Traceback" not in done.stderr
    assert codes == [1, 0]
    assert stub.pdfs_asked == order[:4] + order[3:]
    index = opened(bench.folder / "data" / "index", real_embedder())
    try:
        assert {p.paper_id: p.holding for p in index.papers} == dict.fromkeys(order, "full_text")
        query = real_embedder().embed_queries(["What is MoCo v2?"])
        near = index.vectors.search("passages", query, 1)[0][0]
        assert index.chunks.get([near.chunk_id])[near.chunk_id].paper_id == "2003.04297"
    finally:
        index.close()


def test_a_paper_that_is_withdrawn_later_leaves_the_index(stub, bench):
    """C30, of a paper that an earlier run indexed."""
    bench.build(metadata=bench.metadata(*ENTRIES))
    gone = [
        replace(entry, comment="This paper has been withdrawn by the authors")
        if entry.paper_id == IDS[2]
        else entry
        for entry in ENTRIES
    ]
    summary = bench.build(metadata=bench.metadata(*gone))
    assert set(bench.holdings()) == set(IDS) - {IDS[2]}
    assert "  removed from the index: 1" in summary.lines()


def test_a_digest_or_abstract_stands_in_for_a_pdf_that_cannot_be_read(stub, bench):
    stub.pdfs[IDS[1]] = pdf_bytes("SCAN")
    summary = bench.build(extract=extract_unless_scanned)
    assert bench.holdings()[IDS[1]] == "digest"
    assert f"{IDS[1]}: its digest stands in for an unreadable PDF" in summary.build.notes
