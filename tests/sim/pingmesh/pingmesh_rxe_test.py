#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh's agents on guests, in real time: an RNIC and a switch that lose packets are named at their places, probes leave soft-RoCE by
the planned source ports, and paths are traced. How long round trips take is the machine's."""
import re

import records
from harness import STALL_LIMIT_S, SCENARIOS, check
from pcapng import Capture, icrc_is_right, is_roce
from rxe import HOSTS, Live, invariants, need_guests

OK, TOR_MESH, INTER_TOR = 0, 0, 1
UD_IMM, CONTENTS = 0x65, 66  # BTH's opcode, and where contents begin
PROBE, ACK, SECOND_ACK, TRACE = 1, 2, 3, 4


def rxe_sport(qpn):
    """hash_32(qpn, 14) of Linux 6.1"""
    return 0xc000 | (qpn * 0x61c88647 & 0xffffffff) >> 18


def frames(seen_at):
    """h0's probes and ACKs, on its cable: by QPs whose numbers have these ports; and ACKs keep the port that they answer."""
    seen = [f for f in seen_at.of("t0:1", False, is_roce) if f.bytes[42] == UD_IMM]
    by_qp = [f.bytes for f in seen if f.bytes[CONTENTS + 5] in (PROBE, ACK, SECOND_ACK)]
    check(len(by_qp) > 100 and all(rxe_sport(int.from_bytes(f[59:62], "big")) == int.from_bytes(f[34:36], "big") for f in by_qp),
          f"the ports of {len(by_qp)} datagrams are those of their QPs")
    check(all(icrc_is_right(f.bytes) for f in seen), "the ICRC of all is right, of traceroutes too")
    asked = {(f.bytes[34:36], f.bytes[26:30]) for f in seen_at.of("t0:1", True, is_roce)
             if f.bytes[42] == UD_IMM and f.bytes[CONTENTS + 5] == PROBE}
    answered = {(f[34:36], f[30:34]) for f in by_qp if f[CONTENTS + 5] == ACK}
    check(answered and answered <= asked, "ACKs go back by their probes' ports", (answered, asked))
    check({f.bytes[22] for f in seen if f.bytes[CONTENTS + 5] == TRACE} >= {1, 2, 3}, "traceroutes have small TTLs")


def paths(found, names):
    hops = {}
    for r, hop in records.of(found, records.PROBE_HOP):
        hops.setdefault((names[r.node], (hop.tuple_dst_ip & 0xffff) - 1, hop.trace, hop.back), {})[hop.hop] = names[hop.at]
    routes = {tuple(route[h] for h in sorted(route)) for (host, to, _, _), route in hops.items()
            if {host, names[to]} == {"h0", "h3"} and sorted(route) == [1, 2, 3]}
    check(routes and routes <= {("t0", f"s{i}", "t1") for i in (0, 1)} | {("t1", f"s{i}", "t0") for i in (0, 1)},
          "ways between h0 and h3 lead over a spine", routes)


def main():
    need_guests()
    live = Live(SCENARIOS / "pingmesh-rxe.cfg", "--set", "limits.connect=180s", "--capture", "t0:1")
    live.begun()
    run = live.end(timeout=STALL_LIMIT_S)
    check(run.run["end_reason"] == "complete", "it runs for its time", run.run["end_reason"])
    invariants(run, "pingmesh-rxe")
    found = records.read(run.dir / "records.bin")
    names = records.node_names(found)
    problems = run.findings("rnic-problem") + run.findings("switch-problem")
    check(not run.findings("high-rtt"), "no RTT of a kernel is called high", run.findings("high-rtt"))
    check("h1:1" in {f["root"] for f in run.findings("rnic-problem")}, "the RNIC that flaps is named", problems)
    # Whatever crosses the one of a spine's two links crosses the other, unless a traceroute ended between them.
    check({"s1:2", "t0:5 or s1:2", "s1:2 or t0:5"} & {f["root"] for f in run.findings("switch-problem")},
          "the link that damages is named, and its direction", problems)
    check(problems[0]["root"] == "h1:1" and problems[0]["confidence"] > 0.9, "the RNIC with confidence", problems[0])
    probes = [p for _, p in records.of(found, records.PROBE)]
    good = [p for p in probes if p.result == OK]
    check({p.kind for p in good} == {TOR_MESH, INTER_TOR} and len(good) > len(probes) // 3, f"{len(good)} of {len(probes)} come back")
    timed = [p for p in good if p.rtt_ps > 0 and p.prober_ps > 0 and p.responder_ps > 0]
    check(len(timed) > 0.98 * len(good), "with all their times", (len(timed), len(good)))
    check({names[r.node] for r, _ in records.of(found, records.UPLOAD)} == set(HOSTS), "all hosts upload")
    for host in HOSTS:
        log = (run.dir / "guests" / f"{host}.log").read_text()
        opened = re.search(r"(\d+) QPs opened for UD SENDs by (\d+) UDP source ports", log)
        check(opened and int(opened[2]) <= int(opened[1]) <= 400, f"{host} opens few QPs for its ports", log)
    paths(found, names)
    frames(Capture(run.dir / "capture.pcapng"))


if __name__ == "__main__":
    main()
