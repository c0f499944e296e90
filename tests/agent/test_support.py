"""Does a passage say what a sentence claims?"""

from __future__ import annotations

import pytest

from rag.agent.claim_occurrence import missing_names, missing_numbers
from rag.agent.support import judge_claim, numbers_in

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
    assert number in judgement.reason


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
    claim = "GPU memory and parameters drop for strong protein models."
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
    assert missing_numbers("2 million, 4K, a ratio of 1/8", "2M and 4,000 at 1/8") == []
    assert missing_numbers("2.45M weights", "weights (M): 2.45") == []
    assert missing_numbers("1/8 million", "1/8") == []
    assert missing_numbers("four accesses", "three accesses [4] (Lee, 2004)") == ["four"]
    assert missing_numbers("in 1971", "as before (Ivakhnenko, 1971)") == []


def test_names() -> None:
    assert missing_names("GPT-4 and LoRA and adapters", "LoRA only") == ["GPT-4"]
    assert missing_names("trained with Adam", "We use SGD.") == ["Adam"]
    assert missing_names("the Transformer", "a transformer") == []
    assert missing_names("on Hotpot QA and Llama-2", "HotpotQA with Llama2") == []
    assert missing_names("on BERT", "DistilBERT is small") == ["BERT"]
    assert missing_names("LLMs", "an LLM") == []


RESULTS = (
    "ResNorm adopts 36 layers with a 384 hidden size. In contrast, MixNet uses 12 layers with a "
    "768 hidden size. For dialogue, we prompt Pythia with 2 examples, and GPT-J is prompted for "
    "summarization. AlphaNet outperforms BetaNet on COCO but is not robust. Including a constant "
    "is very harmful to training. The loss does not help pruning of deep filters."
)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("ResNorm has 36 layers with a hidden size of 384.", "supported"),
        ("ResNorm has 36 layers with a hidden size of 768.", "not"),
        ("MixNet uses twelve layers.", "supported"),
        ("MixNet uses eleven layers.", "not"),
        ("For summarization, GPT-J is prompted.", "supported"),
        ("For summarization, Pythia is prompted.", "not"),
        ("BetaNet is worse than AlphaNet on COCO.", "supported"),
        ("BetaNet outperforms AlphaNet on COCO.", "not"),
        ("AlphaNet outperforms BetaNet on ImageNet.", "not"),
        ("Including a constant is harmful to training.", "supported"),
        ("Including a constant is helpful to training.", "not"),
        ("The loss helps pruning of deep filters.", "partly"),
    ],
)
def test_what_occurs_elsewhere_or_the_other_way_round_is_not_support(
    claim: str, verdict: str
) -> None:
    assert support(claim, RESULTS) == verdict


def test_two_numbers_that_changed_places() -> None:
    passage = "The rate is 0.03 for tuning, and it is 0.1 from scratch."
    assert support("The rate is 0.03 for tuning, and 0.1 from scratch.", passage) == "supported"
    assert support("The rate is 0.1 for tuning, and 0.03 from scratch.", passage) == "not"


def test_a_number_of_the_next_sentence_counts_only_when_the_first_has_none() -> None:
    passage = "RAFT beats the tuned Llama. The gain is 35% on Hotpot."
    assert support("RAFT beats the tuned Llama by 35%.", passage) == "supported"
    rival = "RAFT beats the tuned Llama by 20%. The gain is 35% on Hotpot."
    assert support("RAFT beats the tuned Llama by 35%.", rival) == "not"


@pytest.mark.parametrize(
    "text", ["", " ", "[1]", "(", "1e400 9/0 million", "²³ ½ ١٢", "-" * 5000, "a, " * 2000]
)
def test_odd_text_is_judged_all_the_same(text: str) -> None:
    assert support("LoRA has 3 parts.", text) in {"not", "partly", "none"}
    judge_claim(text, (PASSAGE,), flat)
