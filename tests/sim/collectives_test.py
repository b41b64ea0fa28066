#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every operation by every algorithm that has it, with real data, over three iterations: no element is wrong, and one lcore
and two come to the same digest."""
import itertools
import re

from harness import ROCELAB, SANITIZED, SOURCE, Run, check, command, cpus, fail, scenario_file, scratch

TABLES = (SOURCE / "common" / "wire" / "collective.h").read_text()
# Eight hosts below four leaves, two spines.
TEXT = """topology = {{ kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; }};
collectives = ( {{ op = "{op}"; algorithm = "{algorithm}"; bytes = {bytes}; type = "{type}"; payload = "real";
  iterations = 3;{more} }} );
"""
# What an operation has to be told beside its length.
MORE = {}


def names(table):
    """The names in the rows of an enumeration."""
    rows = re.search(rf"#define {table}\(ROW\)((?:.*\\\n)*.*)", TABLES).group(1)
    return re.findall(r'ROW\(\w+, \d+, "([^"]+)"', rows)


def run(op, algorithm, size, kind, *args):
    text = TEXT.format(op=op, algorithm=algorithm, bytes=size, type=kind, more=MORE.get(op, ""))
    out = scratch()
    return Run(out, command(ROCELAB, "run", scenario_file(text), "--out", out, *args, expect=None))


# A schedule from a file has neither.
ops, algorithms = set(names("COLL_OPS")) - {"custom"}, set(names("COLL_ALGORITHMS")) - {"file"}
served = set()
for op, algorithm in itertools.product(sorted(ops), sorted(algorithms)):
    name = f"{op} by {algorithm}"
    # A length that blocks divide, and one that they do not.
    for size, kind in ((65536, "int32"), (40012, "float32")):
        done = run(op, algorithm, size, kind)
        if done.code == 2:
            message = (done.stdout + done.stderr).lower()
            check(f'there is no {op} by algorithm "{algorithm}"' in message, f"{name}: there is none", message)
            break
        if done.code != 0:
            fail(f"{name}: exit code {done.code}\n{done.stdout}\n{done.stderr}")
        served.add((op, algorithm))
        check(done.wrong() == ["0"] * 3, f"{name}: {size} B of {kind}: no element is wrong", done.stdout)
        if kind == "int32" and cpus() >= 2 and not SANITIZED:
            two = run(op, algorithm, size, kind, "--lcores", "2")
            check(two.run["digest"] == done.run["digest"], f"{name}: two lcores come to the same", two.run["digest"])
check({op for op, _ in served} == ops, "every operation has an algorithm", served)
check({algorithm for _, algorithm in served} == algorithms, "every algorithm has an operation", served)
