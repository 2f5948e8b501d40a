"""Runs the model checker Shoal and reads what it says."""

from .record import Record, Recorded, read_record
from .run import Failed, Rule, Run, Verdict, check, sweep
from .trace import Step, Trace, read_trace

__all__ = [
    "Failed", "Record", "Recorded", "Rule", "Run", "Step", "Trace", "Verdict", "check", "read_record", "read_trace", "sweep",
]
__version__ = "0.1.0"
