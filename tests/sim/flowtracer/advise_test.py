#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab trace --advise: static paths and source ports are even, apply as they are written, and regain time; bad ones are
refused."""
import pathlib
import re

from harness import ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, scratch

SCENARIO = SCENARIOS / "flowtracer.cfg"
RACKS = 'topology = { kind = "dual-tor"; hosts = 4; hosts_per_rack = 2; spines = 2; };\n'
PAIR = 'collectives = ( { op = "sendrecv"; algorithm = "linear"; pairs = [ "0 2" ]; channels = 2; bytes = 100000; } );\n'


def advised(by, out):
    reported = command(ROCELAB, "trace", "--advise", SCENARIO, "--by", by, "--out", out).stdout
    before, after = re.search(r"all links +256 +4.00 +(\S+) +(\S+)", reported).groups()
    took, takes = re.search(r"took (\S+) us, and take (\S+) us", reported).groups()
    return float(before), float(after), float(took), float(takes), reported


def helps(by, most_percent):
    out = scratch()
    before, after, took, takes, reported = advised(by, out)
    check(before > 25 and after <= most_percent, f"{by}: even", (before, after))
    check(takes < 0.6 * took, f"{by}: faster", (took, takes))
    case = re.search(r"rocelab run (\S+) --seed (\d+)", reported)
    run = rocelab(case.group(1), "--seed", case.group(2), "--set", 'detection.policy="off"')
    last = max(int(row["start_ns"]) + int(row["duration_ns"]) for row in run.steps())
    check(abs(last / 1e3 - takes) < 0.1, f"{by}: what it writes takes the time that it says", (last, takes))
    check(advised(by, out)[4] == reported, f"{by}: the same again")


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


DOWN = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
jobs = ( { name = "p"; collectives = ( { op = "allreduce"; algorithm = "ring"; stride = 3; bytes = "16MB"; channels = 4; } ); } );
routing = { convergence = "50us"; };
faults = ( { kind = "link-down"; port = "l0:3"; start = "%s"; }, { kind = "link-down"; port = "l2:5"; start = "%s"; enabled = %s; } );
"""


def knows_faults():
    """No flow is placed on a cable that is taken down at some time, and what is printed never makes jobs longer."""
    for start, other, enabled in (("0s", "100us", "true"), ("300us", "300us", "true"), ("40us", "0s", "false")):
        reported = command(ROCELAB, "trace", "--advise", scenario_file(DOWN % (start, other, enabled)), "--out", scratch()).stdout
        left = 2 if enabled == "true" else 1
        check(f"Cables that faults take down: {left};" in reported, "cables that faults take down are counted", reported)
        links = int(re.search(r"leaf to spine +(\d+)", reported).group(1))
        check(links == 16 - left, "and are not available", reported)
        found = re.search(r"took (\S+) us, and take (\S+) us: (\S+) us \((\S+) %\) regained\nrocelab run (\S+)", reported)
        if found is None:
            check("Nothing better found: all jobs took" in reported and "rocelab run" not in reported, "nothing better is no advice", reported)
            continue
        took, takes, regained, percent = (float(found.group(i)) for i in range(1, 5))
        check(takes < took and abs(took - takes - regained) < 0.11 and abs(100 * regained / took - percent) < 0.06, "advice helps", reported)
        text = pathlib.Path(found.group(5)).read_text()
        check('"l0:3"' not in text and '"s0:1"' not in text, "by no such cable", text)


def nothing_better():
    """Flows that lie as evenly as they can; and flows that are even and no faster for it."""
    reported = command(ROCELAB, "trace", "--advise", scenario_file(
        'topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 1; rate = "100Gbps"; };\n'
        'flows = ( { src = "h0"; dst = "h1"; sport = 1; bytes = "1MB"; } );\n'), "--out", scratch()).stdout
    check(re.search(r"^Nothing better found: all jobs took [\d.]+ us$", reported, re.M) and "rocelab run" not in reported, "one flow", reported)
    # Both flows of each pair fit the 100 Gbps of their hosts, wherever they go: 10 Gbps hosts below 100 Gbps uplinks.
    links = ", ".join([f'{{ a = "{h}"; b = "{s}"; rate = "10Gbps"; }}' for h, s in ("al", "bl", "cm", "dm")] +
                      [f'{{ a = "{a}"; b = "{b}"; rate = "100Gbps"; }}' for a in "lm" for b in "st"])
    reported = command(ROCELAB, "trace", "--advise", scenario_file(
        'topology = { kind = "explicit"; hosts = [ "a", "b", "c", "d" ]; switches = [ "l", "m", "s", "t" ];\n links = ( ' + links + " ); };\n"
        'jobs = ( { name = "p"; ranks = [ "a", "b", "c", "d" ]; collectives = ( { op = "sendrecv"; algorithm = "linear"; bytes = "1MB"; channels = 5;\n'
        ' pairs = [ "0 2", "1 3" ]; } ); } );\n'), "--out", scratch()).stdout
    took = re.search(r"[aA]ll jobs took (\S+) us", reported).group(1).rstrip(",")
    gain = re.search(r"\((\S+) %\) regained", reported)
    check(gain is None or float(gain.group(1)) >= 0, "never worse", reported)
    check(gain is not None or "Nothing better found" in reported, "and said so", (took, reported))


helps("paths", 0)
helps("source-ports", 3)
refused()
wrong_words()
knows_faults()
nothing_better()
