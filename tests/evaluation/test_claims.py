"""Claims with known verdicts, and the passages that they are about."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pymupdf
import pytest
from builders import CORPUS

from rag.errors import InvalidSettingError
from rag.evaluation.claims import (
    Claim,
    Letters,
    detect,
    false_alarms,
    judge_all,
    page_text,
    passage_of,
    read_claims,
    read_passages,
)

CLAIMS = CORPUS / "eval" / "claims.jsonl"
PAPERS = CORPUS.parent.parent / "shared" / "papers"
PAGE = "Some head-\nline.\nLoRA trains 3 of the ﬁne matrices.\nThe end."


def claim(text: str, page: str = PAGE, **changes: object) -> Claim:
    letters = Letters.of(page)
    start = letters.text.index("lora")
    length = len("loratrains3ofthefinematrices")
    values = {
        "id": "c1",
        "paper_id": "01",
        "page": 1,
        "start": start,
        "length": length,
        "passage_hash": letters.digest(start, length),
        "claim": text,
        "label": "supported",
        "kind": "plain",
        "split": "tune",
    }
    return Claim.model_validate(values | changes)


def test_a_passage_is_found_whatever_lies_around_and_between_its_letters() -> None:
    item = claim("LoRA trains 3 matrices.")
    assert passage_of(item, PAGE) == "LoRA trains 3 of the fine matrices."
    moved = "A new first line. " + PAGE.replace("ﬁne", "fi ne").replace("trains", "trai-\nns")
    assert passage_of(item, moved).startswith("LoRA trai- ns 3")
    with pytest.raises(InvalidSettingError, match="c1"):
        passage_of(item, PAGE.replace("3", "4"))


def test_reading_names_the_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text(claim("x").model_dump_json() + "\n{}\n")
    with pytest.raises(InvalidSettingError, match="Line 2"):
        read_claims(path)


def test_the_page_is_read_from_the_folder(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "LoRA trains 3 of the fine matrices.")
    document.save(tmp_path / "01.pdf")
    text = page_text(tmp_path, "01", 1)
    (passage,) = read_passages([claim("x", text)], tmp_path)
    assert passage == "LoRA trains 3 of the fine matrices."
    for paper, page in (("02", 1), ("01", 7)):
        with pytest.raises(InvalidSettingError, match=f"{paper}.pdf"):
            page_text(tmp_path, paper, page)


def test_recall_and_precision() -> None:
    passage = "LoRA trains 3 of the fine matrices."
    items = [
        claim("LoRA trains 3 fine matrices."),
        claim("LoRA trains 5 matrices of 7."),
        claim("LoRA trains 4 fine matrices.", label="wrong", kind="number"),
        claim("LoRA trains the fine matrices.", label="wrong", kind="number"),
    ]
    rows = judge_all(items, [passage] * 4, lambda term: 1.0)
    assert [row.support for row in rows] == ["supported", "not", "not", "supported"]
    found = detect(rows, "number and name", "not")
    assert (found.recall and found.recall.mean, found.precision and found.precision.mean) == (
        0.5,
        0.5,
    )
    alarms = false_alarms(rows, "flagged")
    assert alarms and alarms.mean == 0.5
    assert detect(rows, "negation", "not").recall is None


def test_the_set_is_balanced_and_its_halves_share_no_paper() -> None:
    claims = read_claims(CLAIMS)
    assert len(claims) >= 208 and len({item.id for item in claims}) == len(claims)
    assert len({item.paper_id for item in claims}) >= 40
    kinds = Counter(item.kind for item in claims)
    assert kinds["plain"] == len(claims) / 2
    for kind, share in (("number", 0.4), ("name", 0.4), ("negation", 0.2)):
        assert kinds[kind] / (len(claims) / 2) == pytest.approx(share, abs=0.06)  # type: ignore[index]
    halves = {
        split: {item.paper_id for item in claims if item.split == split}
        for split in ("tune", "report")
    }
    assert not halves["tune"] & halves["report"]
    assert all((item.kind == "plain") == (item.label == "supported") for item in claims)


@pytest.mark.papers
@pytest.mark.skipif(not PAPERS.is_dir(), reason="needs the folder of PDFs")
def test_every_passage_is_where_it_is_said_to_be_and_no_claim_is_copied() -> None:
    claims = read_claims(CLAIMS)
    for item, passage in zip(claims, read_passages(claims, PAPERS), strict=True):
        said, held = words(item.claim), words(page_text(PAPERS, item.paper_id, item.page))
        runs = {tuple(held[place : place + 8]) for place in range(len(held))}
        assert len(passage) > 500
        assert not any(tuple(said[place : place + 8]) in runs for place in range(len(said) - 7))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.casefold())


@pytest.mark.papers
@pytest.mark.skipif(not PAPERS.is_dir(), reason="needs the folder of PDFs")
def test_swapped_numbers_and_names_are_found() -> None:
    """A guard below what is reached over both halves, not the figure that is reported."""
    claims = read_claims(CLAIMS)
    rows = judge_all(claims, read_passages(claims, PAPERS), lambda term: 1.0)
    found = detect(rows, "number and name", "not")
    assert found.recall and found.recall.mean >= 0.75
    assert found.precision and found.precision.mean >= 0.8


def test_the_script_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sys.path.insert(0, str(CORPUS.parent / "scripts"))
    try:
        import calibrate_verifier
    finally:
        sys.path.pop(0)
    rows = judge_all([claim("LoRA trains 3 fine matrices.")], ["LoRA."], lambda term: 1.0)
    calibrate_verifier.print_half("tune", rows)
    calibrate_verifier.print_errors(rows)
    shown = capsys.readouterr().out
    assert "1 claims of 1 papers" in shown and "c1 plain: not" in shown
