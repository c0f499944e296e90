from __future__ import annotations

import re

import pytest

from rag.results import Degraded, ErrorRecord, Result, SentenceRecord
from rag.ui.answer import render_answer
from rag.ui.history import remember, render_history

from .fake_engine import HOSTILE_ANSWER, compound_result, refusal_result, simple_result
from .test_panel import tags


def words_of(html: str) -> str:
    body = html.split('<div class="text">', 1)[1]
    return re.sub("<[^>]+>", "", body)


def test_answer_shows_who_wrote_it_and_what_was_checked() -> None:
    html = render_answer("", compound_result("q"))
    assert "gpt-5.6-luna" in html and "3 of 5 claims verified" in html
    assert "2 passes · 1.9 s · $0.0011" in html
    assert "Not in the evidence:</b> a measured latency" in html
    assert "<strong>" in html and "low-rank matrices" in html


def test_extractive_is_labelled() -> None:
    html = render_answer("", simple_result("q"))
    assert "extractive · no language model" in html and "✓ 1 of 1 claim verified" in html
    assert "$" not in html


def test_citations_are_links_to_cards_and_unknown_ones_are_text() -> None:
    result = simple_result("q", "A [1]. B [9]. C [x](javascript:alert(1)).")
    html = render_answer("", result)
    assert 'href="#src-1"' in html and "src-9" not in html and "[9]" in html
    assert "[x](javascript:alert(1))" in html
    assert "javascript:" not in "".join(re.findall('href="([^"]*)"', html))


def test_doubtful_sentences_carry_words_not_only_colour() -> None:
    html = render_answer("", compound_result("q"))
    assert 'class="flag partly" tabindex="0"' in html and 'class="flag not" tabindex="0"' in html
    assert "Only partly supported by its source: the passage says so only for long prefixes" in html
    assert "Supported by [1] p. 4" in html
    assert 'class="legend"' in html


def test_hostile_answer_stays_text_while_streaming_and_after() -> None:
    for html in (
        render_answer(HOSTILE_ANSWER, None, running=True),
        render_answer("", simple_result("q", HOSTILE_ANSWER)),
    ):
        assert not {"script", "style", "b"} & set(tags(html))
        assert (
            "&lt;script&gt;" in html
            and "$x^2$" in html
            and "${1+1}" in html
            and "{{value}}" in html
        )


def test_streamed_words_equal_final_words() -> None:
    result = compound_result("q")
    streamed = words_of(render_answer(result.answer, None, running=True))
    plain = result.model_copy(update={"sentences": (), "missing_elements": ()})
    assert words_of(render_answer("", plain)) == streamed


@pytest.mark.parametrize("cut", ["text [", "text [1", "text **", "text *", "text\n- ", "text\n>"])
def test_half_a_mark_waits(cut: str) -> None:
    assert words_of(render_answer(cut, None, running=True)).strip() == "text"


def test_open_bold_is_bold_already() -> None:
    assert "<strong>low-rank mat</strong>" in render_answer("a **low-rank mat", None, running=True)


def test_every_prefix_is_well_formed() -> None:
    answer = (
        compound_result("q").answer
        + "\n\n> quoted **words** [1]\n\n- one\n- two [2]\n\n1. first\n\n## Head\nend"
    )
    for end in range(len(answer) + 1):
        tags(render_answer(answer[:end], None, running=True))


def test_blocks() -> None:
    html = render_answer(
        "", simple_result("q", "> said [1]\n\n- one\n- two\n\n1. a\n2. b\n\n# Head")
    )
    for part in ("<blockquote>", "<ul><li>", "<ol><li>", "<h3>"):
        assert part in html


def test_sentences_across_bold_keep_their_marks() -> None:
    answer = "One **two. Three** four."
    sentences = tuple(
        SentenceRecord(text=answer[a:b], start=a, end=b, cites=(), evidence=(), support=support)
        for a, b, support in ((0, 10, "supported"), (11, len(answer), "partly"))
    )
    html = render_answer(
        "", simple_result("q").model_copy(update={"answer": answer, "sentences": sentences})
    )
    tags(html)
    assert html.count('class="s partly"') == 2 + 1  # both halves and the legend


def test_refusal_teaches() -> None:
    html = render_answer("", refusal_result("pizza"), topics={"Diffusion <b>": 3})
    assert "The library does not cover this" in html
    assert "0.07" in html and "needs 0.50" in html
    assert "https://arxiv.org/abs/2312.10997" in html
    assert "Diffusion &lt;b&gt; <i>3</i>" in html
    assert "Not in the evidence" not in html


def test_error_is_one_calm_line() -> None:
    error = ErrorRecord(code="x", message="The <model> is away.", retryable=True)
    html = render_answer("", Result(question="q", route="error", error=error))
    assert "The &lt;model&gt; is away. You can ask again." in html
    html = render_answer("", Result(question="q", route="error", error=error, answer="half [1]"))
    assert "incomplete · not verified" in html and "half [1]" in html


def test_invalid_shows_its_reason() -> None:
    assert "Type a question." in render_answer(
        "", Result(question="", route="invalid", answer="Type a question.")
    )


def test_degraded_is_one_sentence() -> None:
    result = simple_result("q").model_copy(
        update={"degraded": Degraded(provider="openai", reason="budget spent")}
    )
    assert "openai was not available (budget spent)" in render_answer("", result)


def test_stopped_answer_says_so() -> None:
    assert "stopped · not verified" in render_answer("half", None, stopped=True)
    assert "Stopped before anything was written" in render_answer("", None, stopped=True)


def test_history_is_short_and_escaped() -> None:
    history = remember([], simple_result("<svg onload=1>"), 3)
    for number in range(5):
        history = remember(history, simple_result(f"q{number}"), 3)
    assert [turn.question for turn in history] == ["q2", "q3", "q4"]
    assert remember(history, Result(question="", route="invalid"), 3) is history
    assert "<svg" not in render_history(remember([], simple_result("<svg onload=1>"), 3))


def test_waiting_says_so() -> None:
    assert "Waiting for a free place" in render_answer("", None, waiting=True)
