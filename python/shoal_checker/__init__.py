"""Runs the model checker Shoal and reads what it says."""

from .run import Failed, Rule, Run, Verdict, check, sweep
from .trace import Step, Trace, read_trace

__all__ = ["Failed", "Rule", "Run", "Step", "Trace", "Verdict", "check", "read_trace", "sweep"]
__version__ = "0.1.0"
