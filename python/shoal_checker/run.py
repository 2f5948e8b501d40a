"""One run of `shoal check --json`, and what it says of each property."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from .trace import Trace, parse_trace

Size = Union[int, str]


class Failed(Exception):
    """The command could not be run, or it ended without saying how."""


@dataclass(frozen=True)
class Verdict:
    """What is known of one property. What is not known is None."""

    file: str
    name: str
    kind: str
    verdict: str
    scope: Dict[str, Size]
    engine: Optional[str]
    states: Optional[int]
    states_full: Optional[int]
    transitions: Optional[int]
    depth: Optional[int]
    seconds: Optional[float]
    memory_bytes: Optional[int]
    reason: Optional[str]
    #: The saved trace, in the Informal Trace Format: it is kept here, whatever becomes of the file.
    itf: Optional[Dict[str, Any]] = field(default=None, repr=False)
    #: The whole object as it was printed, for what has no name here.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"

    def trace(self) -> Trace:
        """The run that violates the property."""
        if self.itf is None:
            raise Failed(f"no trace is saved for {self.name!r}, which is {self.verdict}")
        return parse_trace(self.itf)


@dataclass(frozen=True)
class Rule:
    """How often a rule fired; None if that was not counted."""

    file: str
    rule: str
    fired: Optional[int]


@dataclass(frozen=True)
class Run:
    """All that a run said."""

    command: List[str]
    exit_code: int
    verdicts: List[Verdict]
    rules: List[Rule]
    errors: List[str]
    events: List[Dict[str, Any]] = field(repr=False)

    @property
    def holds(self) -> bool:
        """Every property holds."""
        return self.exit_code == 0

    @property
    def violated(self) -> List[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.violated]

    @property
    def states(self) -> Optional[int]:
        """The most states that were stored for one property."""
        return max((v.states for v in self.verdicts if v.states is not None), default=None)

    def __getitem__(self, name: str) -> Verdict:
        for verdict in self.verdicts:
            if verdict.name == name:
                return verdict
        raise KeyError(name)

    def frame(self):
        """The verdicts as a data frame of pandas, a row a property."""
        import pandas

        columns = ["file", "name", "kind", "verdict", "engine", "states", "states_full", "transitions", "depth",
                   "seconds", "memory_bytes", "reason"]
        return pandas.DataFrame([{c: getattr(v, c) for c in columns} for v in self.verdicts], columns=columns)


def check(
    *files: Union[str, os.PathLike],
    set: Optional[Mapping[str, Size]] = None,
    properties: Iterable[str] = (),
    seconds: Optional[float] = None,
    memory: Optional[Union[int, str]] = None,
    options: Iterable[str] = (),
    command: Optional[str] = None,
) -> Run:
    """Decides the properties of models. `options` are further ones of the command line, as they are typed."""
    if not files:
        raise ValueError("no file is given")
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        call = [command or os.environ.get("SHOAL") or "shoal", "check", "--json", "--quiet"]
        call += ["--trace", str(Path(folder) / "trace.itf.json")]
        for name, value in (set or {}).items():
            call += ["--set", f"{name}={value}"]
        for name in properties:
            call += ["--property", name]
        if seconds is not None:
            call += ["--time", f"{seconds:g}"]
        if memory is not None:
            call += ["--memory", str(memory)]
        call += list(options) + ["--"] + [os.fspath(file) for file in files]
        return _run(call)


def sweep(file: Union[str, os.PathLike], constant: str, values: Iterable[Size], **more: Any) -> List[Tuple[Size, Run]]:
    """Checks a model for several values of a constant."""
    fixed = dict(more.pop("set", None) or {})
    return [(value, check(file, set={**fixed, constant: value}, **more)) for value in values]


def _run(call: List[str]) -> Run:
    try:
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    except OSError as error:
        raise Failed(f"cannot run {call[0]}: {error}") from error
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    last = events[-1] if events else {}
    if last.get("event") != "finished":
        raise Failed(f"{' '.join(call)} ended with {done.returncode}: {done.stderr.strip()}")
    rules = [
        Rule(event["file"], rule["rule"], rule.get("fired"))
        for event in events if event["event"] == "coverage" for rule in event["rules"]
    ]
    return Run(
        command=call,
        exit_code=done.returncode,
        verdicts=[_verdict(raw) for raw in last["properties"]],
        rules=rules,
        errors=[error["message"] for error in last["errors"]],
        events=events,
    )


def _verdict(raw: Dict[str, Any]) -> Verdict:
    itf = None
    if raw.get("trace"):
        itf = json.loads(Path(raw["trace"]).read_text(encoding="utf-8"))
    return Verdict(
        file=raw["file"],
        name=raw["name"],
        kind=raw["kind"],
        verdict=raw["verdict"],
        scope=raw.get("scope", {}),
        engine=raw.get("engine"),
        states=raw.get("states"),
        states_full=raw.get("states_full"),
        transitions=raw.get("transitions"),
        depth=raw.get("depth"),
        seconds=raw.get("seconds"),
        memory_bytes=raw.get("memory_bytes"),
        reason=raw.get("reason"),
        itf=itf,
        raw=raw,
    )
