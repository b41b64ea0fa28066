#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every field of JSON and every column of CSV that runs write is documented: docs/outputs.md and docs/outputs-json.md."""
import csv
import functools
import re

from cases import fault, small
from harness import SANITIZED, SCENARIOS, SOURCE, check, dpswitch, long_run, rocelab, scenario_file, sets

FLOW = 'flows = ( { src = "a1"; dst = "b2"; sport = 10007; bytes = "1MB"; start = "10us"; } );\n'
ALLTOALL = """topology = { kind = "leaf-spine"; leaves = 1; spines = 1; hosts_per_leaf = 32; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "alltoall"; algorithm = "linear"; bytes = "1MB"; channels = 6; } );
"""
LCORES = ((),) if SANITIZED else ((), ("--lcores", "2"))
SLA = re.compile(r"^pingmesh\.(?:(?:periods|servers|services)\[\]\.)?(?:cluster|service)\.")


@functools.lru_cache
def page(name):
    return (SOURCE / "docs" / name).read_text(encoding="utf-8")


def section(name, heading):
    """The text of a heading, headings below it included."""
    marks = re.match(r"#+", heading)[0]
    return re.split(rf"^{'#{1,%d}' % len(marks)} ", page(name).split(f"{heading}\n", 1)[1], flags=re.M)[0]


def documented(text):
    """What the first column of its tables names."""
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {field for cell in first for field in re.findall(r"`([^`]+)`", cell)}


def paths(value, before=""):
    """The fields of JSON: a.b for members, a[] for elements; those that hold values, and those that are empty."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from paths(member, f"{before}.{key}" if before else key)
    elif isinstance(value, list) and value:
        for element in value:
            yield from paths(element, before + "[]")
    else:
        yield before + "[]" if value == [] else before


def is_documented(path, fields):
    path = SLA.sub("SLA.", path).replace("flowpulse.doubtful[].", "flowpulse.faults[].")
    if path in fields or path.removesuffix("[]") in fields:
        return True
    # An empty list or object has no members to name, and null stands for an object: one that is documented by its members.
    return any(field.startswith((path + ".", path + "[]", path.removesuffix("[]") + ".")) for field in fields)


def runs():
    yield "clean", rocelab(small(extra=FLOW), "--capture", "A:1")
    yield "storm", rocelab(small(fault("pfc-storm", port="S:1", start="100us", duration="200us"), extra=FLOW))
    yield "cut short", rocelab(small(), *sets(limits__virtual_time="100us"))
    yield "FlowPulse", rocelab(SCENARIOS / "flowpulse.cfg")
    yield "FlowTracer", rocelab(SCENARIOS / "flowtracer.cfg")
    yield "R-Pingmesh", rocelab(SCENARIOS / "pingmesh.cfg")
    yield "the twin", rocelab(small(extra=FLOW), "--blame", "twin")
    yield "a model", rocelab(SCENARIOS / "case-study.cfg")


def open_ended(of_file, fields):
    """Faults have the parameters of their kind, and reasons the names of reasons."""
    return {path for path in fields if not (of_file == "truth.json" and path.startswith("faults[].")) and not path.startswith("flowpulse.reasons.")}


def fields_of_json():
    json_page = {name: documented(section("outputs-json.md", f"## {name}")) for name in ("verdict.json", "truth.json", "twin.json")}
    json_page["run.json"] = documented(section("outputs.md", "## run.json")) | documented(section("capturing.md", "## Contents of the file"))
    seen = {name: set() for name in json_page}
    for what, run in runs():
        for name, fields in json_page.items():
            if not (run.dir / name).exists():
                continue
            there = open_ended(name, set(paths(run.json(name))))
            seen[name] |= {SLA.sub("SLA.", path) for path in there}
            capture = {path.removeprefix("capture.").removeprefix("ports[].") for path in there if path.startswith("capture.")}
            missing = {path for path in there if not path.startswith("capture.") and not is_documented(path, fields)}
            check(not missing, f"{what}: {name} is documented", sorted(missing))
            if name == "run.json" and capture:
                check(capture - fields <= {"file", "errno", "port", "limit_ns"}, f"{what}: its capture, too", sorted(capture - fields))
        for path in run.dir.glob("*.csv"):
            with open(path, newline="") as file:
                columns = next(csv.reader(file))
            title = next(line for line in page("outputs.md").splitlines() if line.startswith("### ") and path.name in line)
            check(set(columns) <= documented(section("outputs.md", title)), f"{what}: {path.name} is documented", columns)
    return json_page, seen


def none_is_made_up(json_page, seen):
    """Fields that the page names are there, but for those that need what these runs have not: they are named here."""
    rare = re.compile(r"findings\[\]\.(?:origin|origin_port|known|machine_share|detected_ns|undetected_ns)$|detection_prefixes|lateness|outside|"
                      r"flowpulse\.(?:unmeasured|not_judged|doubtful)|SLA\.rpingmesh\.one_way|faults\[\]\.|flowpulse\.reasons|overhead\.policy|"
                      r"pingmesh\.problems|unjudged|error$|reroutes|contributors|flows\.|flows\[\]|jobs\[\]\.(?:steps_)?chance|twins\[\]\.(?:steps_)?chance|draws")
    for name in ("verdict.json", "truth.json"):
        absent = {field for field in json_page[name] if field not in seen[name] and field + "[]" not in seen[name] and not rare.search(field)
                  and not any(path.startswith(field) for path in seen[name])}
        check(not absent, f"docs/outputs-json.md: no field of {name} that is not written", sorted(absent))


def truth_is_bounded():
    """An AllToAll of 32 ranks and six channels has 600,000 pairs of flows that share a queue: the longest are listed, the rest counted."""
    runs = [dpswitch(scenario_file(ALLTOALL), *lcores) for lcores in LCORES]
    truth = runs[0].truth
    times = [pair["together_ns"] for pair in truth["contentions"]]
    check(len(times) == 100_000 and truth["contentions_left_out"] > 400_000, "100,000 pairs are listed, and the others counted",
          (len(times), truth["contentions_left_out"]))
    check((runs[0].dir / "truth.json").stat().st_size < 30e6, "in 30 MB at most")
    check(len({(run.dir / "truth.json").read_bytes() for run in runs}) == 1, "the same on two lcores")
    few = dpswitch(scenario_file(ALLTOALL.replace("channels = 6", "channels = 2"))).truth
    check(few["contentions_left_out"] == 0 and 0 < len(few["contentions"]) < 100_000, "of fewer all are", len(few["contentions"]))


if __name__ == "__main__":
    truth_is_bounded()
    if not SANITIZED or long_run("fields of every output, which other tests' runs write"):
        none_is_made_up(*fields_of_json())
