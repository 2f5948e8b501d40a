"""A run that `shoal check --record FILE` has written down: `run.json`."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Tuple, Union


@dataclass(frozen=True)
class Recorded:
    """A verdict that was written down."""

    file: str
    property: str
    verdict: str
    steps: Optional[int]
    states: Optional[int]


@dataclass(frozen=True)
class Record:
    """What was asked, with everything that was left open, and what was found out."""

    path: Path
    shoal: str
    arguments: Tuple[str, ...]
    files: Tuple[Tuple[str, str], ...]
    results: Tuple[Recorded, ...]

    def repeat(self, shoal: Optional[str] = None) -> bool:
        """Does it again, where it was written down; whether everything comes out as it was."""
        command = shoal or os.environ.get("SHOAL", "shoal")
        ran = subprocess.run([command, "repeat", self.path.name], cwd=self.path.parent, stdout=subprocess.DEVNULL)
        return ran.returncode == 0

    def rows(self) -> List[dict]:
        """A row a verdict: `pandas.DataFrame(record.rows())`."""
        return [vars(result) for result in self.results]


def read_record(path: Union[str, Path]) -> Record:
    """Reads a file that `shoal check --record` has written."""
    path = Path(path).resolve()
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("kind") != "shoal run" or document.get("schema") != 1:
        raise ValueError(f"{path} is not a run that was written down")
    return Record(
        path,
        document["shoal"],
        tuple(document["arguments"]),
        tuple((file["name"], file["fnv"]) for file in document["files"]),
        tuple(Recorded(**result) for result in document["results"]),
    )
