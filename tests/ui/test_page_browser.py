from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from rag.sections import ServingSettings
from rag.settings import Settings

from .browser import BROWSER, CONTRAST, FOCUS, Served, ask, serve
from .fake_engine import FakeEngine

pytestmark = BROWSER


def test_panel_goes_from_pending_to_done_without_a_jump(opened: Any) -> None:
    page = opened()
    assert page.locator(".node.pending").count() == 6
    page.fill("#question textarea", "How do they differ?")
    page.click("#ask")
    page.wait_for_selector(".node.running")
    heights, tops, running = set(), set(), set()
    place = "document.querySelector('.answer').getBoundingClientRect().top"
    while not page.query_selector(".panel.done"):
        heights.add(page.evaluate("document.querySelector('.panel').offsetHeight"))
        tops.add(page.evaluate(place))
        running |= set(page.locator(".node.running b").all_inner_texts())
    page.wait_for_selector(".history-row")
    page.wait_for_selector(".plain-table .virtual-row")
    assert len(heights) == 1 and len(tops | {page.evaluate(place)}) == 1
    assert {"Rerank", "Grade", "Synthesize"} <= running
    assert page.locator(".node.done").count() == 6
    assert "prefix-tuning inference latency" in page.inner_text(".loop")
    loop, first = page.locator(".loop span").bounding_box(), page.locator(".lrow").first
    assert loop["y"] + loop["height"] <= first.bounding_box()["y"] + 1
    assert page.locator(".node i").first.bounding_box()["y"] + 18 <= loop["y"]
    assert page.locator("a.c").count() == 6
    assert page.locator(".src").count() == 3
    page.wait_for_selector(".plain-table .virtual-row >> nth=3")
    assert page.locator(".plain-table a").first.get_attribute("target") == "_blank"


