"""Grading by coverage: are the named things in one paper's passages?"""

from __future__ import annotations

import pytest

from rag.reasoning.coverage_grader import grade_by_coverage, grade_part, missing_names
from rag.reasoning.protocol import InformationCheck, QueryPlan
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION

from .rule_bench import lexicon, passage

LORA = passage(1, "LoRA adapts the attention layers with small matrices.", "A", 0.9)
OTHER = passage(2, "Dropout removes random units.", "B", 0.2)
CLOSE = passage(3, "Memory falls when weights are frozen.", "B", 0.6)


def grade(*queries: str, evidence: tuple = (LORA, OTHER), scored: bool = True) -> InformationCheck:  # type: ignore[type-arg]
    calibration = MINILM_CALIBRATION if scored else None
    plan = QueryPlan("the question", queries)
    return grade_by_coverage(
        plan, evidence, lexicon({"dpo": "direct preference optimization"}), calibration
    )


def test_named_things_together_in_one_paper_are_enough() -> None:
    check = grade("Which layers does LoRA adapt?")
    assert check.sufficient and check.missing_elements == ()
    assert check.relevant == (1,)
    assert "covered" in check.reason


def test_a_name_that_no_paper_of_the_others_mentions_is_missing() -> None:
    """A near-miss: a held method with something its paper never speaks of."""
    check = grade("How does LoRA do on ALFWorld?")
    assert not check.sufficient
    assert check.missing_elements == ("ALFWorld",)
    assert check.relevant == ()


def test_names_in_two_papers_do_not_add_up() -> None:
    split = (passage(1, "LoRA is small.", "A"), passage(2, "ALFWorld is a game.", "B"))
    assert not grade("How does LoRA do on ALFWorld?", evidence=split).sufficient
    same = (passage(1, "LoRA is small.", "A"), passage(2, "ALFWorld is a game.", "A"))
    assert grade("How does LoRA do on ALFWorld?", evidence=same).sufficient


def test_every_part_must_be_covered() -> None:
    check = grade("What does LoRA adapt?", "What does RetNet keep?")
    assert not check.sufficient
    assert check.missing_elements == ("RetNet",)
    assert check.relevant == (1,)
    assert "not covered" in check.reason and "; " in check.reason


def test_everyday_questions_are_left_to_the_scores() -> None:
    question = "why does less need to be stored when tuning big nets"
    assert grade(question).sufficient
    unscored = (passage(1, LORA.text, "A", None), passage(2, OTHER.text, "B", None))
    check = grade(question, evidence=unscored, scored=False)
    assert not check.sufficient and check.missing_elements


def test_helpful_passages_are_close_to_the_best_or_of_its_paper() -> None:
    weak = passage(4, "More on LoRA.", "A", 0.01)
    part = grade_part(
        "LoRA layers adapt", (LORA, OTHER, CLOSE, weak), lexicon(), MINILM_CALIBRATION
    )
    assert part.helpful == (1, 3, 4)
    assert (part.best, part.covered) == (0.9, True)


def test_nothing_found() -> None:
    check = grade("Which layers does LoRA adapt?", evidence=())
    assert not check.sufficient and check.relevant == ()
    assert check.missing_elements == ("LoRA",)
    assert not grade(evidence=(LORA,)).sufficient


def test_at_most_four_missing_elements() -> None:
    check = grade("Do A1x, B2x, C3x, D4x, E5x and F6x agree?")
    assert len(check.missing_elements) == 4


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("We use DPO here.", []),
        ("We use direct preference optimization here.", []),
        ("We use direct preference here.", ["DPO"]),
    ],
)
def test_a_name_may_be_spelled_out(text: str, missing: list[str]) -> None:
    words = lexicon({"dpo": "direct preference optimization"})
    assert missing_names(["DPO"], text, words) == missing
