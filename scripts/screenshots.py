#!/usr/bin/env python
"""Take the pictures of the documentation with real Chromium; see docs/images.

    python scripts/screenshots.py [--url http://127.0.0.1:7860/] [--out docs/images]

Without ``--url`` the app is started for it, with the starter library and no language model.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from measure_start import ROOT, StartError, running_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
QUESTION = "What is LoRA, and what does it cost at inference?"
ANSWER_MS = 60_000
MAX_BYTES = 350 * 1024


@dataclass(frozen=True)
class Shot:
    """One picture: its name, what the page shows, and the window it is seen in."""

    name: str
    tab: Literal["ask", "library"]
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


SHOTS = (
    Shot("ask-1280", "ask", 1280, 1400),
    Shot("ask-375", "ask", 375, 1400),
    Shot("ask-dark-1280", "ask", 1280, 1400, "dark"),
    Shot("library-1280", "library", 1280, 900),
)


def main() -> int:
    """Take all pictures; 1 when the app or the browser fails or a picture is too large."""
    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument("--url", help="a running app; without it one is started")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    if not CHROMIUM.exists():
        print(f"error: {CHROMIUM} is needed (Debian: apt-get install chromium)", file=sys.stderr)
        return 1
    from playwright.sync_api import Error, sync_playwright

    arguments.out.mkdir(parents=True, exist_ok=True)
    sizes: list[int] = []
    try:
        with address(arguments.url) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
            for shot in SHOTS:
                path = arguments.out / f"{shot.name}.png"
                take(browser, url, shot, path)
                shrink(path)
                sizes.append(path.stat().st_size)
                print(f"{path}: {sizes[-1] / 1024:.0f} KB", flush=True)
            browser.close()
    except (StartError, Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if max(sizes) > MAX_BYTES:
        print(f"error: a picture is larger than {MAX_BYTES // 1024} KB", file=sys.stderr)
        return 1
    return 0


@contextmanager
def address(url: str | None) -> Iterator[str]:
    """The given address, or that of an app started for the pictures."""
    if url:
        yield url
        return
    with (
        tempfile.TemporaryDirectory(prefix="adaptive-rag-") as folder,
        running_app(Path(folder)) as app,
    ):
        app.wait_for_page()
        yield app.url


def take(browser: Browser, url: str, shot: Shot, path: Path) -> None:
    """One picture, in a session of its own."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme=shot.scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(url)
    page.locator("#question textarea").wait_for()
    if shot.tab == "ask":
        ask(page)
    else:
        page.get_by_role("tab", name="Library").click()
        page.locator(".library-table .virtual-row").first.wait_for()
    page.wait_for_timeout(1500)  # the table lays itself out after its rows have come
    page.screenshot(path=path, animations="disabled")
    context.close()


def ask(page: Page) -> None:
    """Ask the question and wait until its answer is finished."""
    page.locator("#question textarea").fill(QUESTION)
    page.locator("#ask").click()
    page.locator("[id^='src-']").first.wait_for(timeout=ANSWER_MS)
    page.locator("#ask:not([disabled])").wait_for(timeout=ANSWER_MS)
    page.evaluate("document.activeElement?.blur(); window.scrollTo(0, 0)")


def shrink(path: Path) -> None:
    """Fewer colours, where Pillow is installed."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(colors=256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
