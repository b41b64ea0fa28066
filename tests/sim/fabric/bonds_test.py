#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts whose ports are one bond: data comes right whatever member it takes, members that go down hand their flows over,
and what takes a port for an address refuses them."""
import re

from cases import fault
from harness import ROCELAB, SOURCE, check, command, rocelab, scenario_file, sets

RACKS = """topology = { kind = "dual-tor"; hosts = 4; hosts_per_rack = 2; nics = 2; spines = 2; parallel = 2; };
"""
RING = 'collectives = ( { step_bytes = 1000000; payload = "real"; channels = 8; iterations = 2; } );\n'
KNOWN = sets(routing__convergence="50us")


def ring(*faults, extra=""):
    return scenario_file(RACKS + RING + extra + (f'faults = ( {", ".join(faults)} );\n' if faults else ""))


def whole(run, name):
    check(run.run["end_reason"] == "complete", f"{name}: completes", (run.run["end_reason"], run.run.get("error")))
    check(set(run.wrong()) == {"0"}, f"{name}: every element is right", run.wrong())


def every_member_is_used():
    run = rocelab(ring())
    whole(run, "bonds")
    names = {row["src"] for row in run.steps()}
    check(names == {"h0", "h1", "h2", "h3"}, "steps name hosts, not members", names)
    reported = [command(ROCELAB, "explain", ring(), "--flow", f"h0,h2,{49152 + i},4791").stdout for i in range(32)]
    members = {re.search(r"h0:(\d)", one).group(1) for one in reported}
    check(members == {"1", "2", "3", "4"}, "a host's flows leave by all members", members)
    last = {re.findall(r"^  (l\d:\d+) +-> h2", one, re.M)[0] for one in reported}
    check(len(last) == 4, "and come in by all of the other's", last)


def members_that_go_down():
    for port, name in ("h0:1", "a member at its host"), ("l1:1", "a member at its leaf"):
        run = rocelab(ring(fault("link-down", port=port, start="100us")), *KNOWN)
        whole(run, name)
        check(run.run["reroutes"] == 1, f"{name}: routes learn of it", run.run["reroutes"])
    leaf = [fault("link-down", port=port, start="100us") for port in ("h2:1", "h2:3")]
    run = rocelab(ring(*leaf), *KNOWN)
    whole(run, "all members at one leaf")
    check(run.run["drops"]["no_route"] == 0, "all members at one leaf: the other leaf is a way", run.run["drops"])
    run = rocelab(ring(fault("link-down", port="h0:2", start="60us", duration="100us")), *KNOWN)
    whole(run, "a member that comes back")
    check(run.run["reroutes"] == 2, "a member that comes back: routes learn of both", run.run["reroutes"])
    every = [fault("link-down", port=f"h1:{i}", start="100us") for i in (1, 2, 3, 4)]
    run = rocelab(ring(*every), *KNOWN, *sets(host__retry_count=2, host__timeout="200us"))
    check(run.run["end_reason"] == "qp_error", "no member is left: retries are spent", run.run["end_reason"])


def kinds_of_transport():
    for words in {"host.transport": "selective"}, {"load_balancing.kind": "random", "host.transport": "selective"}, \
            {"host.cc": "hpcc"}, {"host.cc": "dcqcn"}:
        run = rocelab(ring(fault("link-down", port="h0:1", start="100us")), *KNOWN,
                      *[word for key, value in words.items() for word in ("--set", f'{key}="{value}"')])
        check(run.run["end_reason"] == "complete" and set(run.wrong()) == {"0"}, f"{words}", run.run["end_reason"])


def refused():
    for extra, words in (("pingmesh = { enabled = true; };\n", "probes are sent from NIC to NIC"),
                         ("flowpulse = { enabled = true; };\n", "leave flowpulse out, or the bonds"),
                         ('hosts = ( { names = [ "h0" ]; kind = "guest"; } );\n', "hosts of this topology have bonds"),
                         ('faults = ( { kind = "link-down"; port = "h0:2"; known = true; } );\n', "is a member of a bond"),
                         ('faults = ( { kind = "acl"; switch = "l0"; src = "h0:2"; } );\n', "\"h0\" would be right"),
                         ('flows = ( { src = "h0:2"; dst = "h1"; sport = 1000; bytes = 1000; } );\n',
                          "member of a bond, which has one address; \"h0\" would be right"),
                         ("paths = ( " + ", ".join(f'{{ src = "h0"; dst = "h1"; sport = 49152; data = [ "{port}" ]; }}'
                                                   for port in ("l0:3", "l1:3")) + " );\n", "sender's own port may stand")):
        done = command(ROCELAB, "topo", "check", ring(extra=extra), expect=None)
        check(done.returncode == 2 and words in done.stderr, words, done.stderr)


every_member_is_used()
members_that_go_down()
kinds_of_transport()
refused()
run = rocelab(f"{SOURCE}/topo/scenarios/flowtracer.cfg")
check(run.run["end_reason"] == "complete" and len(run.steps()) == 256, "the paper's testbed", run.run["end_reason"])
