#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults that operators know of: routes are without a dead cable from the first packet on, records report them, and of no
other."""
import struct

import records
from cases import CLEAN_NS, fault, small
from harness import ROCELAB, check, command, rocelab, scratch, sets

PODS = sets(routing__convergence="20us")


def known(run):
    """[(kind, port from 1 or None, rate, start_ns, duration_ns)] of the records."""
    found = []
    for record in records.read(run.dir / "records.bin"):
        if record.type == records.KNOWN_FAULT:
            kind, port, _, rate, _, start, duration, _ = struct.unpack("<32sHHIQQQQ", record.body)
            found.append((kind.rstrip(b"\0").decode(), None if port == 0xffff else port + 1, rate / 1e9, start // 1000,
                          duration // 1000))
    return found


def reported(run, kind):
    return [f for f in run.truth["faults"] if f["kind"] == kind]


def ports_of_routes(run):
    return {(r.node, struct.unpack_from("<HH", r.body, 16)[1]) for r in records.read(run.dir / "records.bin")
            if r.type == records.ROUTE}


def dead_cable():
    healthy = rocelab(small())
    run = rocelab(small(fault("link-down", port="A:1", known=True)))
    names = {name: node for node, name in records.node_names(records.read(run.dir / "records.bin")).items()}
    dead = {(names["A"], 0), (names["S"], 0)}
    check(dead & ports_of_routes(healthy) == dead, "without the fault flows have the cable")
    check(not dead & ports_of_routes(run), "with it no route has", ports_of_routes(run) & dead)
    check(run.run["end_reason"] == "complete" and not any(run.run["drops"].values()), "no packet is lost to it", run.run["drops"])
    (cut,) = run.findings("link-down")
    check(cut["root"] == "A:1" and "known before the run" in cut["evidence"], "a finding names it, as known before the run", cut)
    queues = run.findings("flow-contention")
    check(queues and all(f["consequence_of"] == run.findings().index(cut) for f in queues), "what its absence makes is its consequence",
          run.findings())
    check(run.findings()[0] == cut and cut["explained_ns"] > 0, "it costs most", run.findings())
    check("; a consequence of link down at A:1, with which it would cost this" in " ".join(run.report.split()),
          "and its consequence what it would cost with it, which the report says", run.report)
    check(known(run) == [("link-down", 1, 1.0, 0, 0)], "a record reports it", known(run))
    check(run.run["idle_faults"] == [] and reported(run, "link-down")[0]["known"] is True, "truth.json says that it is known")
    again = rocelab(small(fault("link-down", port="S:1", known=True)), "--lcores", "2")
    check(again.run["digest"] == run.run["digest"], "the same by its other end, and on two lcores")
    unknown = rocelab(small(fault("link-down", port="A:1")))
    check(known(unknown) == [] and any(unknown.run["drops"].values()), "unknown, it loses packets, and no record reports it")
    mended = rocelab(small(fault("link-down", port="A:1", duration="100us", known=True)), *PODS)
    check(mended.run["end_reason"] == "complete" and mended.run["reroutes"] == 1, "mended, it comes back", mended.run["reroutes"])


def gray():
    faults = (fault("loss", port="S:1", rate=0.002, known=True, start="10us", duration="300us"),
              fault("delay", port="T:2", extra="1us", known=True), fault("blackhole", switch="B", dst="b1", start="1s", known=True),
              fault("loss", port="B:1", rate=0.001, silent=True))
    run = rocelab(small(*faults))
    check(sorted(known(run), key=str) == [("blackhole", None, 0.0, 1_000_000_000, 0), ("delay", 2, 0.0, 0, 0),
                                         ("loss", 1, 0.002, 10_000, 300_000)],
          "records report those that are known, at their rates", known(run))
    without = rocelab(small(*faults[-1:]))
    check(ports_of_routes(run) == ports_of_routes(without), "routes are as without them")
    check(without.run["virtual_ns"] > CLEAN_NS / 2 and known(without) == [], "nothing reports an unknown one")


def reported_as_known():
    """A finding at a known fault's place says so; the same fault, unknown, does not."""
    for one, root, refusal in ((dict(kind="loss", port="S:1", rate=0.02), "S:1", "loss of 2 % at S:1"),
                            (dict(kind="blackhole", switch="B", dst="b1", start="10us", duration="20us"), "B:2", "blackhole at B")):
        for is_known in (True, False):
            found = rocelab(small(fault(**one, known=is_known))).findings()
            check([f["root"] for f in found] == [root] and found[0].get("known") == (refusal if is_known else None),
                  f"{one['kind']}, known {is_known}", found)
            check(("known before the run: " + refusal in found[0]["evidence"]) == is_known, "in words, too", found[0]["evidence"])


def refused():
    for one, message in ((fault("link-down", port="A:3", known=True), "leads to a host"),
                         (fault("link-down", port="A:1", start="1us", known=True), "from the start")):
        done = command(ROCELAB, "run", small(one), "--out", scratch() / "run", expect=2)
        check("test.cfg:" in done.stderr and message in done.stderr, f"refused: {message}", done.stderr)
    both = [fault("link-down", port=port, known=True) for port in ("A:1", "A:2")]
    done = command(ROCELAB, "run", small(*both), "--out", scratch() / "run", expect=2)
    check("no path" in done.stderr or "no route" in done.stderr or "reach" in done.stderr, "refused: no way is left", done.stderr)


dead_cable()
gray()
reported_as_known()
refused()
