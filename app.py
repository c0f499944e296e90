"""Composition root: settings -> Engine -> FastAPI app with the Gradio page mounted at "/".

``python app.py`` serves on port 7860, or on ``PORT``.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from fastapi import FastAPI

from rag.engine import Engine
from rag.errors import RagError
from rag.settings import Settings, load_settings

DEFAULT_PORT = 7860


def create_app(settings: Settings, engine: Engine | None = None) -> FastAPI:
    """The whole app around one engine; raises ``RagError`` with one sentence when it cannot."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("GRADIO_TEMP_DIR", str(settings.data_dir.resolve() / "gradio"))
    os.environ.setdefault("HOME", str(settings.data_dir.resolve()))
    engine = engine or Engine.open(settings)
    import gradio as gr

    from rag.serving.api import add_api
    from rag.ui.page import build_page, mount_options

    app = FastAPI(title="Adaptive RAG", docs_url="/docs", redoc_url=None)
    add_api(app, engine)
    page = build_page(engine, settings)
    mounted: FastAPI = gr.mount_gradio_app(app, page, path="/", **mount_options())
    return mounted


def port_from_environment() -> int:
    """``PORT``, else 7860; raises ``RagError`` when it is no port."""
    value = os.environ.get("PORT", "").strip() or str(DEFAULT_PORT)
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise RagError("PORT must be a number between 1 and 65535.")
    return int(value)


def main() -> int:
    """Serve until interrupted; 2 when the app cannot start, with the reason in one sentence."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for noisy in ("httpx", "chromadb", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    os.chdir(Path(__file__).resolve().parent)
    try:
        settings = load_settings()
        port = port_from_environment()
        app = create_app(settings)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    import uvicorn

    print(f"Adaptive RAG is ready on http://{settings.serving.host}:{port}", flush=True)
    uvicorn.run(app, host=settings.serving.host, port=port, log_level="warning", ws="none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
