"""The fake engine's page on a real socket, and what the Chromium tests of it share."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag.settings import Settings

from .fake_engine import FakeEngine

os.environ["GRADIO_ANALYTICS_ENABLED"] = "0"

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

BROWSER = [
    # Gradio's own: its queue statistics use an option that pandas 3 deprecates.
    pytest.mark.filterwarnings("ignore:'future.no_silent_downcasting':DeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore:'future.no_silent_downcasting':pandas.errors.Pandas4Warning"
    ),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore:The copy keyword is deprecated:pandas.errors.Pandas4Warning"
    ),
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason="needs Debian's chromium at /usr/bin/chromium"
    ),
]


@dataclass
class Served:
    engine: FakeEngine
    url: str


def serve(engine: FakeEngine, settings: Settings) -> Iterator[Served]:
    import fastapi
    import gradio as gr
    import uvicorn

    from rag.ui.page import build_page, mount_options

    servers: list[uvicorn.Server] = []

    async def main(listener: socket.socket) -> None:
        # Built inside a running loop, because Gradio otherwise leaves event loops unclosed.
        app = fastapi.FastAPI()
        page = build_page(engine, settings)
        app = gr.mount_gradio_app(app, page, path="/", **mount_options())
        servers.append(uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")))
        await servers[0].serve(sockets=[listener])

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread = threading.Thread(target=lambda: asyncio.run(main(listener)), daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not (servers and servers[0].started) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield Served(engine, url)
        servers[0].should_exit = True
        servers[0].force_exit = True
        thread.join(timeout=10)


def ask(page: Any, question: str, *, wait: bool = True) -> None:
    page.fill("#question textarea", question)
    page.press("#question textarea", "Enter")
    if wait:
        page.wait_for_selector("#stop:not([disabled])")  # the panel before may be done already
        page.wait_for_selector(".panel.done")
        page.wait_for_selector("#ask:not([disabled])")


CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return [...m.slice(0, 3), m[3] ?? 1]; };
  const over = (a, b) => [...[0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])), 1];
  const light = (c) => { const f = (v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const bad = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.parentElement, style = getComputedStyle(at);
    if (!walker.currentNode.data.trim() || at.closest("script, style, [disabled], .sr-only")) continue;
    if (!at.checkVisibility({ visibilityProperty: true }) || style.fontSize === "0px") continue;
    const chain = [];
    for (let up = at; up; up = up.parentElement) chain.unshift(parse(getComputedStyle(up).backgroundColor));
    const ground = chain.reduce((below, c) => over(c, below), [255, 255, 255, 1]);
    const [a, b] = [light(over(parse(style.color), ground)), light(ground)];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push([walker.currentNode.data.trim().slice(0, 40), style.color, ratio]);
  }
  return bad;
}"""
FOCUS = """() => {
  for (let at = document.activeElement, up = 0; at && up < 4; at = at.parentElement, up += 1) {
    const style = getComputedStyle(at);
    if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) return "";
  }
  return document.activeElement.outerHTML.slice(0, 120);
}"""
