# SPDX-License-Identifier: BSD-3-Clause
"""Every scenario of the tree ends in the right finding: type, root, culprits; clean runs end in none."""
from harness import SANITIZED, SCENARIOS, check, rocelab, scenario_file


def contributors(run):
    return [c["flow"] for c in run.verdict["contributors"]]


def expect(run, name, kind, root, flows=(), ports=()):
    found = [f for f in run.findings(kind) if f["root"] == root and set(flows) <= set(f["flows"])
             and set(ports) <= set(f["ports"])]
    check(found, f"{name}: {kind} at {root} by {', '.join(flows) or 'nobody'}",
          [(f["type"], f["root"], f["flows"], f["ports"]) for f in run.findings()])
    return found[0]


def clean_ring():
    run = rocelab(SCENARIOS / "clean-ring.cfg", *(["--set", "collectives.[0].bytes=800KB"] if SANITIZED else []))
    check(run.findings() == [], "clean-ring: no finding", run.findings())
    check(run.verdict["network"]["innocent"], "clean-ring: the network is innocent", run.verdict["network"])
    check(all(c["complete"] for c in run.verdict["collectives"]), "clean-ring: complete", run.verdict["collectives"])


def pfc_storm():
    run = rocelab(SCENARIOS / "pfc-storm.cfg")
    finding = expect(run, "pfc-storm", "pfc_storm", "5:1", ports=["0:4"])
    check("13->14/10000>4791" in finding["victims"], "pfc-storm: 13->14 is a victim", finding)
    check(len(run.findings()) == 1, "pfc-storm: nothing else is accused", run.findings())


def pfc_backpressure():
    run = rocelab(SCENARIOS / "pfc-backpressure.cfg")
    culprits = ["a2->d1/20001>4791", "b2->d1/20002>4791", "c2->d1/20003>4791"]
    finding = expect(run, "pfc-backpressure", "pfc_backpressure", "D:2", culprits, ["S:4", "A:1"])
    check(not set(finding["victims"]) & set(culprits), "pfc-backpressure: victims are the collective's", finding)
    check(set(contributors(run)) == set(culprits), "pfc-backpressure: all three contribute", contributors(run))
    check(run.verdict["findings"][0]["root"] == "D:2", "pfc-backpressure: the root comes first", run.verdict["findings"][0])


def incast():
    run = rocelab(SCENARIOS / "incast.cfg")
    culprits = ["h1->h4/20001>4791", "h7->h4/20002>4791", "h9->h4/20003>4791", "h13->h4/20004>4791"]
    expect(run, "incast", "incast", "e2:1", culprits)
    check(set(contributors(run)) == set(culprits), "incast: all four contribute", contributors(run))


def halving_doubling():
    run = rocelab(SCENARIOS / "halving-doubling.cfg")
    expect(run, "halving-doubling", "flow_contention", "l0:1", ["h9->h0/20000>4791"])
    check(contributors(run) == ["h9->h0/20000>4791"], "halving-doubling: the stranger contributes", contributors(run))


def other_class():
    """A flow of another class, without PFC, shares the link by DWRR: no queue in common, and yet it is ahead."""
    scenario = scenario_file("""
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; };
collectives = ( { step_bytes = "8MB"; ranks = [ "h0", "h4" ]; } );
flows = ( { src = "h1"; dst = "h4"; sport = 20000; bytes = "4MB"; prio = 4; start = "50us"; } );
""")
    run = rocelab(scenario)
    expect(run, "other class", "flow_contention", "l0:5", ["h1->h4/20000>4791"])
    met = [m for m in run.truth["meetings"] if "h1->h4/20000>4791" in m["flows"]]
    check(met, "other class: the truth knows that they met", run.truth["meetings"])


def case_study():
    run = rocelab(SCENARIOS / "case-study.cfg")
    expect(run, "case-study", "flow_contention", "6:2", ["13->19/10001>4791"])
    expect(run, "case-study", "pfc_backpressure", "6:2", ["13->19/10001>4791"], ["2:3"])
    check(contributors(run)[0] == "13->19/10001>4791", "case-study: 13->19 contributes most", contributors(run))


def reference():
    """The paper's case study as its authors' simulator runs it."""
    run = rocelab(SCENARIOS / "ns3-allgather-100g.cfg")
    first, second, victim = "15->18/10001>10001", "13->19/10001>10001", "17->18/10000>10000"
    path = {(p["flow"], p["step"]) for p in run.verdict["critical_path"]}
    check({(victim, 1), (victim, 2)} <= path, "reference: the critical path goes through 17->18 in steps 1 and 2", path)
    contention = expect(run, "reference", "flow_contention", "6:2", [second])
    check(victim in contention["victims"], "reference: 13->19 contends with 17->18", contention)
    expect(run, "reference", "pfc_backpressure", "6:2", [second], ["2:3"])
    weak = expect(run, "reference", "flow_contention", "6:2", [first])
    check(1 in weak["steps"], "reference: 15->18 in step 1", weak)
    scores = {c["flow"]: c["score"] for c in run.verdict["contributors"]}
    check(scores[second] > 5 * scores[first] > 0, "reference: 13->19 is the top contributor by far", scores)
    nic = expect(run, "reference", "flow_contention", "15:1", [first])
    check("15->16/10000>10000" in nic["victims"] and 1 in nic["steps"], "reference: 15->16 shares its NIC in step 1", nic)
    nic = expect(run, "reference", "flow_contention", "13:1", [second])
    check("13->14/10000>10000" in nic["victims"] and 2 in nic["steps"], "reference: 13->14 shares its NIC in step 2", nic)
    check(run.run["rss_bytes"] < 300e6, f"reference: {run.run['rss_bytes'] / 1e6:.0f} MB", "300 MB")


clean_ring()
pfc_storm()
other_class()
if not SANITIZED:  # some ten million packets each
    pfc_backpressure()
    incast()
    halving_doubling()
    case_study()
    reference()
