#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every operation by every algorithm that has it, with real data, over three iterations: no element is wrong, and one lcore
and two come to the same digest."""
import itertools
import sqlite3

from harness import ROCELAB, SANITIZED, Run, check, command, cpus, scenario_file, scratch
from pairs import PAIRS, more, names

# Eight hosts below four leaves, two spines.
TEXT = """topology = {{ kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; }};
collectives = ( {{ op = "{op}"; algorithm = "{algorithm}"; bytes = {bytes}; type = "{type}"; payload = "real";
  iterations = {iterations};{more} }} );
"""

def run(op, algorithm, size, kind, *args, channels=1, iterations=3, also=None):
    also = more(op, algorithm) if also is None else also
    text = TEXT.format(op=op, algorithm=algorithm, bytes=size, type=kind, iterations=iterations,
                       more=f" channels = {channels};{also}")
    out = scratch()
    return Run(out, command(ROCELAB, "run", scenario_file(text), "--out", out, *args, expect=None))


def right(done, name, iterations=3):
    check(done.code == 0 and done.wrong() == ["0"] * iterations, f"{name}: no element is wrong", done.stdout + done.stderr)


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

# What a rank copies to itself takes no time, at 0 neither. The other steps end when their last ACK is there.
done = run("alltoallv", "pairwise", 65536, "int32")
own = [step for step in done.steps() if step["src"] == step["dst"]]
check(any(step["start_ns"] == "0" for step in own) and {step["duration_ns"] for step in own} == {"0"},
      "a rank's own part takes no time", own)
ended = sqlite3.connect(done.dir / "run.sqlite").execute("SELECT count(end_ns) = count(*) FROM steps").fetchone()
check(ended == (1,), "in the store, too, all steps have ended", ended)

# Few ranks, odd ones, and as few elements as will do, in blocks that are not alike.
few = (("allreduce", "ring"), ("alltoall", "linear"), ("reduce", "binomial-tree"), ("allgather", "binomial-tree"),
       ("broadcast", "double-binary-tree"))
for ranks, (op, algorithm) in itertools.product((2, 3, 5, 7), few):
    for elements in (ranks, 2 * ranks + 1):
        done = run(op, algorithm, 4 * elements, "int32", also=f' ranks = [ "h[0-{ranks - 1}]" ];')
        right(done, f"{op} by {algorithm}: {elements} elements over {ranks} ranks")
right(run("broadcast", "ring", 40, "float32", also=" chunks = 4096;"), "more chunks than elements")
right(run("allreduce", "ring", 40012, "int32", channels=16), "16 channels")
done = run("broadcast", "ring", 400, "int32", iterations=1100, also=' ranks = [ "h[0-2]" ];')
right(done, "more iterations than an immediate counts", 1100)

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

# Two jobs on the same hosts, whose collectives overlap within a job as well.
done = Run(out := scratch(), command(ROCELAB, "run", scenario_file("""topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 3; };
jobs = (
  { name = "a"; ranks = [ "h[0-2]" ]; iterations = 5; collectives = ( { op = "allreduce"; bytes = 40000; payload = "real"; },
      { op = "broadcast"; algorithm = "ring"; bytes = 400; payload = "real"; after = []; } ); },
  { name = "b"; ranks = [ "h2", "h0", "h5" ]; iterations = 7; start = "3us";
    collectives = ( { op = "alltoall"; algorithm = "linear"; bytes = 40000; payload = "real"; } ); }
);
"""), "--out", out, expect=None))
check(done.code == 0 and done.wrong() == ["0"] * (2 * 5 + 7), "two jobs share hosts", done.stdout + done.stderr)
