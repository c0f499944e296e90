from __future__ import annotations

from dataclasses import replace

import pytest

from rag.papers import Paper
from rag.ui.library_card import page_words, published_words, render_card

from .fake_engine import FakeEngine

ENGINE = FakeEngine(papers=30)


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ("2021-06-17", "17 June 2021"),
        ("2013-01", "January 2013"),
        ("2023", "2023"),
        ("2023-13", "2023"),
        ("2023-02-99", "February 2023"),
        (None, ""),
        ("", ""),
    ],
)
def test_a_date_is_as_precise_as_known(published: str | None, words: str) -> None:
    assert published_words(published) == words


def test_pages_in_words() -> None:
    assert page_words(()) == ""
    assert page_words((3,)) == "p. 3"
    assert page_words((7, 1, 4, 6, 5)) == "pp. 1, 4–7"
    assert page_words((1, 2)) == "pp. 1–2"


def test_full_text_shows_abstract_first_then_digest_and_chunks_in_folds() -> None:
    shown = render_card(ENGINE.card("2106.09685"))
    assert shown.index("<h3>Abstract</h3>") < shown.index("<summary>Digest</summary>")
    assert "The full text is indexed" in shown
    assert "17 June 2021 · cs.CL · Parameter-efficient tuning · hand-picked" in shown
    assert "As the system sees it: 31 chunks, 1,364 tokens" in shown
    assert shown.count('<tr class="said" hidden>') == 31
    assert 'href="https://arxiv.org/abs/2106.09685v2"' in shown
    assert 'href="https://arxiv.org/pdf/2106.09685v2"' in shown
    assert "@misc{hu2021lora," in shown
    assert shown.count("data-paper=") == 3


def test_a_digest_has_its_headings_and_pages() -> None:
    shown = render_card(ENGINE.card("1706.03762"))
    assert "<section><h3>Digest</h3><h4>Summary" in shown
    assert 'href="https://arxiv.org/pdf/1706.03762v7#page=4"' in shown and "pp. 4, 6–7" in shown
    assert "not the paper itself" in shown


def test_a_paper_of_facts_says_what_to_do() -> None:
    shown = render_card(ENGINE.card("1301.3781"))
    assert "Only the facts are listed; the text is not in this index." in shown
    assert "January 2013" in shown and "As the system sees it" not in shown
    card = ENGINE.card("1706.03762")
    assert card is not None
    unindexed = replace(card, paper=replace(card.paper, holding="metadata"), chunks=())
    assert "Digest (not in this index)" in render_card(unindexed)


def test_an_unknown_paper_is_a_sentence() -> None:
    assert "does not list that paper" in render_card(None)


def test_hostile_text_is_escaped_everywhere() -> None:
    shown = render_card(ENGINE.card("2301.00001"))
    for mark in ("<img", "<script", "<style", "<b>Eve"):
        assert mark not in shown, mark
    assert "</textarea>" in shown and shown.count("</textarea>") == 1
    paper = Paper("2301.00001", "</textarea><script>1</script>", ('"><img src=x>',), names=("x",))
    card = ENGINE.card("2301.00001")
    assert card is not None
    shown = render_card(replace(card, paper=paper))
    assert shown.count("</textarea>") == 1 and "<script" not in shown and "<img" not in shown


def test_many_authors_are_folded() -> None:
    card = ENGINE.card("2301.00002")
    assert card is not None
    assert "and 48 more authors" in render_card(card)
