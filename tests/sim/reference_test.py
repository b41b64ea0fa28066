# SPDX-License-Identifier: BSD-3-Clause
"""The reference case against an independent simulator's step times (tests/data/ns3-allgather-100g.csv)."""
import csv

from harness import SANITIZED, SCENARIOS, SOURCE, check, rocelab, skip

UNDISTURBED_NS = 31_300_000

if SANITIZED:
    skip("100 million packet hops take minutes under sanitizers; the plain build runs this test")


def measured_elsewhere():
    with open(SOURCE / "tests/data/ns3-allgather-100g.csv") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(r["src"], r["dst"], int(r["step"])): r for r in rows}


run = rocelab(SCENARIOS / "ns3-allgather-100g.cfg")
theirs = measured_elsewhere()
ours = {(r["src"], r["dst"], int(r["step"])): r for r in run.steps()}

check(ours.keys() == theirs.keys(), "same flows and steps", ours.keys() ^ theirs.keys())
for key, their in sorted(theirs.items(), key=lambda item: item[0][2]):
    duration, expected = int(ours[key]["duration_ns"]), int(their["duration_ns"])
    error = duration / expected - 1
    limit = 0.005 if key[2] > 0 and expected < UNDISTURBED_NS else 0.10
    name = f"{key[0]}->{key[1]} step {key[2]}: {duration / 1e6:.3f} ms against {expected / 1e6:.3f} ms, {error * 100:+.2f} %"
    check(abs(error) <= limit, name, f"more than {limit * 100} % off")
    if key[2] > 0:
        ideal = int(ours[key]["ideal_ns"]) / int(their["ideal_ns"]) - 1
        check(abs(ideal) < 1e-5, f"{key[0]}->{key[1]} step {key[2]}: ideal", (ours[key], their))

end = max(int(r["start_ns"]) + int(r["duration_ns"]) for k, r in theirs.items() if k[2] > 0)
our_end = run.verdict["collectives"][0]["end_ns"] - run.verdict["collectives"][0]["start_ns"]
check(abs(our_end / end - 1) <= 0.03, f"collective ends after {our_end / 1e6:.3f} ms against {end / 1e6:.3f} ms", "3 %")
