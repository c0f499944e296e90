"""scripts/check_digests.py on a small corpus folder."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pymupdf
import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_digests.py"))
KINDS = ("summary", "method", "findings", "limits", "known_for")
PLAIN = "The widget of this bench is turned by hand until the dial shows what its maker wanted."
ABSTRACT = (
    "We turn 12 widgets, and each of them needs about three hours of patient work on the bench."
)


def digest(paper_id: str = "2301.00001", **values: Any) -> dict[str, Any]:
    """A digest without a fault, of 195 words."""
    text = " ".join([PLAIN, PLAIN, "It needs 12 of them."])
    return {
        "paper_id": paper_id,
        "title": "Widgets",
        "authors": ["Ann Ray"],
        "paragraphs": [{"kind": kind, "pages": [], "text": text} for kind in KINDS],
        "search_terms": ["dial", "gauge", "press", "bench"],
    } | values


def with_first(**values: Any) -> dict[str, Any]:
    """The digest with another first paragraph."""
    first, *rest = digest()["paragraphs"]
    return digest(paragraphs=[first | values, *rest])


@dataclass(frozen=True)
class Done:
    """What a run of the script ended with."""

    returncode: int
    stdout: str
    stderr: str


class Corpus:
    """A corpus folder with digests, PDFs beside it, and a snapshot."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digests = folder / "corpus" / "starter" / "digests"
        self.pdfs = folder / "pdfs"
        self.snapshot = folder / "s.jsonl"
        self.digests.mkdir(parents=True)
        self.pdfs.mkdir()
        self.abstracts({"2301.00001": ABSTRACT})

    def add(self, *digests: dict[str, Any]) -> None:
        for entry in digests:
            name = f"{entry['paper_id'].replace('/', '_')}.json"
            (self.digests / name).write_text(json.dumps(entry), encoding="utf-8")

    def abstracts(self, abstracts: dict[str, str | None]) -> None:
        lines = [
            json.dumps({"id": paper_id, "title": "Widgets", "abstract": abstract})
            for paper_id, abstract in abstracts.items()
        ]
        self.snapshot.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def pdf(self, name: str, *pages: str) -> None:
        with pymupdf.open() as document:
            for text in pages:
                document.new_page().insert_text((72, 72), text)
            document.save(self.pdfs / name)

    def options(self, *arguments: str) -> list[str]:
        places = {
            "--pdf-dir": self.pdfs,
            "--snapshot": self.snapshot,
            "--corpus": self.folder / "corpus",
        }
        return [*(str(part) for pair in places.items() for part in pair), *arguments]

    def check(self, *arguments: str) -> Done:
        """The script's ``main`` in this process: starting Python takes longer than the checks."""
        out, err = io.StringIO(), io.StringIO()
        command = ["check_digests.py", *self.options(*arguments)]
        with (
            mock.patch.object(sys, "argv", command),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            returncode = SCRIPT["main"]()
        return Done(returncode, out.getvalue(), err.getvalue())


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def test_good_digests_end_with_0(corpus):
    old = digest("cs/0112017")
    paged = old | {"paragraphs": [entry | {"pages": [1, 2]} for entry in old["paragraphs"]]}
    corpus.add(digest(), paged)
    corpus.pdf("cs_0112017.pdf", "There are", "12 of them")
    done = corpus.check()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "2 digests: 1 checked against PDF and abstract, 1 against the abstract; 0 with faults\n"
    )


@pytest.mark.parametrize(("terms", "code"), [(["dial", "gauge", "press", "bench"], 0), ([], 1)])
def test_a_process_ends_with_the_code(corpus, terms, code):
    corpus.add(digest(search_terms=terms))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "scripts/check_digests.py", *corpus.options()],
        cwd=ROOT,
        env=kept | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == corpus.check().stdout


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (
            with_first(text=f"{PLAIN} {PLAIN} It needs 13 of them."),
            "the number '13' is not in its source",
        ),
        (
            with_first(
                text=f"{PLAIN} {PLAIN} Each of them needs about three hours of patient toil."
            ),
            "summary shares wording with its source: “each of them needs about three hours of”",
        ),
        (with_first(text=" ".join([PLAIN] * 10)), "326 words, not 180 to 300"),
        (
            with_first(kind="method"),
            "its parts are method, method, findings, limits, known_for, not "
            "summary, method, findings, limits, known_for",
        ),
        (with_first(pages=[1]), "summary names pages, and there is no PDF to check them"),
        (digest(search_terms=["dial"]), "fewer than 4 search terms"),
    ],
)
def test_each_fault_is_a_line_and_ends_with_1(corpus, entry, fault):
    corpus.add(entry)
    done = corpus.check()
    lines = done.stdout.splitlines()
    assert lines[:-1] == [f"2301.00001: {fault}"]
    assert lines[-1].endswith("1 against the abstract; 1 with faults")
    assert (done.returncode, done.stderr) == (1, "")


