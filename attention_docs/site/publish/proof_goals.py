"""Write what is left to prove after each sentence of a proof, one file for each chapter."""

from __future__ import annotations

import json
from pathlib import Path

from attention_docs.site.publish.staging import write_text

FOLDER = "assets/proofs"


def write_goals(built: Path, steps: Path) -> None:
    """Write the files that docs/assets/proof-steps.js loads when a reader opens a proof."""
    packed = json.loads(steps.read_text("utf-8")) if steps.is_file() else {}
    for chapter, proofs in packed.items():
        text = json.dumps(proofs, ensure_ascii=False, separators=(",", ":"))
        write_text(built / FOLDER / f"{chapter}.json", text)
