#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a run with external hosts must refuse, before any host boots: where, what, and what would be right."""
from guests import find_kernel
from harness import STALL_LIMIT_S, ROCELAB, check, command, scenario_file, scratch, reported
from rxe import SLOW_CLIENT, TOPOLOGY, TWO_LCORES, ring

NAMES = 'hosts = ( { kind = "guest"; } );'
COLLECTIVE = f"collectives = (\n  {ring()}\n);\n"
FLOW = 'flows = (\n  {{ src = "h0"; dst = "h2"; bytes = 1000; {} }} // here\n);\n'


def refused(name, text, *refusal, args=(), place=True):
    """@param place  the line with "// here" is to be named, with the file"""
    path = scenario_file(text, "bad.cfg")
    lines = [f"bad.cfg:{n}:" for n, line in enumerate(text.split("\n"), 1) if "// here" in line]
    out = scratch() / "run"
    done = command(ROCELAB, "run", path, "--out", out, *args, expect=2, timeout=STALL_LIMIT_S)
    message = reported(done)
    for word in (*(lines if place else ()), *refusal):
        check(word.lower() in message, f"{name}: \"{word}\"", message)
    check(not (out / "guests").exists() and not (out / "verdict.json").exists(), f"{name}: nothing was tried",
          sorted(p.name for p in out.rglob("*")))


def hosts():
    refused("no such host", TOPOLOGY.replace(NAMES, 'hosts = (\n  { kind = "guest"; names = [ "h7" ]; } // here\n);') + COLLECTIVE,
            "h7", "no host of this topology")
    refused("a host twice", TOPOLOGY.replace(NAMES, 'hosts = (\n  { kind = "guest"; names = [ "h0" ]; },\n'
                                                    '  { kind = "qemu"; names = [ "h0" ]; } // here\n);') + COLLECTIVE, "h0")
    refused("no such kind", TOPOLOGY.replace(NAMES, 'hosts = (\n  { kind = "vm"; } // here\n);') + COLLECTIVE, "vm", "guest", "qemu")
    refused("two NICs", TOPOLOGY.replace('"a b" );', '"a b", "h0 b" );').replace(
        NAMES, 'hosts = (\n  { kind = "guest"; } // here\n);') + COLLECTIVE, "h0 has 2 NICs", "one link")
    refused("a port without a name", TOPOLOGY.replace(NAMES, 'hosts = (\n  { kind = "port"; names = [ "h0" ]; } // here\n);')
            + COLLECTIVE, "net_af_packet", "vhost:")
    refused("a port for a guest", TOPOLOGY.replace(NAMES, 'hosts = (\n  { kind = "guest"; port = "net_tap0"; } // here\n);')
            + COLLECTIVE, "net_tap0", "kind = \"port\"")


def times():
    refused("too short a cable", TOPOLOGY.replace('"50us"', '"5us" // here\n') + COLLECTIVE, "20us", "longer delay", "h0:1")
    refused("virtual time", TOPOLOGY + COLLECTIVE + 'timing = {\n  clock = "virtual"; // here\n};\n', "real")


def traffic():
    refused("a source port", TOPOLOGY + FLOW.format("sport = 7;"), "sport", "7", "49152")
    refused("a destination port", TOPOLOGY + FLOW.format("sport = 50000; dport = 4792;"), "4792", "4791")
    refused("a collective's port", TOPOLOGY + COLLECTIVE.replace("); }", "); }").replace('payload = "real";', 'payload = "real"; '
            'sport = 100; // here\n'), "100", "49152")
    refused("a QP per step", TOPOLOGY + COLLECTIVE.replace('payload = "real";', 'payload = "real"; qp = "per-step"; // here\n'),
            "per-step", "embedded")
    refused("own frame sizes", TOPOLOGY.replace("host = { mtu = 4096; };", "host = {\n  mtu = 4096; data_overhead = 48; // here\n};")
            + COLLECTIVE, "48")
    refused("an MTU that is none", TOPOLOGY.replace("host = { mtu = 4096; };", "host = {\n  mtu = 1000; // here\n};") + COLLECTIVE,
            "1000", "1024")


def options():
    good = TOPOLOGY + SLOW_CLIENT + COLLECTIVE
    if TWO_LCORES:
        refused("two lcores for hosts of both kinds", good.replace(NAMES, 'hosts = ( { kind = "guest"; names = [ "h0" ]; } );'),
                "--lcores 2", "one lcore", args=TWO_LCORES, place=False)
    for name, args, refusal in (("no such port to capture", ["--capture", "z:1"], ["z:1", "no port"]),
                             ("a hold without a unit", ["--hold", "5"], ["limits.hold", "5", "us"]),
                             ("no such way to poll", ["--poll", "often"], ["timing.idle", "often", "sleep", "busy"])):
        path = scenario_file(good, "good.cfg")
        done = command(ROCELAB, "run", path, "--out", scratch() / "run", *args, expect=2, timeout=STALL_LIMIT_S)
        for word in refusal:
            check(word.lower() in reported(done), f"{name}: \"{word}\"", reported(done))


if __name__ == "__main__":
    hosts()
    times()
    traffic()
    find_kernel()  # else the run would begin with building one
    options()