def test_numbers_and_wording_are_looked_for_in_the_pdf_too(corpus):
    corpus.add(with_first(text=f"{PLAIN} {PLAIN} It needs 13 of them.", pages=[2]))
    corpus.pdf("2301.00001.pdf", "Nothing.", "There are 13 parts.")
    assert corpus.check().returncode == 0
    corpus.pdf("2301.00001.pdf", "Turned by hand until the dial shows what its maker", "13")
    done = corpus.check()
    assert done.returncode == 1
    assert "“turned by hand until the dial shows what”" in done.stdout


def test_a_page_outside_the_pdf_ends_with_1(corpus):
    corpus.add(with_first(pages=[1, 3]))
    corpus.pdf("2301.00001.pdf", "First.", "Second.")
    done = corpus.check()
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "2301.00001: summary names a page outside 1 to 2"
    assert "1 checked against PDF and abstract, 0 against the abstract; 1 with" in done.stdout


def test_a_pdf_is_enough_where_there_is_no_abstract(corpus):
    corpus.add(digest("2301.00002"))
    corpus.pdf("2301.00002.pdf", "There are 12 of them.")
    assert corpus.check().returncode == 0


@pytest.mark.parametrize("abstracts", [{"2301.00009": ABSTRACT}, {"2301.00001": None}])
def test_a_digest_without_anything_to_check_it_against_is_a_fault(corpus, abstracts):
    corpus.add(digest())
    corpus.abstracts(abstracts)
    done = corpus.check()
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        1,
        "2301.00001: there is neither a PDF nor an abstract to check it against",
    )


def test_only_some_digests_are_checked_when_asked(corpus):
    corpus.abstracts({f"2301.0000{number}": ABSTRACT for number in (1, 2, 3)})
    corpus.add(digest(), digest("2301.00002", search_terms=[]), digest("2301.00003"))
    assert corpus.check().returncode == 1
    done = corpus.check("--only", "2301.00001", "2301.00003")
    assert (done.returncode, done.stdout[:10]) == (0, "2 digests:")
    assert corpus.check("--only", "2301.00002").returncode == 1


@pytest.mark.parametrize("arguments", [(), ("--only", "2301.00009")])
def test_nothing_to_check_ends_with_1(corpus, arguments):
    if arguments:
        corpus.add(digest())
    done = corpus.check(*arguments)
    assert (done.returncode, done.stdout[:10]) == (1, "0 digests:")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "corpus/starter/digests/2301.00001.json",
            b"{}",
            "error: The digest 2301.00001.json is damaged.\n",
        ),
        ("s.jsonl", b"<html>\n", "error: The metadata file s.jsonl holds no arXiv record.\n"),
        ("pdfs/2301.00001.pdf", b"no PDF", "error: 2301.00001.pdf cannot be read.\n"),
        ("pdfs/2301.00001.pdf", b"", "error: 2301.00001.pdf cannot be read.\n"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2(corpus, name, content, sentence):
    corpus.add(digest())
    (corpus.folder / name).write_bytes(content)
    done = corpus.check()
    assert done.returncode == 2
    assert done.stderr.endswith(sentence)
    assert "Traceback" not in done.stderr


def test_a_missing_snapshot_ends_with_2(corpus):
    corpus.add(digest())
    corpus.snapshot.unlink()
    done = corpus.check()
    assert (done.returncode, done.stderr) == (
        2,
        "error: The metadata file s.jsonl could not be read.\n",
    )


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.mark.papers
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder of papers beside the checkout")
def test_the_digests_of_the_repository_pass():
    done = subprocess.run(
        [
            sys.executable,
            "scripts/check_digests.py",
            "--pdf-dir",
            SHARED / "papers",
            "--snapshot",
            SHARED / "arxiv" / "snapshot.jsonl.gz",
        ],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "304 digests: 45 checked against PDF and abstract" in done.stdout
