#!/usr/bin/env python
"""How long a warm start takes: until the page answers, and until a question is answered.

    python scripts/measure_start.py [--runs 5] [--question TEXT]

The first start builds the starter index and fills the disk cache; it is shown, but not counted.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 15.0


class StartError(Exception):
    """The app did not come up."""


@dataclass(frozen=True)
class RunningApp:
    """``app.py`` as a process of its own; ``started`` is the clock when it was launched."""

    process: subprocess.Popen[bytes]
    port: int
    started: float

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/"

    def wait_for_page(self) -> float:
        """Seconds from launch until the page answers; raises ``StartError`` when it never does."""
        while time.perf_counter() - self.started < START_SECONDS:
            if self.process.poll() is not None:
                raise StartError(f"app.py ended with {self.process.returncode} before it was ready")
            try:
                status, _ = send(self.port, "GET", "/")
            except OSError:
                time.sleep(0.02)
                continue
            if status == 200:
                return time.perf_counter() - self.started
            time.sleep(0.02)
        raise StartError(f"app.py did not answer within {START_SECONDS:.0f} s")

    def wait_for_answer(self, question: str) -> float:
        """Seconds from launch until ``POST /query`` has answered the question."""
        status, text = send(self.port, "POST", "/query", json.dumps({"question": question}))
        if status != 200:
            raise StartError(f"POST /query answered {status}: {text[:200]}")
        return time.perf_counter() - self.started


def send(port: int, method: str, path: str, body: str | None = None) -> tuple[int, str]:
    """One request to the app, past any proxy of the environment; raises ``OSError``."""
    connection = http.client.HTTPConnection(HOST, port, timeout=START_SECONDS)
    try:
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8")
    except http.client.HTTPException as error:
        raise OSError(str(error)) from None
    finally:
        connection.close()


@contextmanager
def running_app(data_dir: Path) -> Iterator[RunningApp]:
    """``app.py`` on a free port with its own data folder, without a language model."""
    port = free_port()
    environment = {
        **os.environ,
        "PORT": str(port),
        "RAG_SERVING__HOST": HOST,
        "RAG_DATA_DIR": str(data_dir),
        "LLM_PROVIDER": "extractive",
    }
    command = [sys.executable, str(ROOT / "app.py")]
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield RunningApp(process, port, started)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


def measure(data_dir: Path, question: str) -> tuple[float, float]:
    """Seconds until the page, and until the answer, of one start."""
    with running_app(data_dir) as app:
        return app.wait_for_page(), app.wait_for_answer(question)


def main() -> int:
    """Measure and print; 1 when the app does not come up."""
    parser = argparse.ArgumentParser(description="Measure warm starts of app.py.")
    parser.add_argument("--runs", type=int, default=5, help="starts that count (5)")
    parser.add_argument("--question", default="What is LoRA?")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="adaptive-rag-") as folder:
        try:
            for run in range(arguments.runs + 1):
                page, answer = measure(Path(folder), arguments.question)
                name = f"run {run}" if run else "first start, not counted"
                print(f"{name}: page {page:.2f} s, answer {answer:.2f} s", flush=True)
                if run:
                    times.append((page, answer))
        except StartError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    page, answer = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"median of {len(times)}: page {page:.2f} s, answer {answer:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
