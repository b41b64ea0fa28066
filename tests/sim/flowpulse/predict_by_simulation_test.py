#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""FlowPulse's prediction by simulation: what it depends on, and what it must not; known faults in it and in the analytical one."""
import json

from harness import ROCELAB, SANITIZED, SCENARIOS, check, command, rocelab, scratch, sets

SCENARIO = SCENARIOS / "flowpulse.cfg"
SIMULATED = {"flowpulse__prediction": "simulated"}
COUNTS = {"flowpulse__export": "counts", "collectives__[0]__iterations": 2}
QUIET = {"faults__[0]__enabled": "false"}


def rows(path, value):
    """{(port, sender): [bytes]} of a table of volumes."""
    found = {}
    for line in path.read_text().splitlines()[1:]:
        port, sender, _, predicted, seen = line.split(",")
        found.setdefault((port, sender), []).append(int(predicted if value == "predicted" else seen))
    return found


def means(path, value="seen"):
    return {cell: sum(seen) / len(seen) for cell, seen in rows(path, value).items()}


def gray(port, rate, **more):
    return '{ kind = "loss"; port = "%s"; rate = %g; silent = true; %s }' % (
        port, rate, " ".join(f"{k} = {v};" for k, v in more.items()))


def run(**keys):
    return rocelab(SCENARIO, *sets(**{**COUNTS, **keys}))


def table(**keys):
    return (run(**{**SIMULATED, **keys}).dir / "prediction.csv").read_bytes()


def findings(done):
    return [f for f in json.loads((done.dir / "verdict.json").read_text())["findings"] if f["type"] == "silent-fault"]


base = run(**SIMULATED)
prediction = (base.dir / "prediction.csv").read_bytes()
reported = json.loads((base.dir / "verdict.json").read_text())["flowpulse"]["monitor"]
check(reported["simulated_runs"] == 2 and reported["simulated_iterations"] == 2, "how much was simulated is reported", reported)
check("simulated (2 runs of 2 iterations" in (base.dir / "report.txt").read_text(), "in the report, too")
check(len(rows(base.dir / "prediction.csv", "seen")) == 8 * 4 * 3, "leaves, ports and senders are in the table")

# What nobody knows before the run.
unknown = {"the fault elsewhere": {"faults__[0]__port": "s0:5", "faults__[0]__rate": 0.3},
           "no fault": QUIET,
           "one more fault": {"faults__[1]": gray("l5:2", 0.1)},
           "a delay, for which headroom is planned": {"faults__[1]": '{ kind = "delay"; port = "l5:2"; extra = "2us"; }'},
           "a cut link": {"faults__[1]": '{ kind = "link-down"; port = "l5:2"; start = "1ms"; }'},
           "a flow": {"flows": '( { src = "h0"; dst = "h6"; sport = 20000; bytes = "10MB"; } )'},
           "another one, in the class of the collective": {"flows": '( { src = "h3"; dst = "h6"; sport = 20000; bytes = "30MB"; prio = 3; } )'},
           "another job beside it": {"collectives__[1]": '{ bytes = "8MB"; ranks = [ "h0", "h1", "h2" ]; }'},
           "more iterations than are simulated": {"collectives__[0]__iterations": 2},
           "two lcores": {}}
if SANITIZED:  # one of each path through the code
    unknown = {what: unknown[what] for what in ("one more fault", "another job beside it", "two lcores")}
for what, keys in unknown.items():
    done = rocelab(SCENARIO, *sets(**{**COUNTS, **SIMULATED, **keys}), *(("--lcores", "2") if what == "two lcores" else ()))
    check((done.dir / "prediction.csv").read_bytes() == prediction, f"{what}: the prediction is the same")
check(table(seed=2) != prediction, "another seed of the run has simulations of other seeds")
again = run(**SIMULATED, flowpulse__file=str(base.dir / "prediction.csv"))
check(not (again.dir / "prediction.csv").exists(), "with a file nothing is simulated")
check((again.dir / "flowpulse.csv").read_bytes() == (base.dir / "flowpulse.csv").read_bytes(), "which gives the same prediction")
check(means(base.dir / "prediction.csv", "predicted") == means(base.dir / "flowpulse.csv", "predicted"),
      "the table has what monitors went by")