def test_citation_marks_its_card_by_mouse_and_keyboard(opened: Any) -> None:
    page = opened(width=375)
    ask(page, "How do they differ?")
    page.click("a.c[data-n='2'] >> nth=0")
    page.wait_for_selector("#src-2.on")
    page.wait_for_function(
        "document.querySelector('#src-2').getBoundingClientRect().top < innerHeight"
    )
    assert page.evaluate("document.activeElement.id") == "src-2"
    page.focus("a.c[data-n='3'] >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector("#src-3.on")
    assert page.locator(".src.on").count() == 1


def test_stop_ends_the_work_and_the_next_question_starts_fresh(opened: Any, served: Served) -> None:
    page = opened()
    before, closed = served.engine.tokens_given, served.engine.closed
    ask(page, "slow please", wait=False)
    page.wait_for_selector(".answer .text p")
    page.wait_for_timeout(1000)
    page.click("#stop")
    page.wait_for_selector(".panel.stopped")
    deadline = time.monotonic() + 3
    while served.engine.closed == closed and time.monotonic() < deadline:
        time.sleep(0.05)
    assert served.engine.closed == closed + 1
    assert served.engine.tokens_given - before <= 30
    page.wait_for_timeout(2500)
    assert page.locator(".panel.stopped").count() == 1
    assert "stopped · not verified" in page.inner_text(".answer")
    ask(page, "What is LoRA?")
    assert "What is LoRA?" in page.inner_text(".answer") and "word1" not in page.inner_text(
        ".answer"
    )


def test_leaving_the_page_stops_the_work(opened: Any, served: Served) -> None:
    page = opened()
    closed = served.engine.closed
    ask(page, "slow please", wait=False)
    page.wait_for_selector(".answer .text p")
    page.reload()
    deadline = time.monotonic() + 15
    while served.engine.closed == closed and time.monotonic() < deadline:
        time.sleep(0.05)
    assert served.engine.closed == closed + 1


def test_two_sessions_do_not_mix(opened: Any, served: Served) -> None:
    first, second = opened(), opened()
    ask(first, "what is alpha", wait=False)
    ask(second, "what is beta", wait=False)
    for page in (first, second):
        page.wait_for_selector(".panel.done")
        page.wait_for_selector("#ask:not([disabled])")
    assert "alpha" in first.inner_text(".answer") and "beta" not in first.inner_text(".answer")
    ask(second, "and what else about it?")
    history = served.engine.requests[-1].history
    assert [turn.question for turn in history] == ["what is beta"]
    assert "alpha" not in second.content()
    first.reload()
    first.wait_for_selector(".panel.idle")
    ask(first, "fresh")
    assert served.engine.requests[-1].history == ()
    second.click("#fresh")
    second.wait_for_selector(".panel.idle")
    ask(second, "new talk")
    assert served.engine.requests[-1].history == ()


def test_hostile_text_creates_no_element(opened: Any) -> None:
    page = opened()
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    scripts = page.locator("script").count()
    ask(page, "hostile <svg onload=1>")
    for row in page.locator(".lrow > summary").all():
        row.click()
    ask(page, "a second hostile question")
    page.wait_for_selector(".plain-table .virtual-row")
    assert page.locator("img[src='x'], [onerror], [onclick], svg[onload]").count() == 0
    assert page.locator("script").count() == scripts
    assert page.locator("a[href^='javascript']").count() == 0
    assert "<img src=x onerror=alert(1)> Nets" in page.inner_text(".sources")
    assert "[x](javascript:alert(1))" in page.inner_text(".answer")
    assert "$x^2$, ${1+1} and {{value}}" in page.inner_text(".answer")
    assert page.locator("body").is_visible()
    page.get_by_role("tab", name="Library").click()
    page.fill(".filters textarea >> nth=0", "2301.0000")
    page.wait_for_function("document.querySelector('.counts')?.innerText.startsWith('3 of')")
    page.wait_for_function("document.querySelectorAll('.library-table .virtual-row').length === 3")
    text = page.inner_text(".library-table")
    assert (
        "A | table * of _odd_ $x_1$ marks [and](javascript:alert(1)) `code` www.evil.example"
        in text
    )
    assert "<img src=x onerror=alert(1)> Nets" in text and "and 58 more" in text
    assert page.locator("a[href*='evil'], .library-table code, .library-table .katex").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_has_no_sideways_scroll_and_shows_the_answer_first(opened: Any, scheme: str) -> None:
    page = opened(width=375, color_scheme=scheme)

    def width() -> int:
        return int(page.evaluate("document.documentElement.scrollWidth"))

    assert width() <= 375
    ask(page, "How do they differ?")
    assert width() <= 375
    assert not page.locator(".lrow").first.is_visible()
    page.click(".log > summary")
    page.click(".lrow[data-key='row-rerank'] > summary")
    assert page.locator("[data-key='row-rerank'] table").first.is_visible()
    assert width() <= 375
    page.get_by_role("tab", name="Library").click()
    page.wait_for_selector(".library-table .virtual-row")
    assert width() <= 375
    page.get_by_role("tab", name="How it works").click()
    page.wait_for_selector(".method")
    assert width() <= 375


def test_opened_details_stay_open_while_streaming(opened: Any) -> None:
    page = opened()
    ask(page, "slow please", wait=False)
    page.wait_for_selector(".answer .text p")
    page.click(".lrow[data-key='row-rerank'] > summary")
    for _ in range(10):
        page.wait_for_timeout(100)
        assert page.evaluate("document.querySelector('[data-key=row-rerank]').open")
    page.click("#stop")


def test_query_prefills_and_advanced_settings_travel(opened: Any, served: Served) -> None:
    page = opened("?q=What%20is%20RAG%3F")
    page.wait_for_function("document.querySelector('#question textarea').value === 'What is RAG?'")
    assert page.locator(".advanced").count() == 0 or not page.locator(".advanced").is_visible()
    page = opened("?advanced=1")
    page.wait_for_selector(".advanced")
    page.click(".advanced button >> nth=0")
    keep = page.get_by_label("number input for retrieval · keep", exact=False).first
    keep.wait_for()
    page.wait_for_timeout(500)  # the sliders are mounted when the accordion opens
    keep.fill("5")
    page.keyboard.press("Tab")
    page.wait_for_timeout(300)
    ask(page, "what is LoRA")
    assert served.engine.requests[-1].settings == {"retrieval.keep": 5}


def test_chip_asks_and_blank_and_errors_are_calm(opened: Any, served: Served) -> None:
    page = opened()
    page.get_by_text("How many papers are from 2023?").click()
    page.wait_for_selector(".panel.done")
    assert f"The library holds {len(served.engine.library)} papers" in page.inner_text(".answer")
    assert page.locator(".node.skipped").count() == 5
    page.wait_for_selector("#ask:not([disabled])")
    page.fill("#question textarea", "")
    page.click("#ask")
    page.get_by_text("Nothing to search for. Please type a question.").wait_for()
    assert page.locator(".panel.idle").count() == 1
    page.wait_for_selector("#ask:not([disabled])")
    ask(page, "please fail", wait=False)
    page.get_by_text("The library is being rebuilt. You can ask again.").wait_for()
    page.wait_for_selector("#ask:not([disabled])")
    ask(page, "crash", wait=False)
    page.get_by_text("Something went wrong here.").wait_for()
    assert "passwd" not in page.content()
    page.wait_for_selector("#ask:not([disabled])")
    ask(page, "Best pizza dough hydration?")
    assert "The library does not cover this" in page.inner_text(".answer")
    assert page.locator(".src").count() == 0
    colours = page.evaluate(
        "['.nearest a', '.nearest li'].map((at) => getComputedStyle(document.querySelector(at)).color)"
    )
    assert colours[0] != colours[1]  # a link looks like one


def test_three_at_once_and_the_filter_does_not_wait(opened: Any) -> None:
    pages = [opened() for _ in range(3)]
    for page in pages:
        ask(page, "slow please", wait=False)
    for page in pages:
        page.wait_for_selector(".node.running")
    reader = opened()
    reader.get_by_role("tab", name="Library").click()
    reader.wait_for_selector(".library-table .virtual-row")
    start = time.monotonic()
    reader.fill(".filters textarea >> nth=0", "vaswani")
    reader.wait_for_function("document.querySelector('.counts').innerText.startsWith('1 of')")
    assert time.monotonic() - start < 3  # under a second alone; this machine is shared
    for page in pages:
        assert page.locator(".panel.running").count() == 1
        page.click("#stop")
        page.wait_for_selector(".panel.stopped")


def test_full_queue_says_busy(opened: Any) -> None:
    settings = Settings(serving=ServingSettings(concurrency=1, queue_size=1))
    for other in serve(FakeEngine(papers=10, pace=1.0), settings):
        pages = [opened(base=other.url) for _ in range(4)]
        for page in pages:
            ask(page, "slow please", wait=False)
            page.wait_for_timeout(400)
        pages[-1].get_by_text("Many people are asking right now.").wait_for()
        assert pages[-1].locator("#ask:not([disabled])").count() == 1
        assert "Waiting for a free place" in pages[1].inner_text(".answer")
        pages[0].click("#stop")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_and_every_focus_seen(opened: Any, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    for question in ("Best pizza dough hydration?", "How do they differ?"):
        ask(page, question)
        page.mouse.move(0, 0)
        page.evaluate("document.querySelectorAll('details').forEach((at) => { at.open = true; })")
        page.wait_for_timeout(400)
        assert page.evaluate(CONTRAST) == []
    page.focus("#question textarea")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement !== document.body"):
            assert page.evaluate(FOCUS) == ""
    page.get_by_role("tab", name="Library").click()
    page.wait_for_selector(".library-table .virtual-row")
    page.wait_for_timeout(400)
    assert page.evaluate(CONTRAST) == []
    page.focus(".filters textarea >> nth=0")
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement !== document.body"):
            assert page.evaluate(FOCUS) == ""


def test_the_answer_begins_on_the_first_screen_with_the_log_open(opened: Any) -> None:
    page = opened()
    tall = []
    for question in ("What is LoRA?", "How do they differ?"):
        ask(page, question)
        assert page.evaluate("scrollY") == 0 and page.locator(".lrow").first.is_visible()
        assert page.locator(".answer .text").bounding_box()["y"] < 740
        tall.append(page.locator(".panel").bounding_box()["height"])
    assert tall[0] == tall[1]  # the way back takes no room of its own
    rows = page.locator(".chips .gallery-item")
    assert len({item.bounding_box()["y"] for item in rows.all()}) <= 2


def test_no_line_begins_with_a_citation(opened: Any) -> None:
    page = opened()
    ask(page, "How do they differ?")
    for width in range(240, 640, 7):
        page.evaluate(f"document.querySelector('.answer .text').style.width = '{width}px'")
        alone = page.evaluate(
            """() => [...document.querySelectorAll(".answer a.c")].filter((chip) => {
              const range = document.createRange();
              const walker = document.createTreeWalker(chip.closest("p"), NodeFilter.SHOW_TEXT);
              let before = null;
              while (walker.nextNode() && !chip.contains(walker.currentNode)) {
                if (/[^\\s\\u2060]/.test(walker.currentNode.data)) before = walker.currentNode;
              }
              const word = before.data.replace(/[\\s\\u2060]+$/, "");
              range.setStart(before, word.length - 1); range.setEnd(before, word.length);
              const [a, b] = [range.getBoundingClientRect(), chip.getBoundingClientRect()];
              return a.height > 0 && Math.abs((a.top + a.bottom - b.top - b.bottom) / 2) > 9;
            }).length"""
        )
        assert alone == 0, width


def test_phone_pipeline_is_connected_and_its_labels_stand_apart(opened: Any) -> None:
    page = opened(width=375)
    for question in ("", "How do they differ?", "How many papers?"):
        if question:
            ask(page, question)
        boxes = page.evaluate(
            """() => [...document.querySelectorAll(".node b")].map((at) => {
              const range = document.createRange(); range.selectNodeContents(at);
              const box = range.getBoundingClientRect(); return [box.left, box.right];
            })"""
        )
        assert all(left[1] + 3 <= right[0] for left, right in itertools.pairwise(boxes)), boxes
        assert boxes[0][0] >= 20 and boxes[-1][1] <= 355
        if "differ" in question:
            colours = page.evaluate(
                """() => [...document.querySelectorAll(".node")].flatMap((at, place) =>
                  (place ? ["::before"] : []).concat(place < 5 ? ["::after"] : []).map((part) => {
                    const style = getComputedStyle(at, part);
                    return style.display === "none" ? "none" : style.backgroundColor;
                  }))"""
            )
            done = page.evaluate(
                "getComputedStyle(document.querySelector('.node.done .dot')).borderTopColor"
            )
            assert len(colours) == 10 and set(colours) == {done}
            assert "prefix-tuning" in page.inner_text(".loop")


def test_filters_are_of_one_height_and_the_table_has_its_corners(opened: Any) -> None:
    page = opened()
    page.get_by_role("tab", name="Library").click()
    page.wait_for_selector(".library-table .virtual-row")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll(".filters textarea, .filters .wrap:not(.default)")]
          .map((at) => [at.getBoundingClientRect().top, at.offsetHeight])"""
    )
    assert len(boxes) == 7 and len({top for top, _ in boxes}) == 2
    assert len({height for _, height in boxes}) == 1
    radii = page.evaluate(
        """() => [".library-table", ".library-table .table-wrap"]
          .map((name) => getComputedStyle(document.querySelector(name)).borderTopLeftRadius)"""
    )
    assert radii[0] == radii[1]
    rows = page.evaluate(
        "[...document.querySelectorAll('.library-table .virtual-row')].map((at) => at.offsetHeight)"
    )
    assert min(rows) <= 60  # two lines


def test_only_the_stage_is_spoken_while_an_answer_is_written(opened: Any) -> None:
    page = opened()
    ask(page, "slow please", wait=False)
    page.wait_for_selector(".answer .text p")
    assert page.locator("[aria-live] .answer, .answer [aria-live]").count() == 0
    page.evaluate(
        """() => { window.spoken = 0; for (const at of document.querySelectorAll("[aria-live], [role=status]"))
          new MutationObserver(() => { window.spoken += 1; })
            .observe(at, { childList: true, characterData: true, subtree: true }); }"""
    )
    page.wait_for_timeout(1500)
    assert page.evaluate("window.spoken") == 0
    page.click("#stop")


def test_header_and_footer_read_right_for_the_library(opened: Any) -> None:
    page = opened()
    assert "Every claim shows its source." in page.inner_text(".top")
    assert "extractive · no language model" in page.inner_text(".foot")
    for other in serve(FakeEngine(papers=10, kind="built"), Settings()):
        assert "Every claim shows its page." in opened(base=other.url).inner_text(".top")
