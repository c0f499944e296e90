"""Fitting any reranker: what is printed, and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from builders import CORPUS
from engines import engine_with_reranker

from rag.engine import Engine
from rag.errors import ModelUnavailableError
from rag.evaluation.calibration import fit_evidence, fit_relevance, score_questions
from rag.evaluation.questions import Question
from rag.sections import RerankingSettings

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "calibrate.py"
QUESTIONS = [
    Question(
        id=f"q{number}",
        question=text,
        category="fact" if papers else "out_of_scope",
        split="tune",
        papers=papers,
    )
    for number, (text, papers) in enumerate(
        [
            ("Which layers does LoRA adapt?", ("2106.09685",)),
            ("Which low-rank matrices are trained for each layer?", ("2106.09685",)),
            ("How long does pizza dough rest?", ()),
            ("Which team won the cup?", ()),
        ]
    )
]


def test_nothing_is_fitted_to_a_reranker_that_fails(starter_engine: Engine) -> None:
    with pytest.raises(ModelUnavailableError, match="Reranking is off"):
        score_questions(engine_with_reranker(starter_engine, None), QUESTIONS[:1])


def test_without_a_reranker_or_a_cosine_their_weights_are_0(starter_engine: Engine) -> None:
    settings = starter_engine.settings.model_copy(
        update={"reranking": RerankingSettings(name="none")}
    )
    scored = score_questions(
        engine_with_reranker(starter_engine, None, settings=settings), QUESTIONS
    )
    both = fit_relevance(scored), fit_evidence(scored)
    assert all(weights.rerank == 0 < weights.abstract for weights in both)
    without = fit_relevance(scored, cosine=False), fit_evidence(scored, cosine=False)
    assert all(weights.rerank == weights.abstract == 0 < weights.late for weights in without)


@pytest.mark.parametrize(("name", "code"), [("none", 0), ("cohere", 1)])
def test_the_script_fits_what_it_is_told_to(
    starter_engine: Engine, tmp_path: Path, name: str, code: int
) -> None:
    asked = tmp_path / "questions.jsonl"
    asked.write_text("".join(f"{item.model_dump_json()}\n" for item in QUESTIONS), "utf-8")
    command = [sys.executable, str(SCRIPT), "--reranker", name, "--questions", str(asked)]
    environment = {
        **os.environ,
        "RAG_DATA_DIR": str(tmp_path),
        "RAG_CORPUS_DIR": str(CORPUS),
        "COHERE_API_KEY": "",
    }
    index = starter_engine.settings.data_dir / "starter-index"
    done = subprocess.run(
        [*command, "--index", str(index)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == code, done.stderr
    if code:
        assert "COHERE_API_KEY" in done.stderr and "Reranking is off" in done.stderr
    else:
        assert len(re.findall(r"Weights\(rerank=0\.0", done.stdout)) == 4
        assert "reranker: none" in done.stdout