# Known faults: a gray one, on the way up; the same analytically. And what the fabric then does.
KNOWN = {"faults__[0]": gray("l2:3", 0.05, known="true")}
for what, keys, port, spines in (("gray", KNOWN, "3", None),
                                 ("cut", {"faults__[0]": '{ kind = "link-down"; port = "l2:3"; known = true; }'}, "3", 3)):
    simulated, analytical = run(**SIMULATED, **keys), run(**keys)
    simulations, shares = means(simulated.dir / "prediction.csv"), means(analytical.dir / "flowpulse.csv", "predicted")
    clean = means(base.dir / "prediction.csv")
    for (at, sender), volume in shares.items():
        seen = simulations.get((at, sender), 0)
        check(abs(seen - volume) < 0.006 * clean[at, sender], f"{what}, {at} of {sender}: analytical {volume}, simulated {seen}")
        if sender == "l2" or at.startswith("l2:"): # and ACKs of what l2 receives go up by the same link
            continue
        check(abs(volume / clean[at, sender] - 1) < 0.002, f"{what}, {at} of {sender}: others are as before")
    for at, sender in [(f"l{i}:{p}", "l2") for i in (0, 3, 6) for p in (2, 3, 4, 5)]:
        lossy = at.endswith(":3")
        if spines is None: # of the four ways one keeps 95 %: w / (3 + w), and 1 / (3 + w)
            share = (0.95 if lossy else 1) / 3.95
        else:
            share = 0 if lossy else 1 / spines
        check(abs(shares.get((at, sender), 0) - share * 4 * clean[at, sender]) <= 0.001 * clean[at, sender],
              f"{what}, {at}: {share:.4f} of what l2 sends", shares.get((at, sender)))
    for done in (simulated, analytical):
        check(not findings(done), f"{what}: what is known is not reported as new", findings(done))

# It grew: that is new, at a place that is known. And beside it one that nobody knows.
for keys in (SIMULATED, {}):
    done = run(**keys, **{"faults__[0]": gray("l2:3", 0.02, known="true"), "faults__[1]": gray("l2:3", 0.08)})
    grown = findings(done)
    text = " ".join((done.dir / "report.txt").read_text().split())
    check("Known before the run: loss of 2 % at l2:3." in text, "the report says that the place is known", text)
    check([f["root"] for f in grown] == ["l2:3"] and grown[0]["known"] == "loss of 2 % at l2:3", "grown: reported, and known", grown)
    check("known before the run: loss of 2 % at l2:3" in grown[0]["evidence"], "in words, too", grown[0]["evidence"])
    other = findings(run(**keys, **KNOWN, **{"faults__[1]": gray("s2:6", 0.05)}))
    check([f["root"] for f in other] == ["s2:6"] and "known" not in other[0], "another one beside it is found", other)

# What is learned before a known fault begins is replaced when it does: loads come nearer to what is known.
late = run(**{"flowpulse__prediction": "learned", "collectives__[0]__iterations": 4},
           **{"faults__[0]": gray("l2:3", 0.05, known="true", start='"8ms"')})
check(not findings(late), "learned before it began: nothing is reported as new", findings(late))

# Hashes are configured: where flows have their ways, the simulated ones have the same.
hashed = run(**SIMULATED, **QUIET, load_balancing__kind="ecmp")
check(not findings(hashed), "ecmp: nothing is missing", findings(hashed))
seen, predicted = (means(hashed.dir / "flowpulse.csv", value) for value in ("seen", "predicted"))
check(seen == predicted and len(seen) == 8 * 3, "each flow comes by the port that was foretold", seen)

done = command(ROCELAB, "run", SCENARIO, "--out", scratch(), *sets(**SIMULATED, load_balancing__kind="flowlet"), expect=2)
check("learned" in done.stderr, "flowlets go by chance: refused, with what would do", done.stderr)
done = command(ROCELAB, "run", SCENARIO, "--out", scratch(), *sets(**SIMULATED, flowpulse__simulations=0), expect=2)
check("simulations" in done.stderr, "no run is refused", done.stderr)
