#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab trace --advise: static paths and source ports are even, apply as they are written, and regain time; bad ones are
refused."""
import re

from harness import ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, scratch

SCENARIO = SCENARIOS / "flowtracer.cfg"
RACKS = 'topology = { kind = "dual-tor"; hosts = 4; hosts_per_rack = 2; spines = 2; };\n'
PAIR = 'collectives = ( { op = "sendrecv"; algorithm = "linear"; pairs = [ "0 2" ]; channels = 2; bytes = 100000; } );\n'


def advised(by, out):
    told = command(ROCELAB, "trace", "--advise", SCENARIO, "--by", by, "--out", out).stdout
    before, after = re.search(r"all links +256 +4.00 +(\S+) +(\S+)", told).groups()
    took, takes = re.search(r"took (\S+) us, and take (\S+) us", told).groups()
    return float(before), float(after), float(took), float(takes), told


def helps(by, most_percent):
    out = scratch()
    before, after, took, takes, told = advised(by, out)
    check(before > 25 and after <= most_percent, f"{by}: even", (before, after))
    check(takes < 0.6 * took, f"{by}: faster", (took, takes))
    case = re.search(r"rocelab run (\S+) --seed (\d+)", told)
    run = rocelab(case.group(1), "--seed", case.group(2), "--set", 'detection.policy="off"')
    last = max(int(row["start_ns"]) + int(row["duration_ns"]) for row in run.steps())
    check(abs(last / 1e3 - takes) < 0.1, f"{by}: what it writes takes the time that it says", (last, takes))
    check(advised(by, out)[4] == told, f"{by}: the same again")


def refused():
    for moves, words in (
            ('{ src = "h0"; dst = "h2"; sport = 1; to = 2; }', "no flow h0->h2/1>4791"),
            ('{ src = "h0"; dst = "h2"; sport = 49152; to = 49153; }', "has port 49153; a free one"),
            ('{ src = "h0"; dst = "h2"; sport = 49152; to = 7; }, { src = "h0"; dst = "h2"; sport = 49152; to = 8; }',
             "or it was moved before"),
            ('{ src = "h0"; dst = "h9"; sport = 49152; to = 7; }', '"h9" is neither a host'),
            ('{ src = "h0:2"; dst = "h2"; sport = 49152; to = 7; }', "member of a bond"),
            ('{ src = "h0"; dst = "h2"; sport = 49152; to = 0; }', "1 to 65535")):
        done = command(ROCELAB, "topo", "check", scenario_file(RACKS + PAIR + f"source_ports = ( {moves} );\n"), expect=None)
        check(done.returncode == 2 and words in done.stderr and ":3:" in done.stderr, words, done.stderr)
    swap = "".join(f'{{ src = "h0"; dst = "h2"; sport = {a}; to = {b}; }}{end}'
                   for a, b, end in ((49152, 49153, ", "), (49153, 49152, "")))
    run = rocelab(scenario_file(RACKS + PAIR + f"source_ports = ( {swap} );\n"))
    check({row["sport"] for row in run.steps()} == {"49152", "49153"}, "two can change places", run.steps())


def wrong_words():
    for args, words in ((("--by", "luck"), "paths or source-ports would be right"), (("--seed", "x"), "--seed"),
                        (("other.cfg",), "one scenario at a time")):
        done = command(ROCELAB, "trace", "--advise", SCENARIO, *args, expect=None)
        check(done.returncode == 2 and words in done.stderr, words, done.stderr)


helps("paths", 0)
helps("source-ports", 3)
refused()
wrong_words()
