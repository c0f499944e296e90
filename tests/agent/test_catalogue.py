"""Questions about the library itself (C88)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.agent.catalogue import absent_answer, answer_from_catalogue
from rag.agent.paper_lookup import absent_ids, find_paper, held_ids, named_papers, with_titles
from rag.agent.routing import route_question
from rag.papers import Library, Paper
from rag.results import AskRequest, Scope

DIFFUSION = "Diffusion and score models"
LORA = Paper(
    "2106.09685",
    "LoRA: Low-Rank Adaptation of Large Language Models",
    ("Edward J. Hu", "Yelong Shen"),
    "2021-06-17",
    topic="Tuning",
)
FACTS_ONLY = [
    LORA,
    Paper("2006.11239", "Denoising Diffusion Models", ("Jonathan Ho",), "2020-06", (), DIFFUSION),
    Paper("2112.10752", "Latent Diffusion", ("Robin Rombach",), "2021-12", (), DIFFUSION),
    Paper("2105.05233", "Diffusion Beats GANs", ("A. One", "B. Two"), "2021-05", (), DIFFUSION),
    Paper("2105.00001", "A Paper of Nobody", (), None, topic="Tuning"),
    Paper("1512.03385", "Deep Residual Learning", ("Kaiming He",), "2015-12-10"),
    Paper("1611.05431", "Deep Residual Transformations", ("Saining Xie",), "2016-11"),
]
LIBRARY = Library(replace(paper, holding="full_text") for paper in FACTS_ONLY)
LISTED = Library(
    replace(paper, holding="digest" if paper.hand_picked else "metadata")
    for paper in (
        replace(LORA, tier="hand_picked", names=("LoRA", "low-rank adaptation")),
        Paper(
            "1910.10683", "Exploring the Limits", ("Colin Raffel",), "2019-10",
            tier="hand_picked", names=("T5", "C4"),
        ),
        *FACTS_ONLY[1:],
    )
)  # fmt: skip


def reply(question: str) -> str:
    found = answer_from_catalogue(question, LIBRARY)
    assert found is not None, question
    return found.text


def papers(question: str) -> list[str]:
    found = answer_from_catalogue(question, LIBRARY)
    assert found is not None, question
    return [paper.paper_id for paper in found.papers]


@pytest.mark.parametrize(
    "question",
    [
        "How many papers do you have?",
        "how many papers are in the library",
        "How many research papers are there in total?",
        "What is the number of papers in your corpus?",
    ],
)
def test_the_count_is_exact(question: str) -> None:
    assert reply(question) == "The library holds 7 papers."


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How many papers from 2021 do you have?", "3 papers from 2021 (of 7 papers in all)"),
        ("How many papers on diffusion do you have?", "3 papers on diffusion"),
        ("How many diffusion papers are there?", "3 papers on diffusion"),
        ("How many papers by Rombach do you have?", "1 paper by Rombach"),
        ("How many papers from 1999 do you have?", "no paper from 1999"),
        ("How many papers since 2021 do you have?", "3 papers from 2021 or later"),
        ("How many papers after 2020 are there?", "3 papers from 2021 or later"),
        ("How many papers published before 2016 do you have?", "1 paper from before 2016"),
    ],
)
def test_counts_of_a_part(question: str, part: str) -> None:
    assert part in reply(question)


def test_latest_papers_come_in_order_of_date() -> None:
    assert papers("Latest papers on diffusion?") == ["2112.10752", "2105.05233", "2006.11239"]
    assert "newest first" in reply("Latest papers on diffusion?")
    assert papers("Oldest papers on diffusion?") == ["2006.11239", "2105.05233", "2112.10752"]


def test_papers_of_a_year() -> None:
    assert papers("List papers from 2021") == ["2112.10752", "2106.09685", "2105.05233"]
    text = reply("List papers from 2021")
    assert text.startswith("The library holds 3 papers from 2021")
    assert "LoRA: Low-Rank Adaptation of Large Language Models (June 2021) [2]" in text
    assert papers("Show me papers between 2016 and 2020") == ["2006.11239", "1611.05431"]
    assert papers("list papers from 1999") == []


@pytest.mark.parametrize(
    "question",
    [
        "Show me your newest papers from 2021",
        "What are the latest papers from 2021?",
        "which papers are from 2021?",
        "list all of your papers from 2021",
    ],
)
def test_lists_are_asked_for_in_many_ways(question: str) -> None:
    assert papers(question) == ["2112.10752", "2106.09685", "2105.05233"]


def test_a_long_list_is_cut_and_says_so() -> None:
    many = Library([Paper(f"2101.{n:05}", f"Study {n}", (), "2021-01") for n in range(25)])
    found = answer_from_catalogue("List papers from 2021", many)
    assert found is not None
    assert len(found.papers) == 10
    assert "25 papers" in found.text and "the first 10" in found.text


def test_authors() -> None:
    text = "“LoRA: Low-Rank Adaptation of Large Language Models” was written by Edward J. Hu and Yelong Shen [1]."
    for question in ("Who wrote LoRA?", 'who are the authors of "lora"', "Authors of 2106.09685?"):
        assert reply(question) == text
        assert papers(question) == ["2106.09685"]


def test_authors_that_are_not_recorded_are_not_invented() -> None:
    assert "authors are not recorded" in reply("Who wrote A Paper of Nobody?")


@pytest.mark.parametrize(
    "question",
    [
        'Who wrote "A Made-Up Study of Widgets"?',
        'Is "A Made-Up Study of Widgets" in the library?',
        'When was "A Made-Up Study of Widgets" published?',
        'Do you have the paper "A Made-Up Study of Widgets"?',
    ],
)
def test_a_title_that_is_not_held(question: str) -> None:
    assert reply(question) == "I find no paper called “A Made-Up Study of Widgets” in the library."
    assert papers(question) == []


def test_a_title_that_means_two_papers_is_not_guessed() -> None:
    assert find_paper("Deep Residual", LIBRARY) is None
    assert find_paper("deep residual learning", LIBRARY) == LIBRARY["1512.03385"]
    assert find_paper("", LIBRARY) is None
    assert find_paper("the", LIBRARY) is None


def test_date_and_presence() -> None:
    assert reply("When was LoRA published?").endswith("appeared on arXiv on 17 June 2021 [1].")
    assert reply("Is LoRA in the library?").startswith("Yes: “LoRA")
    assert "unknown date" in reply("When was A Paper of Nobody published?")


def test_topics() -> None:
    text = reply("What topics do you cover?")
    assert text == "The library covers 2 topics: Diffusion and score models (3); Tuning (2)."
    bare = answer_from_catalogue("Which topics does the library hold?", Library([Paper("1", "T")]))
    assert bare is not None and "no topics are recorded" in bare.text


@pytest.mark.parametrize(
    "question",
    [
        "How many papers did the survey review?",
        "Which papers use dropout in the encoder?",
        "Who proposed attention?",
        "How many papers on diffusion did the survey review?",
        "Which papers about attention use dropout in the encoder?",
        "Which fields would you apply LoRA in?",
        "What topics does LDA find in a corpus of news?",
        "When was dropout first useful?",
        "Is LoRA better than adapters?",
        "How many layers does BERT have?",
        "What are the latest advances in diffusion?",
        "How many papers were used to train Galactica?",
        "Do you have to warm up the learning rate?",
        "Is there a limit to the rank?",
        "What does LoRA say about papers?",
    ],
)
def test_research_questions_are_not_catalogue_questions(question: str) -> None:
    assert answer_from_catalogue(question, LIBRARY) is None


def test_ids_in_a_question() -> None:
    question = "What do 2106.09685v2 and 2301.00001 say about data?"
    assert held_ids(question, LIBRARY) == ["2106.09685"]
    assert absent_ids(question, LIBRARY) == ["2301.00001"]
    assert "2301.00001" in absent_answer(["2301.00001"])
    assert held_ids("In 2021 there were 12345.6 of them", LIBRARY) == []


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What does 2106.09685 say about rank?", "What does “LoRA” say about rank?"),
        ("What does arXiv:2106.09685v2 say?", "What does “LoRA” say?"),
        ("What does 2301.00001 say?", "What does 2301.00001 say?"),
        ("What is LoRA?", "What is LoRA?"),
    ],
)
def test_ids_of_held_papers_become_titles(question: str, named: str) -> None:
    assert with_titles(question, LIBRARY) == named


def listed(question: str) -> str:
    found = answer_from_catalogue(question, LISTED)
    assert found is not None, question
    return found.text


def test_papers_known_by_their_facts_only_are_listed_not_held() -> None:
    assert listed("How many papers do you have?") == (
        "The library lists 8 papers. I can answer from the text of 2 of them (as digests); of the "
        "others only the facts are listed."
    )
    text = listed("Latest papers on diffusion")
    assert text.startswith("The library lists 3 papers on diffusion, newest first:")
    assert text.endswith("Only their facts are listed; I cannot answer from their text.")
    assert "is listed in the library [1], but only by its facts" in listed(
        "Is Latent Diffusion in the library?"
    )
    assert listed("Is LoRA in the library?").startswith("Yes: ")
    assert listed("How many papers by Hu do you have?").startswith(
        "The library holds 1 paper by Hu"
    )


def test_a_paper_is_found_by_the_name_that_people_call_it() -> None:
    assert listed("Who wrote T5?").endswith("was written by Colin Raffel [1].")
    assert find_paper("low-rank adaptation", LISTED) == LISTED["2106.09685"]


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("What does 2106.09685 say about rank?", ["2106.09685"]),
        ("What does LoRA say about rank?", ["2106.09685"]),
        ("What does the T5 paper report on C4?", ["1910.10683"]),
        ("According to the LoRA paper, which rank is enough?", ["2106.09685"]),
        ("What is the rank in the “Exploring the Limits” paper?", ["1910.10683"]),
        ("How does LoRA differ from T5?", []),
        ("What does the literature say about rank?", []),
        ("What does deep residual say about depth?", []),
        ("Which of the papers is best?", []),
    ],
)
def test_a_question_to_a_paper_names_it(question: str, ids: list[str]) -> None:
    assert [paper.paper_id for paper in named_papers(question, LISTED)] == ids


def routed(question: str, *scope: str):
    request = AskRequest(question=question, scope=Scope(paper_ids=scope))
    return route_question(question, request, LISTED)


def test_a_named_paper_scopes_the_question() -> None:
    found = routed("What does the T5 paper say about C4?")
    assert (found.route, found.scope.paper_ids, found.reply) == ("answer", ("1910.10683",), None)
    assert routed("What does T5 say?", "2106.09685").scope.paper_ids == ("2106.09685",)


@pytest.mark.parametrize(
    ("question", "scope", "says"),
    [
        ("What does 2112.10752 say about noise?", (), "“Latent Diffusion” [1] is listed"),
        ("What does 2112.99999 say about noise?", (), "does not hold 2112.99999"),
        (
            "What is the noise?",
            ("2112.10752", "2105.05233"),
            "“Diffusion Beats GANs” [2] are listed",
        ),
        ("What is the noise?", ("2112.99999",), "does not hold 2112.99999"),
    ],
)
def test_a_paper_without_text_is_said_to_have_none(
    question: str, scope: tuple[str, ...], says: str
) -> None:
    found = routed(question, *scope)
    assert found.route == "catalogue" and found.reply is not None
    assert says in found.reply.text
    assert "Rombach" not in found.reply.text


def test_small_talk_is_answered_within_a_scope_too() -> None:
    assert routed("hello", "2112.10752").route == "smalltalk"
    mixed = routed("What is the noise?", "2112.10752", "2106.09685")
    assert mixed.route == "answer" and mixed.scope.paper_ids == ("2112.10752", "2106.09685")
