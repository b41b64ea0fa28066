#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of exit codes: README and every --help have the same, and each row of it can be had."""
import os
import re
import signal
import subprocess
import sys
import time

from cases import fault, small
from harness import (ANALYZER, BUILD, DPSWITCH, FINDING, INTERRUPTED, NOT_BEGUN, ROCELAB, SCENARIOS, SKIP, SLOWER, SOURCE, UNFINISHED,
                     check, command, file_limit, rocelab, scratch, sets)

PROGRAMS = ([ROCELAB], [DPSWITCH], [ANALYZER], [BUILD / "dpswitch" / "dpswitch-forward"], [BUILD / "rxe-hosts" / "rxe-host"],
            [BUILD / "rxe-hosts" / "pingmesh-controller"])
COMMANDS = ("run", "diagnose", "topo", "explain", "trace", "blame", "eval", "bench", "doctor", "shell", "import", "show", "compare", "list",
            "query")
KINDS = ("counterfactual", "flowpulse", "flowtracer", "hardware", "odd", "compare", "pingmesh")


def rows(text):
    """{code: words} of a --help."""
    return {int(m[1]): m[2] for m in re.finditer(r"^  (\d+)  +(.*)$", text.split("Exit codes:\n")[1], re.M)}


def the_same_everywhere():
    table = rows(command(ROCELAB, "--help").stdout)
    check(list(table) == [0, 1, 2, NOT_BEGUN, FINDING, UNFINISHED, SLOWER, SKIP, INTERRUPTED], "rocelab --help", table)
    asked = [*PROGRAMS, *([ROCELAB, c] for c in COMMANDS), *([ROCELAB, "eval", kind] for kind in KINDS), [ROCELAB, "trace", "--advise"]]
    for words in asked:
        check(rows(command(*words, "--help").stdout) == table, f"{words[0].name} {' '.join(words[1:])} --help has the table")
    readme = (SOURCE / "README.md").read_text()
    ours = {int(m[1]): m[2] for m in re.finditer(r"^\| (\d+) \| (.*) \|$", readme, re.M)}
    check(ours == table, "README has the table", ours)


def each_row():
    check(command(ROCELAB, "run", small(), "--out", scratch()).returncode == 0, "0")
    done = command(ROCELAB, "run", small(), "--out", scratch(), expect=1, preexec_fn=file_limit(2000))
    check("File too large" in done.stderr, "1: a file that could not be written", done.stderr)
    command(ROCELAB, "run", small(), "--set", "nonsense", "--out", scratch(), expect=2)
    slow = rocelab(small(fault("slow-host", host="b1", delay="1ms")))
    command(ROCELAB, "diagnose", slow.dir, "--fail-on-finding", expect=FINDING)
    command(ROCELAB, "run", small(), "--out", scratch(), *sets(limits__virtual_time="250us"), expect=UNFINISHED)
    command(DPSWITCH, small(), "--out", scratch(), *sets(limits__virtual_time="250us"), expect=UNFINISHED)
    done = command(DPSWITCH, small(), "--out", scratch(), "--analyzer", "/nonexistent", expect=NOT_BEGUN)
    check("no analyzer there" in done.stderr, "3: no analyzer", done.stderr)
    skipped = subprocess.run([sys.executable, "-c", "import harness; harness.skip('to be seen')"], check=False,
                             cwd=SOURCE / "tests" / "sim", capture_output=True)
    check(skipped.returncode == SKIP, "77: a test that is skipped", skipped)


def interrupted():
    out = scratch()
    run = subprocess.Popen([str(a) for a in (ROCELAB, "run", SCENARIOS / "ns3-allgather-100g.cfg", "--allow-unfinished", "--out", out)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 60
    while not (out / "records.bin").exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=120)
    check(run.returncode == INTERRUPTED, "130: interrupted, with --allow-unfinished too", (run.returncode, stderr))


the_same_everywhere()
each_row()
interrupted()
