#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Embedded hosts and kernel rxe talk to each other: our RoCEv2 and ICRC against the kernel's, in both directions, verified."""
from guests import find_kernel
from harness import STALL_LIMIT_S, SANITIZED, check, rocelab, scenario_file, skip

SCENARIO = """
topology = { kind = "explicit"; hosts = [ "h0", "h1", "h2", "h3" ]; switches = [ "a", "b" ]; rate = "40Mbps";
  delay = "50us"; links = ( "h0 a", "h1 a", "h2 b", "h3 b", "a b" ); };
hosts = ( { names = [ %s ]; kind = "guest"; } );
host = { mtu = 1024; timeout = "1s"; window = "64KB"; cc = "none"; };
detection = { policy = "off"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "400KB"; payload = "real"; iterations = 2; } );
limits = { virtual_time = "60s"; stall = "20s"; };
%s
"""
# The trunk carries h1->h2 from a, h3->h0 from b, and the answers of both the other way.
WRONG = 8  # column of the elements that are not what they should be
LOSSY = """faults = ( { kind = "%s"; port = "a:3"; rate = 0.02; }, { kind = "%s"; port = "b:3"; rate = 0.02; } );"""


def run(name, kernel_hosts, fault):
    text = SCENARIO % (", ".join(f'"{h}"' for h in kernel_hosts), LOSSY % (fault, fault) if fault else "")
    done = rocelab(scenario_file(text, "interop.cfg"), timeout=STALL_LIMIT_S)
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[2:4] == ["int32", "sum"]]
    check(done.run["end_reason"] == "complete", f"{name}: complete", done.stderr)
    check(len(rows) == 2 and all(row[WRONG] == "0" for row in rows), f"{name}: no wrong element", done.stdout)
    check(all(i["holds"] for i in done.run["invariants"]), f"{name}: invariants hold", done.run["invariants"])
    drops = done.run["drops"]
    check(drops["no_buffer"] == 0 and drops["queue_full"] == 0, f"{name}: nothing lost for want of room", drops)
    for host in done.run["hosts"]:
        check(host["nic"]["undeliverable"] == 0, f"{name}: every frame for {host['host']} could be made", host)
        check(host["program"]["unexpected"] == 0 and not host["program"]["qp_error"], f"{name}: {host['host']}", host)
    return done


def main():
    if SANITIZED:
        skip("guests run the programs of the plain build; this one is sanitized")
    find_kernel()
    for ends in (("h0", "h2"), ("h1", "h3")):
        direction = "embedded to kernel over the trunk" if ends[0] == "h0" else "kernel to embedded over the trunk"
        clean = run(f"{direction}", ends, None)
        check(sum(clean.run["drops"].values()) == 0, f"{direction}: no drop at all", clean.run["drops"])
        lossy = run(f"{direction}, frames lost", ends, "loss")
        check(lossy.run["drops"]["injected"] > 0, f"{direction}: frames were lost", lossy.run["drops"])
        run(f"{direction}, ICRCs broken", ends, "corruption")


main()
