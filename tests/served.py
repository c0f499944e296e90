"""A FastAPI app on a real socket, so that streaming, pauses and lost clients are real."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from rag.engine import Engine
from rag.serving.api import add_api


@contextmanager
def served(engine: Engine) -> Iterator[str]:
    """The base URL of the API over ``engine``."""
    app = FastAPI()
    add_api(app, engine)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
