"""The typed errors of the product: each carries one plain sentence for the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial


class RagError(Exception):
    """Base of all expected failures.

    ``str(error)`` is one plain sentence that may be shown to any visitor: it holds no key, no
    password, no stack trace. ``retryable`` says whether the same request may succeed later;
    ``code`` is a stable machine-readable name; ``http_status`` is what the HTTP API answers with.
    """

    code = "error"
    retryable = False
    http_status = 500


class InvalidQuestionError(RagError):
    """The question itself cannot be used (blank, too long, not text)."""

    code = "invalid_question"
    http_status = 422


class InvalidSettingError(RagError):
    """A setting is unknown or outside its bounds."""

    code = "invalid_setting"
    http_status = 422


class IndexUnavailableError(RagError):
    """The index is missing, half-written, damaged or made with another embedder."""

    code = "index_unavailable"
    http_status = 503


class ModelUnavailableError(RagError):
    """A local model file is missing or is not the file it should be."""

    code = "model_unavailable"
    http_status = 503


class DependencyMissingError(RagError):
    """An optional package is needed for what was asked; the message names what to install."""

    code = "dependency_missing"
    http_status = 503


class UnreadablePaperError(RagError):
    """A file cannot become a paper; ``reason`` is the short word for the summary."""

    code = "unreadable_paper"
    http_status = 422

    def __init__(self, message: str, *, reason: str, skipped: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.skipped = skipped

    def __reduce__(self) -> tuple[Callable[..., UnreadablePaperError], tuple[()]]:
        """Pickling must carry the keywords: the error comes back from a worker process."""
        again = partial(UnreadablePaperError, str(self), reason=self.reason, skipped=self.skipped)
        return again, ()


class SourceUnavailableError(RagError):
    """A public service (arXiv) refuses, is down or answers nonsense; what came before is kept."""

    code = "source_unavailable"
    retryable = True
    http_status = 503


class ProviderError(RagError):
    """The language model's provider refused, failed or returned nothing usable."""

    code = "provider_error"
    http_status = 503

    def __init__(self, message: str, *, provider: str, kind: str, retryable: bool = False) -> None:
        super().__init__(message)
        self.provider = provider
        self.kind = kind
        self.retryable = retryable


class CancelledError(RagError):
    """The visitor pressed Stop or went away."""

    code = "cancelled"
    http_status = 499
