"""From real PDFs to a cited answer, as a maintainer and a visitor would do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAPERS = ROOT.parent / "shared" / "papers"
# LoRA, DPR, RAG, batch-free training of MoCo v2, the Transformer, DPO: short and well known.
CHOSEN = ("2106.09685", "2004.04906", "2005.11401", "2003.04297", "1706.03762", "2305.18290")

pytestmark = [
    pytest.mark.papers,
    pytest.mark.slow,
    pytest.mark.skipif(not PAPERS.is_dir(), reason="the folder of real PDFs is not there"),
]


def run(*arguments: str, stdin: str = "", data_dir: Path) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, without keys and with its own data folder."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    environment["RAG_DATA_DIR"] = str(data_dir)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("end-to-end")


@pytest.fixture(scope="module")
def index(work: Path) -> Path:
    """An index of six real papers and all odd files, built by the script."""
    pdfs = work / "pdfs"
    pdfs.mkdir()
    for paper_id in CHOSEN:
        (pdfs / f"{paper_id}.pdf").symlink_to(PAPERS / f"{paper_id}.pdf")
    for path in sorted((PAPERS / "odd").glob("*.pdf")):
        (pdfs / path.name).symlink_to(path)
    (pdfs / "2301.00002.pdf").write_text("<html><title>Rate exceeded</title></html>")
    built = run(
        "scripts/build_index.py",
        *("--pdf-dir", str(pdfs), "--index", str(work / "index"), "--quiet"),
        *("--metadata", str(PAPERS / "papers.jsonl")),
        data_dir=work / "data",
    )
    assert built.returncode == 0, built.stderr
    (work / "summary.txt").write_text(built.stdout)
    return work / "index"


@pytest.fixture(scope="module")
def results(work: Path, index: Path) -> list[dict[str, object]]:
    questions = [
        "Which weight matrices does LoRA adapt in its experiments?",
        "How do LoRA and DPO differ in what they train?",
        "How long should I boil an egg?",
        "Who won the 2022 World Cup?",
        "How many papers do you have?",
        "<|endoftext|> What is the rank r in LoRA? <script>alert(1)</script>",
    ]
    lines = "\n".join(json.dumps({"question": question}) for question in questions)
    done = run(
        "scripts/ask.py", "--batch", "-", "--index", str(index), stdin=lines, data_dir=work / "data"
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_no_odd_file_stops_the_build_and_the_counts_add_up(work: Path, index: Path) -> None:
    summary = (work / "summary.txt").read_text()
    inputs = len(list((work / "pdfs").iterdir()))
    indexed, skipped, failed = (
        int(part.split()[0]) for part in summary.splitlines()[0].split("=")[0].split("+")
    )
    assert indexed + skipped + failed == inputs
    assert indexed >= len(CHOSEN) + 2
    assert "encrypted: 1" in summary and "no text layer" in summary and "not a PDF: 1" in summary
    assert "mean overlap between neighbouring chunks" in summary


def test_a_question_is_answered_from_the_right_paper_with_its_page(results: list[dict]) -> None:
    result = results[0]
    assert result["route"] == "answer"
    first = result["citations"][0]
    assert first["n"] == 1 and first["paper_id"] == "2106.09685"
    assert "[1]" in result["answer"]
    version = "v2"
    assert first["url"].startswith(f"https://arxiv.org/pdf/2106.09685{version}#page=")
    assert set(first["pages"]) <= set(range(1, 27)) and first["pages"]
    kept = [chunk for chunk in result["chunks"] if chunk["kept"]]
    assert kept and all(chunk["context"] for chunk in kept)
    assert all(chunk["drop_reason"] for chunk in result["chunks"] if not chunk["kept"])


def test_every_sentence_points_into_a_kept_passage(results: list[dict]) -> None:
    result = results[0]
    contexts = {c["chunk_id"]: c["context"] for c in result["chunks"] if c["kept"]}
    for sentence in result["sentences"]:
        assert result["answer"][sentence["start"] : sentence["end"]] == sentence["text"]
        assert sentence["support"] == "supported" and sentence["evidence"]
        for evidence in sentence["evidence"]:
            assert contexts[evidence["chunk_id"]][evidence["start"] : evidence["end"]].strip()


def test_a_comparison_brings_both_papers(results: list[dict]) -> None:
    result = results[1]
    assert result["is_compound"] and len(result["sub_queries"]) >= 2
    kept = {chunk["paper_id"] for chunk in result["chunks"] if chunk["kept"]}
    assert {"2106.09685", "2305.18290"} <= kept


@pytest.mark.parametrize("row", [2, 3])
def test_out_of_scope_is_refused_without_sources(results: list[dict], row: int) -> None:
    result = results[row]
    assert result["route"] == "refusal" and result["passes"] <= 2
    assert result["citations"] == [] and result["answer"].startswith("The library does not cover")
    assert len(result["all_sub_queries"]) > len(result["sub_queries"]), "the second pass was taken"


def test_the_catalogue_counts_what_was_indexed(results: list[dict], work: Path) -> None:
    indexed = int((work / "summary.txt").read_text().split()[0])
    assert results[4]["route"] == "catalogue"
    assert f"from the text of {indexed} of them" in results[4]["answer"]
    assert results[4]["chunks"] == []


def test_markers_and_markup_are_plain_text(results: list[dict]) -> None:
    assert results[5]["route"] in {"answer", "partial"}
    assert results[5]["citations"][0]["paper_id"] == "2106.09685"


def test_building_again_repeats_no_paper(work: Path, index: Path) -> None:
    again = run(
        "scripts/build_index.py",
        *("--pdf-dir", str(work / "pdfs"), "--index", str(index), "--quiet"),
        data_dir=work / "data",
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("0 indexed") and "already in the index" in again.stdout
