#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the command line prints for people: --help lists all kinds, tables cut no names, each line has its program's name, and
progress in a log is a line a minute."""
import re
import subprocess
import time

from cases import small
from harness import (ANALYZER, BUILD, DPSWITCH, STALL_LIMIT_S, ROCELAB, SOURCE, check, command, long_run, scenario_file, scratch, sets, reported)


def rows(path, table):
    """First words of the rows of a C table of structs."""
    body = re.search(rf"\b{re.escape(table)}\[\] = \{{\n(.*?)\n\}};", (SOURCE / path).read_text(), re.S)[1]
    return re.findall(r'^\t\{ "([a-z0-9-]+)"', body, re.M)


def family_names():
    """Of the families that eval/case.c lists, in its order."""
    texts = "".join(path.read_text() for path in sorted((SOURCE / "eval").rglob("*.c")))
    listed = re.findall(r"&(family_\w+)", (SOURCE / "eval/case.c").read_text())
    return [re.search(rf'struct family {name} = \{{\s*\.name = "([a-z-]+)"', texts)[1] for name in listed]


def study_names():
    """Of the studies that eval/program/main.c lists, in its order, each in its own file."""
    listed = re.search(r"studies\[\] = \{(.*?)\};", (SOURCE / "eval/program/main.c").read_text(), re.S)[1]
    return [re.search(r'\.name = "([a-z-]+)"', (SOURCE / f"eval/program/{name}.c").read_text())[1]
            for name in re.findall(r"&study_(\w+)", listed)]


def kinds_in_help():
    text = command(ROCELAB, "--help").stdout
    listed = {kind: re.findall(r"^  (\S+)", block, re.M) for kind, block in re.findall(r"^Kinds of rocelab (\w+):\n((?:  .*\n)+)", text, re.M)}
    evals, benches = family_names() + study_names(), rows("bench/main.c", "benchmarks")
    check(len(evals) >= 16 and len(benches) >= 7, "the tables have rows", (evals, benches))
    check(listed == {"eval": evals, "bench": benches}, "rocelab --help lists every kind of eval and bench", listed)
    text = command(ROCELAB, "eval", "--help").stdout
    check([kind for kind in evals if not re.search(rf"^  {kind} ", text, re.M)] == [], "so does rocelab eval --help", text)
    text = command(ROCELAB, "bench", "--help").stdout
    check([kind for kind in benches if not re.search(rf"^{kind}: ", text, re.M)] == [], "and rocelab bench --help", text)


def long_names():
    """eval's policies may have names of 95 characters: its table cuts none."""
    policies = ("vedrfolnir+detections=1+exporter.budget=1KB",
                "vedrfolnir+detections=1+exporter.budget=1KB+limits.virtual_time=000000000000000000000000001000s")
    for policy in policies:
        done = command(ROCELAB, "eval", "incast", "--cases", 1, "--scale", "0.02", "--policy", policy, "--out", scratch(), expect=None)
        row = next(line for line in done.stdout.splitlines() if line.startswith("incast "))
        check(row.split()[1] == policy, f"eval's table has a name of {len(policy)} characters whole", reported(done))


def own_names():
    """Errors begin with the name of the program that the user called, and of rocelab's perhaps with its command."""
    missing, bad = "/nonexistent.cfg", scenario_file("sed = 1;")
    garbage = scratch()
    (garbage / "records.bin").write_bytes(b"garbage" * 100)
    rocelabs = [("run", missing), ("run", bad), ("run", small(), "--lcores", "2x"), ("run", small(), "--nonsense"), ("diagnose", missing),
                ("diagnose", garbage), ("topo", "check", bad), ("explain", bad, "--flow", "a,b,1,2"), ("trace", bad), ("blame", bad),
                ("eval", "nonsense"), ("eval", "odd", "--seeds", "x"), ("bench", "nonsense"), ("doctor", "nonsense"),
                ("import", "msccl", missing, "--bytes", 4), ("reference", "x"), ("nonsense",)]
    table = [(ROCELAB, words) for words in rocelabs]
    table += [(DPSWITCH, (missing,)), (DPSWITCH, (bad,)), (DPSWITCH, (small(), "--lcores", "2x")), (ANALYZER, ("--nonsense",)),
              (ANALYZER, ("--read", garbage / "records.bin", "--out", scratch())), (BUILD / "rxe-hosts/rxe-host", ("--nonsense",)),
              (BUILD / "rxe-hosts/pingmesh-controller", ("--nonsense",)), (BUILD / "dpswitch/dpswitch-forward", ("--nonsense",))]
    for program, words in table:
        out = ("--out", scratch()) if words[0] in ("run", "blame") or program == DPSWITCH else ()
        done = command(program, *words, *out, expect=2)
        line = done.stderr.splitlines()[0]
        name = program.name + (rf"( {words[0]}( \w+)?)?" if program == ROCELAB else "")
        check(re.match(rf"{name}: ", line), f"{program.name} {words[0]}: the error is in its own name", line)


def options_of_diagnosers():
    """Each reaches its diagnoser, which refuses a value that is none of its own."""
    for option in ("port-share", "degradation", "pingmesh-algorithm"):
        done = command(ANALYZER, "--read", "/nonexistent", "--out", scratch(), f"--{option}=nonsense", expect=2)
        check(f"--{option}=nonsense: " in done.stderr, f"the analyzer's --{option}", done.stderr)


def progress_in_a_log():
    """Without a terminal: nothing within the first minute, then a line a minute."""
    seconds = 130 if long_run("a progress line a minute, for 130 s") else 3
    scenario = scenario_file('topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1; rate = "1Gbps"; delay = "20us"; };\n'
                             'collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "1MB"; } );\n'
                             'timing = { clock = "real"; idle = "sleep"; };\n')
    began = time.monotonic()
    done = subprocess.run([str(word) for word in (DPSWITCH, scenario, "--out", scratch(), *sets(limits__hold=f"{seconds}s",
                                                                                               limits__virtual_time="600s"))],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + STALL_LIMIT_S)
    took_s = time.monotonic() - began
    lines = [line for line in done.stderr.splitlines() if "running" in line]
    check(done.returncode == 0, f"a run of {seconds} s", done.stderr)
    check("\x1b" not in done.stderr and "\r" not in done.stderr, "a log has no control characters", done.stderr)
    check(seconds // 60 <= len(lines) <= took_s // 60, "a line a minute", lines)
    check(all(line.startswith("dpswitch: ") and "s  " in line for line in lines), "each says how far it is", lines)


kinds_in_help()
options_of_diagnosers()
long_names()
own_names()
progress_in_a_log()
