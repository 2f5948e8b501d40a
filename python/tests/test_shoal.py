"""Tests on models of the gallery. They need the command: SHOAL, or `shoal` in PATH."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import shoal_checker as shoal  # noqa: E402

MODELS = ROOT / "models"


class Records(unittest.TestCase):
    def test_a_run_that_was_written_down_is_read_and_repeated(self):
        command = os.environ.get("SHOAL", "shoal")
        with tempfile.TemporaryDirectory() as folder:
            model = str(MODELS / "murphi/peterson.m")
            subprocess.run([command, "check", "--quiet", model, "--record", "run.json"], cwd=folder, check=True)
            record = shoal.read_record(Path(folder) / "run.json")
            self.assertEqual({result.verdict for result in record.results}, {"holds"})
            self.assertEqual(record.rows()[0]["states"], 174)
            self.assertTrue(record.repeat())
            with self.assertRaises(ValueError):
                Path(folder, "other.json").write_text("{}", encoding="utf-8")
                shoal.read_record(Path(folder) / "other.json")


class Checks(unittest.TestCase):
    def test_a_model_that_holds(self):
        run = shoal.check(MODELS / "murphi/peterson.m", seconds=60)
        self.assertEqual((run.exit_code, run.errors), (0, []))
        self.assertTrue(run.holds and all(verdict.holds for verdict in run.verdicts))
        self.assertGreater(run.states, 100)
        self.assertEqual(run["mutual exclusion"].scope, {"process": 3})
        with self.assertRaises(shoal.Failed):
            run["mutual exclusion"].trace()

    def test_a_violation_has_its_trace(self):
        run = shoal.check(MODELS / "murphi/peterson_bug.m", seconds=60)
        self.assertEqual(run.exit_code, 1)
        (violated,) = run.violated
        trace = violated.trace()
        self.assertEqual(trace.property, "mutual exclusion")
        self.assertEqual(len(trace.steps) - 1, violated.raw["trace_length"])
        last = trace.cells()[-1]
        critical = [cell for cell, value in last.items() if cell.startswith("pc[") and value == "Critical"]
        self.assertEqual(len(critical), 2)
        # The changes, one after the other, lead from the first state to the last.
        state = trace.cells()[0]
        for change in trace.changes():
            self.assertEqual(state[change["cell"]], change["old"])
            state[change["cell"]] = change["new"]
        self.assertEqual({k: v for k, v in state.items() if k not in ("step", "rule")},
                         {k: v for k, v in last.items() if k not in ("step", "rule")})

    def test_sizes_are_swept(self):
        sizes = shoal.sweep(MODELS / "murphi/peterson.m", "N", [2, 3], seconds=60)
        states = [run.states for _, run in sizes]
        self.assertEqual([size for size, _ in sizes], [2, 3])
        self.assertLess(states[0], states[1])

    def test_what_is_wrong_is_said(self):
        run = shoal.check("no such file.m")
        self.assertEqual((run.exit_code, run.verdicts), (2, []))
        self.assertIn("no such file.m", run.errors[0])
        with self.assertRaises(shoal.Failed):
            shoal.check(MODELS / "murphi/peterson.m", command="/no/such/shoal")

    def test_what_is_not_decided_is_unknown(self):
        run = shoal.check(MODELS / "murphi/german.m", options=["--depth", "2"])
        self.assertEqual(run.exit_code, 3)
        self.assertFalse(run.holds)
        self.assertTrue(any(verdict.verdict == "unknown" and verdict.reason for verdict in run.verdicts))

    def test_rules_are_counted(self):
        run = shoal.check(MODELS / "murphi/peterson.m", seconds=60)
        self.assertIn("leave", [rule.rule for rule in run.rules if rule.fired])

    def test_frames_where_pandas_is_there(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        run = shoal.check(MODELS / "murphi/peterson_bug.m", seconds=60)
        self.assertEqual(list(run.frame()["verdict"]).count("violated"), 1)
        self.assertEqual(len(run.violated[0].trace().frame()), run.violated[0].raw["trace_length"] + 1)


class Values(unittest.TestCase):
    def test_values_of_the_format(self):
        itf = {"states": [{"x": {"#bigint": "12345678901234567890"}, "s": {"#set": [2, 1]}, "t": {"#tup": [1, "a"]},
                           "m": {"#map": [["a", {"f": True}]]}, "u": {"#unserializable": "undefined"}}], "loop": 0}
        trace = shoal.trace.parse_trace(itf)
        self.assertEqual(trace.loop, 0)
        self.assertEqual(trace.cells(), [{"step": 0, "rule": None, "x": 12345678901234567890, "s[0]": 1, "s[1]": 2,
                                          "t": (1, "a"), "m[a].f": True, "u": None}])


if __name__ == "__main__":
    unittest.main()
