"""scripts/build_index.py as a maintainer runs it, against a stub of arXiv."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pymupdf
import pytest
from builders import CORPUS, StubEmbedder, StubLate, opened
from stub_arxiv import (
    Entry,
    StubArxiv,
    captcha,
    down,
    empty_page,
    refused,
    slow,
    snapshot_line,
    too_many,
)

from rag.indexing.extract import extract_paper
from rag.indexing.full_library import Builders
from rag.indexing.generation import current_generation, read_manifest
from rag.papers import Paper, dump_papers
from rag.retrieval.late_interaction import PROJECTION_FILE

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "build_index.py"
IDS = [f"2301.{number:05d}" for number in range(1, 5)]
ENTRIES = [Entry(name, f"On Widget {name}", f"We study widget {name} in depth.") for name in IDS]


def drawn(paper_id: str) -> bytes:
    """A real PDF of one page of made-up text."""
    document = pymupdf.open()
    page = document.new_page()
    for row in range(12):
        text = f"Line {row} tells what widget {paper_id} does with the gauge in trial {row * 7}."
        page.insert_text((72, 80 + 14 * row), text, fontsize=10)
    data: bytes = document.tobytes()
    document.close()
    return data


@pytest.fixture(scope="module")
def drawings() -> dict[str, bytes]:
    return {name: drawn(name) for name in IDS}


@pytest.fixture
def stub(drawings: dict[str, bytes]) -> Iterator[StubArxiv]:
    with StubArxiv(ENTRIES, drawings) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dump_papers([Paper(entry.paper_id, entry.title) for entry in ENTRIES], tmp_path / "m.json")
    (tmp_path / "corpus").mkdir()
    shutil.copy(CORPUS / PROJECTION_FILE, tmp_path / "corpus")
    return tmp_path


def environ(stub: StubArxiv, folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        **stub.environ,
        "RAG_DATA_DIR": str(folder / "data"),
        "RAG_CORPUS_DIR": str(folder / "corpus"),
    }


@pytest.fixture
def run(
    stub: StubArxiv, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:  # fmt: skip
    """The script in this process, with stub models: (exit code, stdout, stderr)."""
    for name, value in environ(stub, folder).items():
        monkeypatch.setenv(name, value)

    def run(*arguments: object) -> tuple[int, str, str]:
        script = load_script()
        builders = Builders(StubEmbedder(), StubLate(), extract_paper)
        monkeypatch.setattr(script, "open_builders", lambda settings: builders)
        monkeypatch.setattr(sys, "argv", ["build_index.py", *map(str, arguments), "--quiet"])
        code = script.main()
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        return code, shown.out, shown.err

    return run


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_index_script", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def holdings(folder: Path) -> dict[str, str]:
    index = opened(folder / "data" / "index")
    try:
        return {paper.paper_id: paper.holding for paper in index.papers}
    finally:
        index.close()


# In a process of its own, with the real models.


def process(stub: StubArxiv, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=ROOT,
        env=environ(stub, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(running: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = running.communicate(timeout=60)
    finally:
        with_group(running, signal.SIGKILL)
    return running.returncode, out, err


def with_group(running: subprocess.Popen[str], number: int) -> None:
    try:
        os.killpg(running.pid, number)
    except ProcessLookupError:
        return


def test_a_build_from_arxiv_alone(stub, folder):
    stub.at(1, too_many(0), empty_page(), down())
    code, out, err = finished(process(stub, folder, "--manifest", folder / "m.json"))
    assert (code, "Traceback" in err) == (0, False), err
    assert out.splitlines()[:2] == [
        "PDFs: 4 downloaded = 4 papers",
        "4 indexed + 0 skipped + 0 failed = 4 inputs",
    ]
    assert out.splitlines()[-1] == (
        f"use it with: RAG_INDEX={folder / 'data' / 'index'} bash scripts/run.sh"
    )
    assert [name for name in ("abstracts", "PDFs", "index") if name not in err] == []
    manifest = read_manifest(current_generation(folder / "data" / "index"))
    assert (manifest.papers, manifest.embedder) == (4, "bge-small-en-v1.5")
    assert stub.most_connections == 1
    assert {seen.path for seen in stub.seen} == {"/api/query", *(f"/pdf/{name}" for name in IDS)}


def test_ctrl_c_ends_with_a_sentence_and_the_next_run_goes_on(stub, folder, run):
    stub.on(f"/pdf/{IDS[2]}", slow(60))
    running = process(stub, folder, "--manifest", folder / "m.json", "--quiet")
    try:
        end = time.monotonic() + 40
        while stub.pdfs_asked[-1:] != IDS[2:3]:
            assert running.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
    finally:
        code, _, err = finished(running)
    assert code == 130
    assert err.splitlines()[-1] == "stopped; the same command goes on from here"
    assert "Traceback" not in err
    assert not list((folder / "data" / "papers").glob("*.part"))
    assert run("--manifest", folder / "m.json")[0] == 0
    assert stub.pdfs_asked == IDS[:3] + IDS[2:]


# In this process, with stub models.


@pytest.mark.parametrize("fault", [refused(), captcha()])
def test_a_refused_pdf_ends_with_1_and_the_next_run_begins_there(stub, folder, run, fault):
    stub.on(f"/pdf/{IDS[2]}", fault)
    code, out, _ = run("--manifest", folder / "m.json")
    assert code == 1
    assert out.splitlines()[0] == "PDFs: 2 downloaded + 2 not reached = 4 papers"
    assert re.match(r"PDFs: stopped: arXiv (refused a|sent a web page)", out.splitlines()[1])
    assert "run the same command again" in out
    assert holdings(folder) == dict.fromkeys(IDS[:2], "full_text") | dict.fromkeys(
        IDS[2:], "abstract"
    )
    asked = len(stub.seen)
    code, out, _ = run("--manifest", folder / "m.json")
    assert code == 0
    assert stub.paths[asked:] == [f"/pdf/{name}" for name in IDS[2:]]
    assert holdings(folder) == dict.fromkeys(IDS, "full_text")


def test_abstracts_only_from_arxiv_and_from_a_file(stub, folder, run):
    code, out, _ = run("--manifest", folder / "m.json", "--abstracts-only")
    assert code == 0 and "PDFs" not in out
    assert holdings(folder) == dict.fromkeys(IDS, "abstract")
    assert stub.paths == ["/api/query"]
    (folder / "s.jsonl").write_text("\n".join(map(snapshot_line, ENTRIES)))
    index = folder / "other"
    code, _, _ = run(
        "--manifest", folder / "m.json", "--abstracts-only", "--metadata", folder / "s.jsonl",
        "--index", index,
    )  # fmt: skip
    assert code == 0
    assert stub.paths == ["/api/query"]
    first, second = opened(folder / "data" / "index"), opened(index)
    assert first.manifest.content_hash == second.manifest.content_hash
    first.close()
    second.close()


def test_offline_asks_nothing(stub, folder, run, drawings):
    (folder / "mine").mkdir()
    (folder / "mine" / f"{IDS[1]}.pdf").write_bytes(drawings[IDS[1]])
    code, out, _ = run(
        "--manifest", folder / "m.json", "--offline", "--pdf-dir", folder / "mine"
    )  # fmt: skip
    assert code == 0
    assert stub.seen == []
    assert holdings(folder) == {IDS[1]: "full_text"}
    assert "skipped, neither PDF nor abstract: 3" in out


def test_a_withdrawn_paper_is_told_and_the_run_ends_with_0(stub, folder, run):
    stub.entries[1] = Entry(IDS[1], "On Widget", comment="This paper has been withdrawn")
    code, out, _ = run("--manifest", folder / "m.json")
    assert code == 0
    assert f"  skipped, withdrawn: 1 ({IDS[1]})" in out.splitlines()
    assert out.splitlines()[0] == "PDFs: 3 downloaded + 1 withdrawn = 4 papers"
    assert set(holdings(folder)) == {*IDS} - {IDS[1]}
    assert IDS[1] not in stub.pdfs_asked


def test_when_arxiv_refuses_everything_the_error_says_so(stub, folder, run):
    stub.always("/api/query", refused())
    stub.always(f"/pdf/{IDS[0]}", refused())
    code, out, err = run("--manifest", folder / "m.json")
    assert (code, out) == (2, "")
    assert "error: No file became a paper" in err
    assert "arXiv refused a PDF (HTTP 403" in err
    assert "arXiv refused the request (HTTP 403)" in err
    assert str(folder) not in err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "error: The manifest m.json is missing or damaged.\n"),
        ("[]", "error: The manifest m.json names no paper.\n"),
        (
            json.dumps([{"paper_id": "../../x", "title": "T"}]),
            "error: The manifest m.json has an entry without an arXiv id.\n",
        ),
    ],
)
def test_a_manifest_that_cannot_be_used_ends_with_2(stub, folder, run, content, sentence):
    (folder / "m.json").unlink()
    if content is not None:
        (folder / "m.json").write_text(content)
    assert run("--manifest", folder / "m.json") == (2, "", sentence)
    assert stub.seen == []


@pytest.mark.parametrize(
    "arguments", [(), ("--offline", "--pdf-dir", "x"), ("--abstracts-only", "--pdf-dir", "x")]
)
def test_arguments_that_do_not_go_together(run, arguments):
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2


def test_help_names_every_form():
    text = load_script().__doc__
    for option in ("--manifest", "--abstracts-only", "--pdf-dir", "--metadata"):
        assert option in text
