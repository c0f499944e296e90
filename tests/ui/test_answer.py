from __future__ import annotations

import re

import pytest

from rag.results import Degraded, ErrorRecord, NearestPaper, Result, SentenceRecord
from rag.ui.answer import reasoner_name, render_answer
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
    html = render_answer("", refusal_result("pizza"))
    assert html.count("The library does not cover this") == 1
    assert "The closest passages are about something else." in html
    assert "relevance 0.07<small>bar 0.50</small>" in html and "needs 0.50" in html
    assert "reranker" not in html and "left out all the same" not in html
    assert "https://arxiv.org/abs/2312.10997" in html
    assert "Not in the evidence" not in html


def test_refusal_above_the_bar_is_explained() -> None:
    near = (NearestPaper(paper_id="2312.10997", title="A", score=0.6),)
    html = render_answer("", refusal_result("pizza").model_copy(update={"nearest": near}))
    assert "the library as a whole is not about this" in html


def test_small_scores_of_a_refusal_can_be_told_apart() -> None:
    near = tuple(
        NearestPaper(paper_id="2312.10997", title="A", score=score) for score in (0.02, 0.01)
    )
    html = render_answer(
        "", refusal_result("pizza").model_copy(update={"nearest": near, "bar": 0.03})
    )
    assert re.findall(r'<s style="width:(\d+)%"></s><u style="left:(\d+)%">', html) == [
        ("22", "33"),
        ("11", "33"),
    ]


def test_error_is_one_calm_line() -> None:
    error = ErrorRecord(code="x", message="The <model> is away.", retryable=True)
    html = render_answer("", Result(question="q", route="error", error=error))
    assert "The &lt;model&gt; is away. You can ask again." in html
    html = render_answer("", Result(question="q", route="error", error=error, answer="half [1]"))
    assert "incomplete · not verified" in html and "half\u00a0[1]" in html


def test_invalid_shows_its_reason() -> None:
    error = ErrorRecord(code="empty", message="Type a question.", retryable=False)
    for told in (None, error):
        html = render_answer(
            "", Result(question="", route="invalid", answer="Type a question.", error=told)
        )
        assert html.count("Type a question.") == 1 and "Nothing to search for" in html
        assert "incomplete" not in html and "Not finished" not in html


def test_degraded_is_one_sentence() -> None:
    told = {
        "OpenAI": "Without a language model this time (it took &lt;long&gt;): the sentences are the "
        "papers’ own.",
        "The reranker": "Without the reranker this time (it took &lt;long&gt;): the order is that of "
        "the search.",
    }
    for provider, sentence in told.items():
        degraded = Degraded(provider=provider, reason="it took <long>.")
        html = render_answer("", simple_result("q").model_copy(update={"degraded": degraded}))
        assert f'<p class="degraded">{sentence}</p>' in html


def test_the_reasoner_without_a_model_is_called_so() -> None:
    assert reasoner_name("extractive") == reasoner_name("") == "extractive · no language model"
    assert reasoner_name("gpt-5.6-luna") == "gpt-5.6-luna"


def test_a_citation_never_stands_alone_on_a_line() -> None:
    result = simple_result("q", "One two [1]. Three[1][1], four **five** [1] six [1]")
    for html in (render_answer("", result), render_answer(result.answer, None, running=True)):
        plain = re.sub("<[^>]+>", "", html.split('<div class="text">')[1])
        assert not re.search(r"[^\u00a0\u2060]\[1\]", plain)
        assert "two\u00a0[1]\u2060." in plain and "Three\u2060[1]\u2060[1]\u2060," in plain
        assert "five\u00a0[1] six\u00a0[1]" in plain


def test_what_is_missing_is_said_once() -> None:
    answer = "Known [1].\n\nNot in the evidence: Lion, <b>."
    result = compound_result("q").model_copy(
        update={"answer": answer, "sentences": (), "missing_elements": ("Lion", "<b>")}
    )
    for html in (render_answer("", result), render_answer(answer, None, running=True)):
        assert html.count("Not in the evidence") == 1
        assert '<p class="miss"><b>Not in the evidence:</b> Lion, &lt;b&gt;.</p>' in html
    assert "Not in" not in render_answer(answer[:20], None, running=True)


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
