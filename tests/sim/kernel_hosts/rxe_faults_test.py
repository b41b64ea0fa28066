#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults on the traffic of external hosts: the kernel's soft-RoCE repairs what was lost or damaged, the data is right, and the
verdict says what it was. A queue pair of the kernel takes a second to notice what no NAK reports."""
from harness import INTERRUPTED, STALL_LIMIT_S, check
from rxe import HOSTS, TWO_LCORES, Live, invariants, need_guests, of_host, ring, scenario, settled, whole

# A loop whose buffers fill pauses its own links, and they wait for each other for ever: a PFC deadlock that stays when the
# loop is gone. Whether they fill depends on how busy this machine is; this threshold is beyond what 300 ms can bring.
ROOMY = 'switch = { buffer = "64MB"; pfc = { model = "static"; xoff = "8MiB"; }; };\n'


def run_with(name, reason, *faults, iterations=1, size="1MB", hold=None, extra=""):
    """@param reason  why packets are dropped. @return run, counters of the kernels when all is over (with hold)"""
    path = scenario(ring(size=size, iterations=iterations), faults=faults, extra=extra)
    live = Live(path, *TWO_LCORES, *(["--hold", hold] if hold else []))
    live.begun()
    kernels = settled(live, STALL_LIMIT_S) if hold else None
    if hold:
        live.interrupt()
    run = live.end(expect=INTERRUPTED if hold else 0, timeout=STALL_LIMIT_S)
    whole(run, name, iterations)
    invariants(run, name)
    drops = run.run["drops"]
    check(drops[reason] > 0 and not any(count for key, count in drops.items() if key != reason),
          f"{name}: {drops[reason]} packets dropped ({reason}), and none for another reason", drops)
    return run, kernels


def repaired(run, name):
    sent_again = {h: of_host(run, h)["program"]["naks"] + of_host(run, h)["program"]["timeouts"] for h in HOSTS}
    check(sum(sent_again.values()) > 0, f"{name}: packets were sent again", sent_again)


def lost():
    run, _ = run_with("loss", "injected", '{ kind = "loss"; port = "a:3"; rate = 0.02; }', size="4MB")
    repaired(run, "loss")
    found = run.findings("packet-loss")
    check(found, "loss: the verdict says packet-loss", run.findings())
    paths = {victim.split("/")[0] for f in found for victim in f["victims"]}
    check(paths <= {"h1->h2", "h3->h0"}, "loss: on flows that cross the trunk", found)


def damaged():
    """What a host's cable damaged, the kernel's rxe received and did not take."""
    run, kernels = run_with("corruption", "corrupt", '{ kind = "corruption"; port = "b:1"; rate = 0.02; }', size="4MB",
                            hold="600s")
    repaired(run, "corruption")
    corrupt = run.run["drops"]["corrupt"]
    for name in HOSTS:
        # UDP counts RoCEv2 frames before rxe looks at their ICRC; polling and notification packets are UDP too
        host, untaken = of_host(run, name), kernels[name]["udp_in"] - kernels[name]["rcvd_pkts"]
        if name != "h2":
            check(untaken <= 200, f"corruption: {name}, which gets nothing by that cable, takes all", untaken)
        check(host["program"]["qp_error"] == 0, f"corruption: {name}'s queue pairs live", host)
    untaken = kernels["h2"]["udp_in"] - kernels["h2"]["rcvd_pkts"]
    check(untaken >= corrupt, f"corruption: {corrupt} damaged, {untaken} not taken by rxe behind that port", kernels)
    check(run.findings("packet-loss"), "corruption: the verdict says packet-loss", run.findings())


def cut():
    fault = '{ kind = "link-down"; port = "a:3"; start = "200ms"; duration = "100ms"; }'
    run, _ = run_with("link-down", "link_down", fault, size="4MB")
    repaired(run, "link-down")
    check({f["root"] for f in run.findings("link-down")} <= {"a:3", "b:3"} and run.findings("link-down"),
          "link-down: the verdict names an end of the cable", run.findings())


def looped():
    """b sends what is for h2 back to a, for a while: it circles until its TTL is spent."""
    fault = '{ kind = "misroute"; dst = "h2"; port = "b:3"; start = "200ms"; duration = "300ms"; }'
    run, _ = run_with("misroute", "ttl", fault, size="4MB", extra=ROOMY)
    repaired(run, "misroute")
    check(run.findings("forwarding-loop"), "misroute: the verdict says forwarding-loop", run.findings())


if __name__ == "__main__":
    need_guests()
    lost()
    damaged()
    cut()
    looped()
