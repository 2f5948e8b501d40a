"""Traces in the Informal Trace Format, as plain values."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Union


class _Map(dict):
    """A map of the format: its keys are elements, not fields."""


@dataclass(frozen=True)
class Step:
    """A step and the state that it leads to; the first is the start."""

    index: int
    rule: Optional[str]
    arguments: Dict[str, str]
    position: Optional[str]
    state: Dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """A run of a model. An infinite one goes on from step `loop` after the last."""

    steps: List[Step]
    property: Optional[str]
    loop: Optional[int]

    def cells(self) -> List[Dict[str, Any]]:
        """A row a step: every cell by its path, such as `cache[client_1].state`."""
        return [{"step": s.index, "rule": s.rule, **_flat(s.state)} for s in self.steps]

    def changes(self) -> List[Dict[str, Any]]:
        """A row a change: step, rule, cell, old and new value."""
        rows, before = [], {}
        for step in self.steps:
            now = _flat(step.state)
            if step.index > 0:
                for cell in sorted(now.keys() | before.keys()):
                    old, new = before.get(cell), now.get(cell)
                    if old != new:
                        rows.append({"step": step.index, "rule": step.rule, "cell": cell, "old": old, "new": new})
            before = now
        return rows

    def frame(self):
        """`cells` as a data frame of pandas, the step as its index."""
        import pandas

        return pandas.DataFrame(self.cells()).set_index("step")


def read_trace(path: Union[str, os.PathLike]) -> Trace:
    """Reads a trace that Shoal or another tool has saved."""
    return parse_trace(json.loads(Path(path).read_text(encoding="utf-8")))


def parse_trace(itf: Dict[str, Any]) -> Trace:
    steps = []
    for index, state in enumerate(itf["states"]):
        meta = state.get("#meta", {})
        values = {name: _value(value) for name, value in state.items() if name != "#meta"}
        steps.append(Step(index, meta.get("rule"), meta.get("args", {}), meta.get("position"), values))
    return Trace(steps, itf.get("#meta", {}).get("property"), itf.get("loop"))


def _value(itf: Any) -> Any:
    """A value of the format: maps become dicts, sets sorted lists, what has no value becomes None."""
    if isinstance(itf, list):
        return [_value(item) for item in itf]
    if not isinstance(itf, dict):
        return itf
    if "#bigint" in itf:
        return int(itf["#bigint"])
    if "#map" in itf:
        return _Map((_key(key), _value(value)) for key, value in itf["#map"])
    if "#set" in itf:
        return sorted((_value(item) for item in itf["#set"]), key=repr)
    if "#tup" in itf:
        return tuple(_value(item) for item in itf["#tup"])
    if "#unserializable" in itf:
        text = itf["#unserializable"]
        return None if text == "undefined" else text
    return {name: _value(value) for name, value in itf.items()}


def _key(itf: Any) -> Any:
    key = _value(itf)
    return key if isinstance(key, (str, int, bool, tuple)) else repr(key)


def _flat(state: Dict[str, Any]) -> Dict[str, Any]:
    cells: Dict[str, Any] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, _Map):
            for key, item in value.items():
                walk(f"{path}[{key}]", item)
        elif isinstance(value, dict):
            for name, item in value.items():
                walk(f"{path}.{name}", item)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                walk(f"{path}[{at}]", item)
        else:
            cells[path] = value

    for name, value in state.items():
        walk(name, value)
    return cells
