"""Fixtures of the Chromium tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rag.settings import Settings

from .browser import CHROMIUM, FLAGS, Served, serve
from .fake_engine import FakeEngine


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    yield from serve(FakeEngine(papers=1000, pace=0.6), Settings())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def outside() -> list[str]:
    return []


@pytest.fixture
def opened(served: Served, browser: Any, outside: list[str]) -> Iterator[Any]:
    """Opens pages of separate sessions and collects every address that is not this server."""
    contexts = []

    def opened_page(
        query: str = "", width: int = 1280, base: str = served.url, **options: Any
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((base, "data:", "blob:"))
                else outside.append(request.url)
            ),
        )
        page.set_default_timeout(20_000)
        page.goto(base + query)
        page.wait_for_selector("#question textarea")
        page.wait_for_selector(".panel.idle")
        return page

    yield opened_page
    for context in contexts:
        context.close()
    assert outside == []
