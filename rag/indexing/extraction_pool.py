"""ExtractionPool: PDFs read in worker processes, so that one bad file costs only itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from multiprocessing import get_context
from pathlib import Path

from rag.errors import UnreadablePaperError
from rag.indexing.document import PaperText
from rag.sections import IndexingSettings

logger = logging.getLogger(__name__)
Extract = Callable[[Path], PaperText]


def extract_all(
    files: list[Path], settings: IndexingSettings, extract: Extract
) -> Iterator[tuple[Path, PaperText | UnreadablePaperError]]:
    """Extract each file in a worker process; a hung or dead worker costs only its own file.

    PyMuPDF is not thread-safe and cannot be interrupted, hence processes (pebble ends one that
    exceeds its time and replaces one that died).
    """
    from pebble import ProcessPool

    context = get_context("forkserver")
    context.set_forkserver_preload(["rag.indexing.extract"])
    with ProcessPool(max_workers=settings.workers, context=context) as pool:
        futures: list[tuple[Path, Future[PaperText]]] = [
            (path, pool.schedule(extract, args=(path,), timeout=settings.seconds_per_file))
            for path in files
        ]
        try:
            for path, future in futures:
                yield path, _outcome(future, settings.seconds_per_file)
        finally:
            for _, future in futures:
                future.cancel()


def _outcome(future: Future[PaperText], limit: float) -> PaperText | UnreadablePaperError:
    from pebble import ProcessExpired

    try:
        return future.result()
    except UnreadablePaperError as error:
        return error
    except TimeoutError:
        return UnreadablePaperError("", reason=f"took over {limit:.0f} s", skipped=False)
    except ProcessExpired:
        return UnreadablePaperError("", reason="the reader crashed", skipped=False)
    except Exception as error:
        logger.warning("extraction failed: %s", type(error).__name__, exc_info=True)
        return UnreadablePaperError("", reason=f"unexpected {type(error).__name__}", skipped=False)
