#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The case study under every detection policy: fabric, telemetry and diagnosis are the same, only the policy differs. Each
comes to the right root; what it cost is counted as the paper counts it, in run.json and verdict.json alike; and a budget
holds for all of them."""
import records
from harness import SCENARIOS, check, rocelab, sets

SCENARIO = SCENARIOS / "case-study.cfg"
KEYS = "telemetry_bytes telemetry_bytes_collected bandwidth_bytes polls reports reports_collected triggers".split()
OURS = ("vedrfolnir", "vedrfolnir-paper", "vedrfolnir-poster")
HAWKEYE = ("hawkeye-minr", "hawkeye-maxr")
POLICIES = (*OURS, *HAWKEYE, "full-polling")

cost, runs = {}, {}
for policy in POLICIES:
    run = runs[policy] = rocelab(SCENARIO, *sets(detection__policy=policy))
    verdict, o = run.verdict, run.verdict["overhead"]
    cost[policy] = o
    check(run.run["end_reason"] == "complete", f"{policy}: the run completes", run.run)
    check(run.run["overhead"]["policy"] == verdict["evidence"]["policy"] == policy, f"{policy}: is named", run.run)
    check(all(run.run["overhead"][key] == o[key] for key in KEYS), f"{policy}: run.json and verdict.json agree", o)
    first = verdict["findings"][0]
    check(first["type"] in ("pfc-backpressure", "flow-contention") and first["root"] == "6:2"
          and first["flows"][0] == "13->19/10001>4791", f"{policy}: 13->19 at 6:2 comes first", first)

    stream = records.read(run.dir / "records.bin")
    triggers = [r for r in stream if r.type == records.TRIGGER]
    asked = {r.event for r in stream if r.type == records.PORT_ROW and r.event}
    check(o["bandwidth_bytes"] == o["telemetry_bytes"] + o["polling_bytes"] + o["notification_bytes"],
          f"{policy}: bandwidth = reports + polling + notifications", o)
    counted = records.telemetry_bytes(run.dir / "records.bin")
    check(o["telemetry_bytes"] == counted == o["row_bytes"], f"{policy}: counted are the bytes that were recorded and received",
          (o, counted))
    if policy in OURS:
        check(o["triggers"] == len(triggers) > 0, f"{policy}: triggers are the detections reported", (o, len(triggers)))
        check(o["telemetry_bytes"] > 0.9 * o["telemetry_bytes_collected"], f"{policy}: keeps nearly all of it", o)
        check(asked <= {r.event for r in triggers}, f"{policy}: ports answer detections and nothing else", asked)
        check(o["notification_packets"] > 0, f"{policy}: notifies", o)
    elif policy in HAWKEYE:
        check(o["triggers"] > 10 * len(triggers) > 0, f"{policy}: detects without a bound", (o, len(triggers)))
        check(o["telemetry_bytes"] < o["telemetry_bytes_collected"] / 10, f"{policy}: keeps little of it", o)
        check(o["notification_packets"] == 0, f"{policy}: notifies nobody", o)
        at = {}
        for r in stream:
            if r.type != records.PORT_ROW:
                continue
            # a report has up to two port rows, of one time; those of a state alone (last word) are reports of their own
            port = r.node, r.body[:2], r.body[-4:]
            since = r.time_ps - at.get(port, -1 << 60)
            if 0 < since < 50_000_000:
                check(False, f"{policy}: a port keeps one report in 50 us", (port, since))
            at[port] = r.time_ps
        check(at, f"{policy}: a port keeps one report in 50 us")
    else:
        epochs = run.run["virtual_ns"] // 1_000_000
        per_epoch = {}
        for r in stream:
            if r.type == records.PORT_ROW:
                per_epoch.setdefault(r.time_ps, set()).add((r.node, r.body[:2]))
        boundary = {t: ports for t, ports in per_epoch.items() if t % 1_000_000_000 == 0}
        check(len(boundary) == epochs and len({frozenset(p) for p in boundary.values()}) == 1,
              f"{policy}: {epochs} times all switch ports report", (len(boundary), epochs))
        check(o["polls"] == o["triggers"] == o["notification_packets"] == 0 and not triggers, f"{policy}: no host asks", o)

check(cost["hawkeye-minr"]["triggers"] > cost["hawkeye-maxr"]["triggers"], "the smaller threshold fires more", cost)
for policy in (*HAWKEYE, "full-polling"):
    check(cost["vedrfolnir"]["telemetry_bytes"] < cost[policy]["telemetry_bytes"], f"ours costs less than {policy}", cost)

again = rocelab(SCENARIO, *sets(detection__policy="hawkeye-maxr"), "--lcores", 2)
check(again.run["digest"] == runs["hawkeye-maxr"].run["digest"], "a flood is the same on two lcores", again.run)

# A storm pauses whole flows: no ACK returns while it rages, and Hawkeye detects nothing then.
storm = rocelab(SCENARIOS / "pfc-storm.cfg", *sets(detection__policy="hawkeye-maxr", switch__profile="ns3", host__profile="ns3"))
[fault] = [f for f in storm.truth["faults"] if f["kind"] == "pfc-storm"]
[found] = storm.findings("pfc-storm")
check(found["root"] == fault["target"], "hawkeye-maxr: finds the storm all the same", found)
within = [r.time_ps / 1000 - fault["start_ns"] for r in records.read(storm.dir / "records.bin") if r.type == records.TRIGGER
          and 100_000 < r.time_ps / 1000 - fault["start_ns"] < fault["duration_ns"]]
check(not within, "hawkeye-maxr: a halted flow triggers nothing", within)
ours = rocelab(SCENARIOS / "pfc-storm.cfg")
within = [r for r in records.read(ours.dir / "records.bin") if r.type == records.TRIGGER
          and 100_000 < r.time_ps / 1000 - fault["start_ns"] < fault["duration_ns"]]
check(within, "vedrfolnir: it does")

for policy in POLICIES:
    peak = runs[policy].run["export"]["peak_bytes_per_s"]
    cut = rocelab(SCENARIO, *sets(detection__policy=policy, exporter__budget=peak // 20))
    export = cut.run["export"]
    check(export["dropped_records"] > 0 and cut.run["end_reason"] == "complete", f"{policy}: runs under a budget", export)
    check(cut.verdict["overhead"]["telemetry_bytes"] == cost[policy]["telemetry_bytes"],
          f"{policy}: what switches report is the same", cut.verdict["overhead"])
