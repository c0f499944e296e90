from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from rag.agent.events import Event
from rag.results import AskRequest
from rag.ui import panel
from rag.ui.run import FRAMES_PER_SECOND, LiveRun, follow, receive

from .fake_engine import FakeEngine


def events(question: str) -> list[Event]:
    engine = FakeEngine(papers=10, pace=0.0)
    return [event for event in engine.stream(AskRequest(question=question)) if event is not None]


def states(question: str) -> list[panel.PanelState]:
    found = [panel.begin()]
    for event in events(question):
        found.append(panel.advance(found[-1], event))
    return found


class Tags(HTMLParser):
    """Collects tags and checks that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in {"br", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> list[str]:
    parser = Tags()
    parser.feed(html)
    assert not parser.open
    return parser.seen


def test_simple_question_runs_every_stage_once() -> None:
    found = states("what is LoRA")
    order = []
    for state in found:
        order += [name for name, stage in state.stages.items() if stage.status == "running"]
    assert list(dict.fromkeys(order)) == [
        "plan",
        "retrieve",
        "rerank",
        "grade",
        "synthesize",
        "verify",
    ]
    last = found[-1]
    assert last.phase == "done"
    assert {last.stage(name).status for name, _, _ in panel.PIPELINE} == {"done"}
    html = panel.render_panel(last)
    assert 'class="loop none"' in html and "searched again" not in html
    assert "✓ enough" in html


def test_loop_is_drawn_with_its_query_and_times_add_up() -> None:
    last = states("how do they differ")[-1]
    html = panel.render_panel(last)
    loop = html[html.index('<div class="loop"') : html.index('<details class="log"')]
    assert "Reformulate · </b>searched again for “prefix-tuning inference latency”" in loop
    assert "✗ not enough" in html and "✓ enough" in html
    assert last.passes == 2
    assert last.stage("rerank").ms == pytest.approx(1000)
    assert "below bar" in html and "ms-marco-MiniLM-L-12-v2" in html


def row(html: str, stage: str) -> str:
    """The visible line of one stage in the log, as plain text."""
    line = html.split(f'data-key="row-{stage}"')[1].split("</summary>")[0]
    return " ".join(re.sub("<[^>]+>", " ", line.split(">", 1)[1]).split())


def test_both_passes_are_told_on_one_line_each() -> None:
    html = panel.render_panel(states("how do they differ")[-1])
    assert (
        "pass 1: 40 by meaning , 40 by words → pool of 50 / "
        "pass 2: 20 by meaning , 20 by words → pool of 25"
    ) in row(html, "retrieve")
    assert "pass 1: 5 of 22 passages kept / pass 2: 5 of 22 passages kept; dropped: below bar" in (
        row(html, "rerank")
    )
    grade = row(html, "grade")
    assert re.search("pass 1: ✗ not enough .*missing: .* / pass 2: ✓ enough", grade)
    assert "<b>Reformulate</b> (100 ms) " in html  # in the detail of the grade that sent it back
    single = panel.render_panel(states("what is LoRA")[-1])
    assert "pass 1" not in "".join(row(single, name) for name in ("retrieve", "rerank", "grade"))


def test_numbers_that_do_not_add_up_are_not_told() -> None:
    html = panel.render_panel(states("how do they differ")[-1])
    assert "found by both" not in html and "need not add up" in html
    assert row(html, "synthesize").startswith("Write Written from 3 papers")
    assert "sentences from" not in html


def test_relevance_and_evidence_score_carry_their_names() -> None:
    html = panel.render_panel(states("how do they differ")[-1])
    head = html[html.index("candidates in the order of relevance") :]
    names = re.findall('<th scope="col"[^>]*>([^<]+)</th>', head)
    assert names[:7] == ["Passage", "Dense", "BM25", "Fused", "Rerank", "Relevance", "Fate"]
    assert '<td class="k">0.98</td><td class="r">0.69</td><td>kept</td>' in html
    assert "The bars judge relevance: 0.50" in html
    assert "Evidence score 0.98 (is the library about this at all?)" in html
    assert "Best score" not in html


def test_nothing_ran_for_an_empty_question() -> None:
    last = states("")[-1]
    assert last.phase == "idle" and "Please type a question." in panel.render_status(last)
    assert "not reached" not in panel.render_panel(last)


def test_second_pass_makes_later_stages_wait_again() -> None:
    for state in states("how do they differ"):
        if state.passes == 2 and state.stage("retrieve").status == "running":
            assert state.stage("grade").status == "pending"
            assert state.stage("grade").ms == pytest.approx(300)
            return
    raise AssertionError("no second pass")


def test_catalogue_skips_the_search() -> None:
    last = states("how many papers")[-1]
    assert last.stage("retrieve").status == "skipped"
    html = panel.render_panel(last)
    assert row(html, "plan").startswith("Plan About the library itself")
    assert row(html, "synthesize").startswith("Write Answered from the catalogue")


def test_error_marks_the_stage_that_ran() -> None:
    last = states("please fail")[-1]
    assert last.phase == "failed"
    assert last.stage("retrieve").status == "failed"
    assert "could not be finished" in panel.render_status(last)


def test_stop_leaves_nothing_running() -> None:
    for state in states("what is LoRA")[:-1]:
        stopped = panel.stop(state)
        assert stopped.phase == "stopped"
        assert "running" not in {stage.status for stage in stopped.stages.values()}
        assert "Stopped" in panel.render_panel(stopped)


def test_ticks_move_the_clock_of_the_running_stage() -> None:
    state = panel.advance(panel.begin(), events("what is LoRA")[0])
    since = state.stage("plan").since_ms or 0.0
    assert panel.tick(state, since + 750).shown_ms("plan") == pytest.approx(750)
    assert "750 ms" in panel.render_panel(panel.tick(state, since + 750))


@pytest.mark.parametrize(
    "question", ["what is LoRA", "how do they differ", "best pizza", "how many", "fail", "hostile"]
)
def test_every_frame_is_well_formed_and_keeps_its_rows(question: str) -> None:
    for state in states(question):
        html = panel.render_panel(state)
        found = tags(html)
        assert not {"script", "img", "style"} & set(found)
        assert html.count('class="lrow"') == 6
        assert html.count('class="loop') == 1
        assert html.count('<li class="node ') == 6


def test_live_region_speaks_once_a_stage() -> None:
    spoken = [panel.render_status(state) for state in states("what is LoRA")]
    changes = [words for before, words in pairwise(spoken) if before != words]
    assert len(changes) <= 13
    assert all(re.search('aria-live="polite"', words) for words in spoken)


def test_question_is_text_in_the_log() -> None:
    html = panel.render_panel(states("<svg onload=1>")[-1])
    assert "<svg onload" not in html and "&lt;svg onload=1&gt;" in html


def test_follow_thins_tokens_but_keeps_stages_ticks_and_text() -> None:
    class Clock:
        now = 0.0

        def __call__(self) -> float:
            self.now += 0.001
            return self.now

    engine = FakeEngine(papers=10, pace=0.0)
    request = AskRequest(question="slow")
    frames = list(follow(engine, request, clock=Clock()))
    plain = LiveRun(panel=panel.begin())
    for event in events("slow"):
        plain = receive(plain, event)
    assert frames[-1].text == plain.text and frames[-1].over
    tokens = [frame for frame in frames if frame.panel.stage("synthesize").status == "running"]
    assert len(tokens) <= 0.3 * FRAMES_PER_SECOND + 2


def test_closing_follow_closes_the_engine() -> None:
    engine = FakeEngine(papers=10, pace=0.0)
    run: Iterator[LiveRun] = follow(engine, AskRequest(question="slow"))
    for _ in range(4):
        next(run)
    run.close()  # type: ignore[attr-defined]
    assert engine.closed == 1
