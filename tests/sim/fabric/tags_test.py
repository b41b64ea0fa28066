#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data of measured collectives has tags: sentinel and iteration, in the DSCP of every packet, first sent or again."""
import collections

from cases import TOPOLOGY, fault, ring, small
from harness import ROCELAB, check, command, rocelab, scenario_file, scratch, sets
from pcapng import Capture, is_roce

ITERATIONS = 18  # more than a tag distinguishes
OFF = sets(detection__policy="off")
WITNESS = 'flows = ( { src = "b2"; dst = "a2"; sport = 10007; bytes = 100000; } );\n'
LOSSLESS = 'switch = { pfc = { priorities = [ "3", "5" ]; }; };\nhost = { measured_prio = 5; };\n'


def measured(**more):
    return ring(step_bytes=20_000, iterations=ITERATIONS, measured=True, **more)


def dscp(frame):
    return frame.bytes[15] >> 2


def psn(frame):
    return int.from_bytes(frame.bytes[51:54], "big")


def data(frames, sport):
    return [f for f in frames if is_roce(f.bytes) and f.bytes[42] <= 11 and f.bytes[34:36] == sport.to_bytes(2, "big")]


def iterations():
    run = rocelab(small(collective=measured(), extra=WITNESS), *OFF, "--capture", "b2:1")
    frames = Capture(run.dir / "capture.pcapng").of("b2:1", True)
    seen = collections.Counter(dscp(f) for f in data(frames, 10003))
    wanted = collections.Counter(iteration % 16 * 4 + 3 for iteration in range(ITERATIONS))
    check(seen == {value: 3 * 20 * times for value, times in wanted.items()},
          f"{ITERATIONS} iterations of 3 steps of 20 packets, by their tags", seen)
    order = [dscp(f) // 4 for f in data(frames, 10003)]
    check(all((b - a) % 16 <= 1 for a, b in zip(order, order[1:])), "one iteration after another")
    others = {dscp(f) for f in frames if is_roce(f.bytes)} - set(seen)
    check({dscp(f) for f in data(frames, 10007)} == {24} and others == {0, 24}, "nothing else is tagged", others)
    plain = rocelab(small(collective=ring(step_bytes=20_000, iterations=ITERATIONS), extra=WITNESS), *OFF)
    check((plain.dir / "steps.csv").read_bytes() == (run.dir / "steps.csv").read_bytes(), "in the same class nothing else changes")


def sent_again():
    run = rocelab(small(fault("loss", port="A:3", rate=0.02), collective=measured()), *OFF, "--capture", "b2:1")
    tags = collections.defaultdict(list)
    for frame in data(Capture(run.dir / "capture.pcapng").of("b2:1", True), 10003):
        tags[psn(frame)].append(dscp(frame))
    again = [values for values in tags.values() if len(values) > 1]
    check(len(again) > 20 and all(len(set(values)) == 1 for values in again),
          f"{len(again)} packets were sent again, with their own tags", [v for v in again if len(set(v)) > 1][:3])
    check(all(values[0] == number // 60 % 16 * 4 + 3 for number, values in
              ((number - min(tags), values) for number, values in tags.items())), "each that of its message")


def a_class_of_its_own():
    run = rocelab(small(collective=measured(), extra=LOSSLESS + WITNESS), *OFF)
    check(run.run["end_reason"] == "complete", "measured data in a class of its own", run.run["end_reason"])


SHARED = """topology = { kind = "explicit"; rate = "100Gbps"; delay = "1us"; switches = [ "A", "B" ];
  hosts = [ "a1", "a2", "b1", "b2" ]; links = ( "A B", "a1 A", "a2 A", "b1 B", "b2 B" ); };
host = { measured_prio = 5; cc = "none"; };
switch = { strict = [ "5" ]; pfc = { priorities = [ "3", "5" ]; }; };
collectives = ( { name = "measured"; ranks = [ "a1", "b1" ]; bytes = 8000000; measured = true; },
  { name = "other"; ranks = [ "a2", "b2" ]; bytes = 8000000; } );
"""


def ahead_of_the_rest():
    """Two collectives share a cable: the strict class has it as if it were alone, and the verdict says whom that cost."""
    def times(run):
        return {c["name"]: (c["end_ns"] - c["start_ns"]) / c["expect_ns"] for c in run.verdict["collectives"]}
    run = rocelab(scenario_file(SHARED))
    check(times(run)["measured"] < 1.01 and times(run)["other"] > 1.5, "a strict class has the cable for itself", times(run))
    first = run.verdict["findings"][0]
    check((first["type"], first["root"], first["flows"]) == ("strict-priority", "A:1", ["a1->b1/49152>4791"]),
          "the verdict names it to whom it overtakes", first)
    measured_steps = [f for f in run.findings("strict-priority") if any(i["collective"] == 0 for i in f["iterations"])]
    check(not measured_steps, "and blames nobody for it in the strict class", measured_steps)
    two = rocelab(scenario_file(SHARED), "--lcores", "2")
    check(two.run["digest"] == run.run["digest"], "the same on two lcores")
    shared = rocelab(scenario_file(SHARED), *sets(**{"switch.strict": "[]"}))
    check(min(times(shared).values()) > 1.5, "without, classes share", times(shared))


def refused():
    two = "\n".join(f'  {{ ranks = [ "{a}", "{b}" ]; bytes = 4000; measured = true; }},' for a, b in (("a1", "b1"), ("a2", "b2")))
    pair = 'collectives = ( { bytes = 4000; measured = true; measured_pairs = [ "0 2" ]; } );\n'
    guest = 'collectives = ( { bytes = 4000; measured = true; payload = "real"; } );\nhosts = ( { names = [ "a1" ]; kind = "port"; port = "vhost:/tmp/tags.sock"; } );\n'
    for text, message in ((f"collectives = (\n{two[:-1]} );\n", "receives measured data of the jobs"),
                          (pair, "rank 0 sends nothing to rank 2"),
                          (guest, "is external, and its program sets no tags"),
                          (measured() + 'switch = { strict = [ "0" ]; };\n', "switch.strict: \"0\" is no data class"),
                          (measured() + LOSSLESS.replace(', "5"', ""), "measured_prio: class 5 has no PFC")):
        done = command(ROCELAB, "run", scenario_file(TOPOLOGY.replace("1us", "30us") + text), "--out", scratch() / "run", expect=2)
        check("test.cfg:" in done.stderr and message in done.stderr, f"refused: {message}", done.stderr)


iterations()
sent_again()
a_class_of_its_own()
ahead_of_the_rest()
refused()
