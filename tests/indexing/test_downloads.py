"""PDFs fetched politely: whole ones only, each once, and a refusal stops the run."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from stub_arxiv import (
    Answer,
    FakeTime,
    Fault,
    StubArxiv,
    broken_off,
    captcha,
    down,
    drip,
    missing,
    redirect,
    refused,
    reset,
    sends,
    slow,
    too_many,
    web_page,
)

from rag.indexing.downloads import (
    DownloadSummary,
    Outcome,
    download_pdfs,
    is_whole_pdf,
    pdf_path,
)
from rag.papers import Paper
from rag.sections import FetchingSettings
from rag.selection.polite_client import PoliteClient

BODY = b"%PDF-1.5\n" + b"x" * 2000
IDS = [f"2301.{number:05d}" for number in range(1, 7)]


class Bench:
    """Downloads from a stub to a folder, waits in fake time."""

    def __init__(self, stack: ExitStack, stub: StubArxiv, folder: Path) -> None:
        self.stack, self.stub, self.folder = stack, stub, folder
        self.time = FakeTime()
        self.noted: list[str] = []

    def run(
        self, ids: list[str] | list[Paper] | None = None, withdrawn: tuple[str, ...] = (), **values: int
    ) -> DownloadSummary:  # fmt: skip
        settings = FetchingSettings(
            **{"pdf_url": self.stub.pdf_url, "seconds_between_calls": 0} | values  # type: ignore[arg-type]
        )
        client = PoliteClient(settings, self.time.clock)
        self.stack.callback(client.close)
        papers = [one if isinstance(one, Paper) else Paper(one, "T") for one in ids or IDS]
        summary = download_pdfs(
            papers, self.folder, client, settings, frozenset(withdrawn), self.noted.append
        )
        assert sum(map(summary.count, Outcome)) + summary.left == summary.wanted == len(papers)
        assert not list(self.folder.rglob("*.part"))
        return summary

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def stub(stack: ExitStack) -> StubArxiv:
    return stack.enter_context(StubArxiv([], dict.fromkeys(IDS, BODY)))


@pytest.fixture
def bench(stack: ExitStack, stub: StubArxiv, tmp_path: Path) -> Bench:
    return Bench(stack, stub, tmp_path / "deep" / "pdfs")


def path_of(paper_id: str) -> str:
    return f"/pdf/{paper_id}"


def test_each_pdf_is_fetched_once_over_one_connection(stub, bench):
    summary = bench.run()
    assert summary.outcomes == dict.fromkeys(IDS, Outcome.FETCHED)
    assert summary.lines() == ["6 downloaded = 6 papers"]
    assert bench.files == [f"{name}.pdf" for name in IDS]
    assert {(bench.folder / name).read_bytes() for name in bench.files} == {BODY}
    assert bench.noted == stub.pdfs_asked == IDS
    again = bench.run()
    assert again.lines() == ["6 already there = 6 papers"]
    assert len(stub.seen) == 6
    assert stub.most_connections == 1


def test_three_seconds_lie_between_two_pdfs_of_arxiv_itself(tmp_path):
    time = FakeTime()
    begun: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        begun.append(time.now)
        time.pass_(8)
        return httpx.Response(200, content=BODY)

    client = PoliteClient(FetchingSettings(), time.clock, httpx.MockTransport(answer))
    download_pdfs([Paper(name, "T") for name in IDS], tmp_path, client, FetchingSettings())
    assert begun == [1000 + 11 * number for number in range(6)]


def test_the_version_of_the_manifest_is_asked_for(stub, bench):
    bench.run([Paper(IDS[0], "T", version="v3"), Paper(IDS[1], "T")])
    assert stub.pdfs_asked == ["2301.00001v3", "2301.00002"]
    assert bench.files == ["2301.00001.pdf", "2301.00002.pdf"]


# Names (C26).


@pytest.mark.parametrize(
    ("paper_id", "name"),
    [
        ("cs/0112017", "cs_0112017.pdf"),
        ("math.GT/0309136", "math.GT_0309136.pdf"),
        ("2301.00001", "2301.00001.pdf"),
    ],
)
def test_the_file_of_an_id_lies_in_the_folder(stub, bench, paper_id, name):
    stub.pdfs = {paper_id: BODY}
    assert bench.run([paper_id]).outcomes == {paper_id: Outcome.FETCHED}
    assert bench.files == [name]
    assert stub.pdfs_asked == [paper_id]


@pytest.mark.parametrize(
    "paper_id",
    [
        "../../etc/passwd", "2301.00001/../../x", "%2e%2e%2fx", "", "/etc/passwd", "2301.00001v2",
        "2301.00001\x00", "cs/../0112017", "2301.00001\n", "..",
    ],
)  # fmt: skip
def test_what_is_no_id_has_no_file(tmp_path, paper_id):
    with pytest.raises(ValueError, match=r"^not an arXiv id$"):
        pdf_path(tmp_path, paper_id)


# Refusals.


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (refused(), "arXiv refused a PDF (HTTP 403 at 2301.00004). Wait some hours"),
        (captcha(), "arXiv sent a web page instead of the PDF of 2301.00004"),
        (web_page(), "arXiv sent a web page instead of the PDF of 2301.00004"),
        (sends(b"  <script>%PDF-1.5"), "arXiv sent a web page instead of the PDF of 2301.00004"),
        (sends(b"Please wait", "text/html"), "arXiv sent a web page instead of the PDF"),
        (too_many(99_999), "The server asks to wait 99,999 seconds"),
        (redirect("http://evil.example/x"), "http://evil.example is not https"),
    ],
)
def test_a_refusal_stops_and_the_next_run_begins_there(stub, bench, tmp_path, fault, sentence):
    """C24: the files before it are not asked for again, those after it not yet."""
    stub.on(path_of(IDS[3]), fault)
    summary = bench.run()
    assert sentence in summary.stopped
    assert summary.lines()[0] == "3 downloaded + 3 not reached = 6 papers"
    assert summary.lines()[1] == f"stopped: {summary.stopped}"
    assert str(tmp_path) not in summary.stopped
    assert stub.pdfs_asked == bench.noted + IDS[3:4] == IDS[:4]
    assert bench.files == [f"{name}.pdf" for name in IDS[:3]]
    assert bench.time.slept == []
    again = bench.run()
    assert again.lines() == ["3 downloaded + 3 already there = 6 papers"]
    assert stub.pdfs_asked == IDS[:4] + IDS[3:]


def test_a_host_that_stays_down_stops_and_the_next_run_goes_on(stub, bench):
    stub.on(path_of(IDS[1]), *[down()] * 3)
    summary = bench.run(attempts=3)
    assert "HTTP 503" in summary.stopped
    assert bench.time.slept == [5, 10]
    assert summary.left == 5
    assert bench.run().count(Outcome.FETCHED) == 5


# What is not whole, or nothing.


@pytest.mark.parametrize(
    "fault",
    [
        down(), too_many(1), reset(), reset(sent=100), broken_off(), sends(b""), sends(b"%PDF"),
        sends(b"\x00" * 3000), sends(b"Rate exceeded.", "text/plain"),
        sends(b" " * 1024 + b"%PDF-1.5"),
    ],
)  # fmt: skip
def test_a_broken_answer_is_asked_for_again_and_never_kept(stub, bench, fault):
    stub.on(path_of(IDS[1]), fault, fault)
    bench.run()
    assert stub.pdfs_asked == [IDS[0], IDS[1], IDS[1], *IDS[1:]]
    assert bench.time.slept == [5, 10]
    assert (bench.folder / f"{IDS[1]}.pdf").read_bytes() == BODY
    assert stub.most_connections == 1


@pytest.mark.parametrize("fault", [slow(30), drip(0.001)])
def test_neither_silence_nor_a_drip_holds_the_run(stub, stack, tmp_path, fault):
    stub.on(path_of(IDS[0]), fault)
    settings = FetchingSettings(
        pdf_url=stub.pdf_url, seconds_between_calls=0, first_wait_seconds=0, timeout_seconds=1
    ).model_copy(update={"timeout_seconds": 0.1})
    client = PoliteClient(settings)
    stack.callback(client.close)
    summary = download_pdfs([Paper(IDS[0], "T")], tmp_path, client, settings)
    assert summary.lines() == ["1 downloaded = 1 papers"]
    assert len(stub.seen) == 2


@pytest.mark.parametrize("length", [len(BODY) - 1, len(BODY) + 1])
def test_a_length_other_than_promised_is_no_pdf(tmp_path, length):
    """A transport that does not check it itself."""
    time = FakeTime()
    answers = [{"Content-Length": str(length)}, {"Content-Length": str(len(BODY))}]
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, headers=answers.pop(0), stream=Blocks(BODY))
    )
    client = PoliteClient(FetchingSettings(), time.clock, transport)
    summary = download_pdfs([Paper(IDS[0], "T")], tmp_path, client, FetchingSettings())
    assert summary.lines() == ["1 downloaded = 1 papers"]
    assert answers == []


class Blocks(httpx.SyncByteStream):
    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self.data), 3):  # the mark itself comes in two blocks
            yield self.data[start : start + 3]


def test_a_compressed_answer_is_kept_unpacked(stub, bench):
    packed = gzip.compress(BODY)
    stub.on(path_of(IDS[0]), lambda _: Answer(packed, headers={"Content-Encoding": "gzip"}))
    bench.run(IDS[:1])
    assert (bench.folder / f"{IDS[0]}.pdf").read_bytes() == BODY


def test_a_pdf_whose_mark_is_not_at_its_very_start_is_one(stub, bench):
    """Readers accept the mark anywhere in the first 1,024 bytes, and some papers need it."""
    stub.pdfs = {IDS[0]: b"\r\n\n" + BODY, IDS[1]: b"\x00" * 1019 + BODY}
    assert bench.run(IDS[:2]).lines() == ["2 downloaded = 2 papers"]
    assert bench.run(IDS[:2]).lines() == ["2 already there = 2 papers"]


def test_a_pdf_that_calls_itself_a_page_is_a_pdf(stub, bench):
    stub.on(path_of(IDS[0]), sends(BODY, "text/html"))
    assert bench.run(IDS[:1]).lines() == ["1 downloaded = 1 papers"]


def test_a_paper_without_a_pdf_does_not_stop_the_others(stub, bench):
    stub.on(path_of(IDS[2]), missing())
    summary = bench.run()
    assert summary.lines() == ["5 downloaded + 1 no PDF on arXiv = 6 papers"]
    assert summary.outcomes[IDS[2]] is Outcome.MISSING
    assert bench.time.slept == []
    assert stub.most_connections == 1


@pytest.mark.parametrize("promise", [True, False])
def test_too_large_a_file_is_given_up_and_the_others_go_on(stub, bench, promise):
    large = b"%PDF-" + b"x" * 3_000_000
    change: Fault = (lambda a: a) if promise else unpromised
    stub.pdfs = {**stub.pdfs, IDS[2]: large}
    stub.on(path_of(IDS[2]), change)
    summary = bench.run(largest_pdf_megabytes=1)
    assert summary.lines() == ["5 downloaded + 1 larger than the limit = 6 papers"]
    assert stub.most_connections <= 1


def unpromised(proper: Answer) -> Answer:
    """A body that says nothing of its length: compressed, three megabytes are little."""
    return Answer(gzip.compress(proper.body), headers={"Content-Encoding": "gzip"})


def test_what_promises_to_be_too_large_is_not_read(tmp_path):
    read: list[int] = []

    class Counted(Blocks):
        def __iter__(self) -> Iterator[bytes]:
            read.append(1)
            yield from super().__iter__()

    transport = httpx.MockTransport(
        lambda request: httpx.Response(
            200, headers={"Content-Length": "99000000"}, stream=Counted(BODY)
        )
    )
    client = PoliteClient(FetchingSettings(), FakeTime().clock, transport)
    summary = download_pdfs([Paper(IDS[0], "T")], tmp_path, client, FetchingSettings())
    assert summary.outcomes == {IDS[0]: Outcome.TOO_LARGE}
    assert read == []


# Files of earlier runs.


@pytest.mark.parametrize("content", [b"", b"<html>captcha</html>", b"%PD"])
def test_a_file_that_is_no_pdf_is_fetched_again(bench, content):
    bench.folder.mkdir(parents=True)
    path = bench.folder / f"{IDS[0]}.pdf"
    path.write_bytes(content)
    assert not is_whole_pdf(path)
    bench.run(IDS[:1])
    assert path.read_bytes() == BODY


def test_what_a_killed_run_left_is_cleared_away(bench):
    bench.folder.mkdir(parents=True)
    (bench.folder / f"{IDS[0]}.part").write_bytes(BODY[:100])
    assert bench.run(IDS[:1]).lines() == ["1 downloaded = 1 papers"]
    assert bench.files == [f"{IDS[0]}.pdf"]


def test_an_interrupted_download_leaves_nothing(bench, monkeypatch):
    def stop(path: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            bench.run()
    assert bench.files == []
    assert bench.run().count(Outcome.FETCHED) == 6


def test_a_withdrawn_paper_is_not_asked_for(stub, bench):
    """C30; a file of an earlier run stays where it is and is not used (test_full_library)."""
    bench.run(IDS[:2])
    before = len(stub.seen)
    stub.on(path_of(IDS[1]), missing())
    summary = bench.run(withdrawn=(IDS[1], IDS[4], "2399.99999"))
    assert summary.lines() == ["3 downloaded + 1 already there + 2 withdrawn = 6 papers"]
    assert stub.pdfs_asked[before:] == [IDS[2], IDS[3], IDS[5]]


@pytest.mark.parametrize("where", ["the folder", "above it"])
def test_a_folder_that_cannot_be_written_stops_with_a_sentence(stub, bench, tmp_path, where):
    place = bench.folder if where == "the folder" else bench.folder.parent
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a file")
    settings = FetchingSettings(pdf_url=stub.pdf_url)
    client = PoliteClient(settings)
    bench.stack.callback(client.close)
    summary = download_pdfs([Paper(IDS[0], "T")], bench.folder, client, settings)
    assert summary.stopped.startswith("The folder for PDFs cannot be written (")
    assert str(tmp_path) not in summary.stopped
    assert summary.left == 1
    assert stub.seen == []


def test_a_full_disk_stops_with_a_sentence_and_leaves_no_part(stub, bench, monkeypatch):
    bench.run(IDS[:1])
    replace = Path.replace

    def full(path: Path, target: Path) -> Path:
        if target.name == f"{IDS[2]}.pdf":
            raise OSError(28, "No space left on device", str(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", full)
    summary = bench.run()
    assert summary.stopped == "The folder for PDFs cannot be written (No space left on device)."
    assert summary.left == 4
    assert bench.files == [f"{name}.pdf" for name in IDS[:2]]


def test_nothing_wanted_is_nothing_done(stub, bench):
    settings = FetchingSettings(pdf_url=stub.pdf_url)
    client = PoliteClient(settings)
    bench.stack.callback(client.close)
    assert download_pdfs([], bench.folder, client, settings).lines() == ["0 = 0 papers"]
    assert stub.seen == []


def test_one_paper_that_stays_unusable_does_not_stop_the_others(stub, bench):
    stub.always(path_of(IDS[1]), sends(b"garbage, not a paper"))
    summary = bench.run(attempts=2)
    assert summary.outcomes[IDS[1]] is Outcome.BROKEN and not summary.stopped
    assert summary.lines() == ["5 downloaded + 1 not a usable PDF = 6 papers"]


def test_three_unusable_papers_in_a_row_mean_the_host(stub, bench):
    for paper_id in IDS[1:]:
        stub.always(path_of(paper_id), sends(b"garbage, not a paper"))
    summary = bench.run(attempts=2)
    assert "the answer is not a PDF" in summary.stopped
    assert summary.left == 3
