#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs: who disturbs whom, groups, pipelines, computation; the same bytes on any number of lcores."""
from cases import LITTLE_MODEL
from harness import SCENARIOS, check, rocelab, scenario_file

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 8; rate = "100Gbps"; delay = "1us"; };
"""
# 2 x 2 x 4 ranks, 3 micro-batches, real data.
PIPELINE = FABRIC + """
jobs = ( { name = "model"; iterations = 2; gap = "5us"; dims = ( "tensor 2", "data 2", "pipeline 4" );
  pipeline = { micro_batches = 3; bytes = "40KB"; };
  jitter = { kind = "normal"; spread = "1us"; };
  delays = ( { rank = 5; delay = "300us"; collective = "forward.m1.s1"; iteration = 0; } );
  collectives = (
    { name = "forward"; phase = "forward"; group = "tensor"; op = "allreduce"; bytes = "80KB"; compute = "10us"; payload = "real"; },
    { name = "backward"; phase = "backward"; group = "tensor"; op = "allreduce"; bytes = "80KB"; compute = "20us"; payload = "real"; },
    { name = "gradients"; group = "data"; op = "allreduce"; bytes = "200KB"; payload = "real"; }
  ); } );
"""


def whole(run, name):
    check(run.run["end_reason"] == "complete", f"{name}: it ends", run.run["end_reason"])
    check(all(c["complete"] for c in run.verdict["collectives"]), f"{name}: every collective is complete")
    check(run.verdict["overhead"]["completeness"] == 1, f"{name}: the evidence is complete", run.verdict["overhead"])


def disturbed():
    run = rocelab(SCENARIOS / "two-jobs.cfg")
    whole(run, "two-jobs")
    jobs = {job["name"]: job for job in run.verdict["jobs"]}
    check(set(jobs) == {"train", "shuffle"}, "two-jobs: both have a report", jobs)
    check(jobs["train"]["lost_ns"] > 1_000_000, "two-jobs: train loses time", jobs["train"])
    shuffles = {f"{row['src']}->{row['dst']}/{row['sport']}>{row['dport']}" for row in run.steps() if row["job"] == "1"}
    mine = [f for f in run.findings("flow-contention") if f["iterations"][0]["job"] == 0]
    check(mine and all(set(f["flows"]) <= shuffles for f in mine), "two-jobs: train's findings name shuffle's flows alone", mine)
    check({f["root"] for f in mine} == {"l0:5", "l1:5"}, "two-jobs: at both uplinks", mine)
    check("shuffle" in run.report and "train" in run.report, "two-jobs: the report names the jobs")
    observed = " ".join(run.report.split())
    check("of the lost time" in observed and "lost in all" in observed, "two-jobs: shares say of what they are", observed[:600])
    alone = rocelab(SCENARIOS / "two-jobs.cfg", "--set", "jobs.[1].start=1s")
    check(not alone.findings() and alone.verdict["network"]["innocent"], "two-jobs: one after the other, nothing disturbs them", alone.report)


def pipeline():
    path = scenario_file(PIPELINE)
    run = rocelab(path)
    whole(run, "pipeline")
    rows = run.steps()
    names = {c["collective"]: c["name"] for c in run.verdict["collectives"]}
    check(len(names) == 2 * 4 * 3 + 2 * 3 * 3 + 1, "pipeline: every turn and transfer is a collective", sorted(names.values()))
    start, end = {}, {}
    for row in rows:
        key = (names[int(row["collective"])], row["iteration"], int(row["rank"]))
        begun = int(row["start_ns"])
        start[key] = min(start.get(key, begun), begun)
        end[key] = max(end.get(key, 0), begun + int(row["duration_ns"]))
    for it in "0", "1":
        for micro in range(3):
            for rank in range(12):  # of the first three stages; the next stage is four ranks on
                turn, sent = f"forward.m{micro}.s{rank // 4}", f"activations.m{micro}.s{rank // 4}"
                got = f"forward.m{micro}.s{rank // 4 + 1}"
                check(end[turn, it, rank] <= start[sent, it, rank] < start[got, it, rank + 4],
                      f"pipeline: {turn}, {sent}, {got} of rank {rank} in iteration {it}")
                back, home = f"gradients.m{micro}.s{rank // 4 + 1}", f"backward.m{micro}.s{rank // 4}"
                check(start[back, it, rank + 4] < start[home, it, rank], f"pipeline: {back}, {home} of rank {rank}")
    late = [row for row in rows if names[int(row["collective"])] == "forward.m1.s1" and row["rank"] == "5" and row["step"] == "1"]
    check(int(late[0]["duration_ns"]) > 300_000 > int(late[1]["duration_ns"]), "pipeline: the straggler is late once", late)
    slow = run.findings("slow-host")
    check(slow and slow[0]["root"] == "h5", "pipeline: the verdict names the straggler", slow)
    again = rocelab(path, "--lcores", "2")
    for file in "records.bin", "steps.csv", "verdict.json":
        check((run.dir / file).read_bytes() == (again.dir / file).read_bytes(), f"pipeline: the same {file} on 2 lcores")


def experts():
    run = rocelab(SCENARIOS / "moe-alltoall.cfg")
    whole(run, "moe-alltoall")
    gets, gives = [0] * 16, [0] * 16
    names = {c["collective"]: c["name"] for c in run.verdict["collectives"]}
    for row in run.steps():
        if row["src"] == row["dst"] or row["iteration"] != "0":
            continue
        if names[int(row["collective"])] == "dispatch":
            gets[int(row["dst"][1:])] += int(row["bytes"])
        else:
            gives[int(row["src"][1:])] += int(row["bytes"])
    hot = gets.index(max(gets))
    check(2.5 < max(gets) / min(gets) < 3.5, "moe-alltoall: one expert is in three times as much demand as another", gets)
    check(gives.index(max(gives)) == hot and sum(gives) == sum(gets), "moe-alltoall: what was sent comes back", (gets, gives))
    first = run.findings()
    check(any(f"h{hot}" in str(f["victims"] + f["flows"]) for f in first), f"moe-alltoall: the verdict is about h{hot}", first[:1])


def model():
    run = rocelab(SCENARIOS / "gpt-3d.cfg", *LITTLE_MODEL)
    whole(run, "gpt-3d")
    verdict = run.verdict
    names = {c["name"]: c for c in verdict["collectives"]}
    check(len(names) == 2 * 4 * 4 + 2 * 3 * 2 + 1, "gpt-3d: its turns, transfers and the sum", sorted(names))
    check({c["group_ranks"] for c in verdict["collectives"]} == {8, 4, 2}, "gpt-3d: groups of 8 tensor and 4 data ranks", names)
    ends = [names[f"b-att.m1.s{stage}"]["end_ns"] for stage in range(4)]
    check(ends == sorted(ends, reverse=True), "gpt-3d: backward ends at the first stage", ends)
    check(verdict["jobs"][0]["compute_share"] > 0.5, "gpt-3d: its critical path is computation for the most", verdict["jobs"])


def one_less():
    """A job less shifts no other's chance: placement, and the time that ranks compute."""
    def job(name, count):
        return f"""{{ name = "{name}"; placement = {{ kind = "random"; count = {count}; share = true; }}; compute = "50us";
            jitter = {{ kind = "uniform"; spread = "20us"; }}; collectives = ( {{ op = "allgather"; bytes = "64KB"; }} ); }}"""
    def computing(jobs, name):
        run = rocelab(scenario_file(FABRIC + f"jobs = ( {', '.join(jobs)} );\n"))
        number = next(str(j["job"]) for j in run.verdict["jobs"] if j["name"] == name)
        return [(r["rank"], r["src"], r["duration_ns"]) for r in run.steps() if r["job"] == number and r["src"] == r["dst"]]
    both, alone = computing([job("a", 6), job("b", 5)], "b"), computing([job("b", 5)], "b")
    check(len(both) == 5 and sorted(both)[0][1:] and [b[:2] for b in sorted(both)] == [a[:2] for a in sorted(alone)],
          "one job less: the other is where it was", (both, alone))


disturbed()
pipeline()
experts()
model()
one_less()
