"""The real app in real Chromium: a visitor asks, watches the nodes, and reads a cited answer."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from measure_start import RunningApp, running_app

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason="needs Debian's chromium at /usr/bin/chromium"
    ),
]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    with running_app(tmp_path_factory.mktemp("data")) as running:
        running.wait_for_page()
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(app: RunningApp, browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    opened.asked = []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(app.url)
    opened.wait_for_selector(".panel.idle")
    yield opened
    context.close()


def ask(page: Any, question: str) -> set[str]:
    """Type a question and return the stages that were seen running."""
    page.fill("#question textarea", question)
    page.click("#ask")
    seen: set[str] = set()
    page.wait_for_selector("#stop:not([disabled])")
    deadline = time.monotonic() + 30
    while not page.locator(".panel.done").count():
        assert time.monotonic() < deadline, page.locator(".panel").inner_text()
        seen |= set(page.locator(".node.running b").all_inner_texts())
        page.wait_for_timeout(20)
    page.wait_for_selector("#ask:not([disabled])")
    return seen


def test_a_cited_answer_with_its_sources(page: Any, app: RunningApp) -> None:
    running = ask(page, "How do LoRA and prefix tuning differ in what they train?")
    assert running, "no node was ever shown at work"
    assert page.locator(".node.done").count() == 6
    answer = page.locator(".answer").inner_text()
    assert "extractive" in answer and "LoRA" in answer
    citation = page.locator(".answer a.c").first
    assert citation.inner_text().strip(" []\u2060\u00a0") == "1"
    citation.click()
    card = page.wait_for_selector("#src-1.on")
    assert "LoRA" in card.inner_text()
    link = page.locator("#src-1 a[href*='arxiv.org']").first.get_attribute("href")
    assert re.match(r"https://arxiv\.org/(pdf|abs)/2106\.09685", link)
    page.wait_for_selector(".plain-table .virtual-row")
    assert page.locator(".plain-table").inner_text().count("LoRA") >= 1
    outside = [url for url in page.asked if not url.startswith((app.url, "data:", "blob:"))]
    assert outside == []


def test_out_of_scope_is_refused_without_sources(page: Any) -> None:
    ask(page, "Best pizza dough hydration?")
    assert "The library does not cover this" in page.locator(".answer").inner_text()
    assert page.locator(".answer a.c").count() == 0
    assert page.locator(".src").count() == 0


def test_a_second_visitor_and_a_reload_see_nothing_of_the_first(
    page: Any, browser: Any, app: RunningApp
) -> None:
    ask(page, "What is LoRA?")
    context = browser.new_context()
    other = context.new_page()
    other.goto(app.url)
    other.wait_for_selector(".panel.idle")
    assert "LoRA" not in other.locator(".answer").inner_text()
    context.close()
    page.reload()
    page.wait_for_selector(".panel.idle")
    assert page.locator(".answer a.c").count() == 0


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("   ", "Please type a question"),
        ("🔥🔥🔥", "Please ask a whole question"),
        ("x" * 3000, "too long"),
        ("<svg onload=alert(1)> what is LoRA?", "LoRA"),
    ],
    ids=["blank", "emoji", "long", "markup"],
)
def test_bad_input_is_a_calm_line_or_an_answer(page: Any, question: str, told: str) -> None:
    page.fill("#question textarea", question)
    page.click("#ask")
    page.locator(".answer", has_text=told).wait_for()
    assert "Traceback" not in page.content()
    assert page.locator("svg[onload]").count() == 0
