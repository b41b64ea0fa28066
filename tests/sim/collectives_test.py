#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every operation by every algorithm that has it, with real data, over three iterations: no element is wrong, and one lcore
and two come to the same digest."""
import itertools

from harness import ROCELAB, SANITIZED, Run, check, command, cpus, scenario_file, scratch
from pairs import PAIRS, more, names

# Eight hosts below four leaves, two spines.
TEXT = """topology = {{ kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; }};
collectives = ( {{ op = "{op}"; algorithm = "{algorithm}"; bytes = {bytes}; type = "{type}"; payload = "real";
  iterations = 3;{more} }} );
"""

def run(op, algorithm, size, kind, *args, channels=1):
    text = TEXT.format(op=op, algorithm=algorithm, bytes=size, type=kind, more=f" channels = {channels};" + more(op, algorithm))
    out = scratch()
    return Run(out, command(ROCELAB, "run", scenario_file(text), "--out", out, *args, expect=None))


def right(done, name):
    check(done.code == 0 and done.wrong() == ["0"] * 3, f"{name}: no element is wrong", done.stdout + done.stderr)


# A schedule from a file has neither, and generated flows have none.
ops, algorithms = set(names("COLL_OPS")) - {"custom", "flows"}, set(names("COLL_ALGORITHMS")) - {"file"}
served = set()
for op, algorithm in itertools.product(sorted(ops), sorted(algorithms)):
    name = f"{op} by {algorithm}"
    done = run(op, algorithm, 65536, "int32")
    if done.code == 2:
        check(f'there is no {op} by algorithm "{algorithm}"' in done.stderr, f"{name}: there is none", done.stderr)
        continue
    served.add((op, algorithm))
    right(done, f"{name}: 64 KiB of int32")
    if cpus() >= 2 and not SANITIZED:
        two = run(op, algorithm, 65536, "int32", "--lcores", "2")
        check(two.run["digest"] == done.run["digest"], f"{name}: two lcores come to the same", two.run["digest"])
    # Blocks that differ by an element, where the algorithm can.
    done = run(op, algorithm, 40012, "float32")
    if "no multiple of" in done.stderr:
        done = run(op, algorithm, 40032, "float32")
    right(done, f"{name}: 40 kB of float32")
    right(run(op, algorithm, 65536, "int32", channels=3), f"{name}: by three channels")
check(served == {(op, algorithm) for op, by in PAIRS.items() for algorithm in by}, "pairs.py has them all", served)
check({op for op, _ in served} == ops, "every operation has an algorithm", served)
check({algorithm for _, algorithm in served} == algorithms, "every algorithm has an operation", served)

# The first of a chain of four would run away from the last, were there no barrier between iterations.
goal = scenario_file("num_ranks 4\n" + "".join(
    f"rank {r} {{\n" + (f"l1: recv 9000b from {r - 1} tag 0\n" if r > 0 else "") +
    (f"l2: send 9000b to {r + 1} tag 0\n" if r < 3 else "") + ("l2 requires l1\n" if 0 < r < 3 else "") + "}\n"
    for r in range(4)), "chain.goal")
out = scratch()
done = Run(out, command(ROCELAB, "run", scenario_file(f"""topology = {{ kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 2; }};
collectives = ( {{ schedule = {{ kind = "goal"; file = "{goal}"; }}; iterations = 9; }} );
"""), "--out", out, expect=None))
check(done.code == 0 and done.run["end_reason"] == "complete", "a chain from a file is iterated", done.stdout + done.stderr)
check(len(done.steps()) == 9 * (3 + 4 * 2), "with a barrier of two rounds", len(done.steps()))
