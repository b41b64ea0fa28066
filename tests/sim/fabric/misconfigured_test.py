#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of RNICs and hosts, and switches that are configured wrongly, beside a collective: drops by name or silent, whole data, the
truth, and what the verdict makes of what the collective felt."""
from cases import CLEAN_NS, fault, small
from harness import check, rocelab

PASSING = {"start": "50us", "duration": "100us"}


def drops(run, name, reason):
    others = {key: count for key, count in run.run["drops"].items() if count and key != reason}
    check(not others and (reason is None or run.run["drops"][reason] > 0), f"{name}: dropped as {reason} and nothing else",
          run.run["drops"])


def passes(name, reason, observed, extra="", **keys):
    run = rocelab(small(fault(name, **keys), extra=extra))
    check(run.run["end_reason"] == "complete" and run.wrong() == ["0"], f"{name}: completes, every element is right", run.run)
    check(run.truth["faults"][0]["kind"] == name and run.truth["faults"][0]["acted"], f"{name}: truth.json reports it", run.truth["faults"])
    drops(run, name, reason)
    if observed:
        check(run.findings(observed), f"{name}: the verdict says {observed}", run.findings())
    return run


for kind in ("rnic-down", "rnic-no-gid"):
    passes(kind, "injected", "blackhole", port="a2:1", **PASSING)
passes("rnic-no-routes", "no_route", "blackhole", port="a2:1", **PASSING)
passes("host-down", "injected", None, host="a2", **PASSING)
passes("missing-route", "no_route", "blackhole", switch="A", dst="a1", **PASSING)
passes("acl", "injected", "blackhole", switch="A", dst="a1", **PASSING)
passes("ecmp-imbalance", None, None, port="A:1")

slow = passes("pcie-downgrade", None, "host-limited", port="b1:1", generation=1, lanes=4)
check(slow.findings("host-limited")[0]["root"] == "b1:1", "pcie-downgrade: that NIC is below its line rate", slow.findings())
check(not slow.findings("pfc-storm"), "pcie-downgrade: its pauses are no second cause", slow.findings())
check(slow.run["virtual_ns"] > 2 * CLEAN_NS, "pcie-downgrade: costs time", slow.run["virtual_ns"])

INCAST = """flows = ( { src = "a1"; dst = "b1"; sport = 20001; bytes = 2000000; }, { src = "b2"; dst = "b1"; sport = 20002; bytes = 2000000; } );
host = { profile = "ns3"; cc = "none"; };
switch = { profile = "ns3"; };
"""
for keys in ({}, {"pfc": False}):
    run = passes("pfc-headroom", "no_buffer", "packet-loss", extra=INCAST, port="B:4", **keys)
    check({f["root"] for f in run.findings("packet-loss")} == {"B:4"}, "pfc-headroom: at its port", run.findings("packet-loss"))
