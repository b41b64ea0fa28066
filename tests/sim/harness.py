# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs as a person would and looks at what they leave behind.

Environment, set by meson: ROCELAB_BUILD (build directory), ROCELAB_SOURCE (repository), ROCELAB_SLOW_FACTOR (how much
slower this build is: sanitizers). A test prints "ok NAME" per check and exits non-zero at the first that fails.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["ROCELAB_BUILD"])
SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
SANITIZED = os.environ.get("ROCELAB_SANITIZED", "") == "1"
SCENARIOS = SOURCE / "topo" / "scenarios"
ROCELAB = BUILD / "cli" / "rocelab"
DPSWITCH = BUILD / "dpswitch" / "dpswitch"
ANALYZER = BUILD / "diag" / "analyzer"
SKIP = 77


def fail(message):
    print(f"FAIL: {message}", flush=True)
    sys.exit(1)


def check(condition, name, detail=""):
    if not condition:
        fail(f"{name}: {detail}")
    print(f"ok {name}", flush=True)


def skip(reason):
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(SKIP)


def cpus():
    return len(os.sched_getaffinity(0))


def command(*args, expect=0, timeout=600, **kwargs):
    """Runs a program to its end; fails unless it exits with the expected code (None: any)."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=timeout, **kwargs)
    if expect is not None and done.returncode != expect:
        fail(f"{' '.join(map(str, args))}: exit code {done.returncode}, expected {expect}\n{done.stdout}\n{done.stderr}")
    return done


class Run:
    """The output directory of one run."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)

    def json(self, name):
        return json.loads((self.dir / name).read_text())

    @property
    def verdict(self):
        return self.json("verdict.json")

    @property
    def run(self):
        return self.json("run.json")

    @property
    def truth(self):
        return self.json("truth.json")

    def steps(self):
        with open(self.dir / "steps.csv", newline="") as file:
            return list(csv.DictReader(file))

    def findings(self, kind=None):
        return [f for f in self.verdict["findings"] if kind is None or f["type"] == kind]


def scratch():
    """A directory that goes with the process."""
    holder = tempfile.TemporaryDirectory(prefix="rocelab-test-")
    scratch.kept.append(holder)
    return pathlib.Path(holder.name)


scratch.kept = []


def rocelab(scenario, *args, expect=0, timeout=900):
    """`rocelab run` into a fresh directory."""
    out = scratch()
    command(ROCELAB, "run", scenario, "--out", out, *args, expect=expect, timeout=timeout)
    run = Run(out)
    broken = [i for i in run.run["invariants"] if not i["holds"]]
    if expect == 0 and broken:
        fail(f"{scenario}: invariants: {broken}")
    return run


def dpswitch(scenario, *args, expect=0, timeout=900):
    """The fabric alone, without an analyzer."""
    out = scratch()
    command(DPSWITCH, scenario, "--out", out, "--quiet", *args, expect=expect, timeout=timeout)
    return Run(out)


def scenario_file(text, name="test.cfg"):
    path = scratch() / name
    path.write_text(text)
    return path
