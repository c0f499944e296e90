"""Does a passage say what a sentence claims?"""

from __future__ import annotations

import pytest

from rag.agent.support import judge_claim, missing_names, missing_numbers, numbers_in

PASSAGE = (
    "We study low-rank adaptation. LoRA reduces the number of trainable parameters by 10,000 times "
    "and the GPU memory by three times compared to GPT-3 fine-tuned with Adam. "
    "It adds no inference latency."
)


def flat(term: str) -> float:
    return 1.0


def support(claim: str, *passages: str) -> str:
    return judge_claim(claim, passages or (PASSAGE,), flat).support


@pytest.mark.parametrize(
    "claim",
    [
        "LoRA reduces the number of trainable parameters by 10,000 times and the GPU memory by three times.",
        "Trainable parameters are reduced by 10000 times with LoRA, GPU memory 3 times.",
        "It adds no inference latency.",
    ],
)
def test_verbatim_and_close_claims_are_supported(claim: str) -> None:
    assert support(claim) == "supported"


@pytest.mark.parametrize("number", ["1,000", "100", "10,001", "10.5"])
def test_a_changed_number_is_not_supported(number: str) -> None:
    claim = f"LoRA reduces the number of trainable parameters by {number} times."
    judgement = judge_claim(claim, (PASSAGE,), flat)
    assert judgement.support == "not"
    assert number.replace(",", "") in judgement.reason


def test_a_name_that_the_passage_lacks_is_at_most_partly_supported() -> None:
    claim = "BERT reduces the number of trainable parameters by 10,000 times."
    judgement = judge_claim(claim, (PASSAGE,), flat)
    assert judgement.support in {"partly", "not"}
    assert "BERT" in judgement.reason


def test_another_subject_is_not_supported() -> None:
    assert support("Convolutional filters detect edges in natural images of animals.") == "not"
    judgement = judge_claim("Convolutional filters.", (PASSAGE,), flat)
    assert judgement.reason and judgement.windows == ()


def test_half_of_a_claim_is_partly_supported() -> None:
    claim = "Memory drops compared to fine-tuned baselines on protein folding."
    assert support(claim) == "partly"


def test_without_a_citation_there_is_no_verdict() -> None:
    assert judge_claim("LoRA is small.", (), flat).support == "none"
    assert judge_claim("It is so.", (PASSAGE,), flat).support == "none"


def test_one_of_several_cited_passages_is_enough() -> None:
    assert support("It adds no inference latency.", "Other words here.", PASSAGE) == "supported"


def test_the_window_is_the_sentence_that_says_it() -> None:
    judgement = judge_claim("It adds no inference latency.", (PASSAGE,), flat)
    (window,) = judgement.windows
    assert PASSAGE[window.start : window.end] == "It adds no inference latency."


def test_rare_words_weigh_more() -> None:
    claim = "Adaptation of hamsters."
    judged = {
        judge_claim(
            claim, (PASSAGE,), lambda term, weight=weight: weight if term == "hamsters" else 1.0
        ).support  # type: ignore[misc]
        for weight in (0.05, 50.0)
    }
    assert judged == {"supported", "not"}


def test_numbers_in_one_spelling() -> None:
    assert numbers_in("10,000 of three, 4.5. And GPT-3 v2") >= {"10000", "3", "4.5"}
    assert missing_numbers("by 3 times", "three times") == []
    assert missing_numbers("17.5 and 9", "17.5 times") == ["9"]


def test_names() -> None:
    assert missing_names("GPT-4 and LoRA and Word", "LoRA only") == ["GPT-4"]
    assert missing_names("LLMs", "an LLM") == []
