#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of compare_results: python3 perf_tests/test_compare_results.py"""

import json
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("compare_results")
CONTEXT = {"processor": "P", "execution_space": "OpenMP", "concurrency": "2", "num_cpus": 2, "elaphos_commit": "abc"}


def measurement(rows, **context):
    entries = []
    for name, times in rows.items():
        for time in times:
            entries.append({"name": name + "/iterations:5/manual_time", "run_type": "iteration", "real_time": time,
                            "over_floor": time / 2})
        entries.append({"name": name + "/iterations:5/manual_time_median", "run_type": "aggregate", "real_time": 1e9})
    return {"context": CONTEXT | context, "benchmarks": entries}


class CompareResults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = pathlib.Path(self.folder.name) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_it(self, base, new, *arguments):
        base = self.write("base.json", base) if isinstance(base, dict) else base
        new = self.write("new.json", new) if isinstance(new, dict) else new
        return subprocess.run([SCRIPT, base, new, *arguments], capture_output=True, text=True, check=False)

    def expect(self, status, words, *arguments):
        result = self.run_it(*arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout + result.stderr)

    def test_same(self):
        rows = {"a/T:10": [1.0] * 11, "b": [2.0] * 11}
        self.expect(0, ["0 of 2 rows slower", "a/T:10"], measurement(rows), measurement(rows))

    def test_slower_by_the_median(self):
        base = measurement({"a": [1.0] * 11})
        self.expect(1, ["slower", "1.200", "1 of 1"], base, measurement({"a": [1.2] * 6 + [0.1] * 5}))
        self.expect(0, [], base, measurement({"a": [9.0] * 5 + [1.0] * 6}))
        self.expect(0, [], base, measurement({"a": [1.2] * 11}), "--threshold", "0.25")
        self.expect(1, [], base, measurement({"a": [1.2] * 11}), "--metric", "over_floor")

    def test_faster_passes(self):
        self.expect(0, ["faster"], measurement({"a": [1.0] * 11}), measurement({"a": [0.5] * 11}))

    def test_too_few_repetitions(self):
        base = measurement({"a": [1.0] * 11})
        few = measurement({"a": [1.0] * 10})
        self.expect(2, ["a has 10 repetitions, expected at least 11"], base, few)
        self.expect(0, [], base, few, "--repetitions", "10")

    def test_missing_and_new_rows(self):
        both, one = {"a": [1.0] * 11, "b": [1.0] * 11}, {"a": [1.0] * 11}
        self.expect(2, ["no row b"], measurement(both), measurement(one))
        self.expect(0, [], measurement(both), measurement(one), "--allow-missing")
        self.expect(0, ["b: new row"], measurement(one), measurement(both))
        self.expect(2, ["no row is in both"], measurement({"c": [1.0] * 11}), measurement(one), "--allow-missing")

    def test_other_machine(self):
        rows = {"a": [1.0] * 11}
        self.expect(2, ["processor is 'P' and 'Q'"], measurement(rows), measurement(rows, processor="Q"))
        self.expect(0, [], measurement(rows), measurement(rows, processor="Q"), "--other-machine")
        self.expect(0, ["elaphos_commit: abc -> def"], measurement(rows), measurement(rows, elaphos_commit="def"))

    def test_files_that_are_none(self):
        good = measurement({"a": [1.0] * 11})
        self.expect(2, ["absent.json"], good, pathlib.Path(self.folder.name) / "absent.json")
        self.expect(2, ["not a file of measurements"], good, self.write("text.json", "text"))
        self.expect(2, ["not a file of measurements"], good, self.write("list.json", "[]"))
        self.expect(2, ["no rows"], good, {"context": CONTEXT, "benchmarks": []})
        self.expect(2, ["has no speed"], good, good, "--metric", "speed")

    def test_failed_row(self):
        failed = measurement({"a": [1.0] * 11})
        failed["benchmarks"].append({"name": "b", "run_type": "iteration", "error_occurred": True,
                                     "error_message": "exact, but off by 1"})
        self.expect(2, ["b failed: exact, but off by 1"], measurement({"a": [1.0] * 11}), failed)

    def test_skipped_row(self):
        skipped = measurement({"a": [1.0] * 11})
        skipped["benchmarks"].append({"name": "b", "run_type": "iteration", "real_time": 0.0, "skipped": True})
        self.expect(0, ["0 of 1 rows"], skipped, skipped)

    def test_folders(self):
        self.write("old/a.json", measurement({"a": [1.0] * 11}))
        self.write("old/b.json", measurement({"b": [1.0] * 11}))
        self.write("late/a.json", measurement({"a": [1.0] * 11}))
        self.write("late/b.json", measurement({"b": [3.0] * 11}))
        folder = pathlib.Path(self.folder.name)
        self.expect(1, ["1 of 2 rows"], folder / "old", folder / "late")
        self.write("late/b.json", measurement({"b": [1.0] * 11}, processor="Q"))
        self.expect(2, ["different machines"], folder / "old", folder / "late")
        (folder / "empty").mkdir()
        self.expect(2, ["no .json file"], folder / "old", folder / "empty")


if __name__ == "__main__":
    unittest.main()
