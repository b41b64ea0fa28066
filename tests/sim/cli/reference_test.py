#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab reference --json: every table of the Markdown; every kind of fault, whose example runs."""
import json
import re
import sys

from harness import ROCELAB, SOURCE, check, command, rocelab, scenario_file

sys.path.insert(0, str(SOURCE / "scripts/soaking"))
import reference as soaked  # pylint: disable=wrong-import-position
import scenarios  # pylint: disable=wrong-import-position

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; };
collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "8MB"; } );
host = { timeout = "500us"; };
limits = { virtual_time = "20ms"; };
pingmesh = { enabled = %s; };
faults = ( { %s } );
"""
OF_AGENTS = ("cpu-overload", "agent-restart")
IDLE = ("pfc-headroom", "cpu-overload")  # they need congestion, and an agent that probes, which so short a run has not


def tables(reference):
    """Keys of both outputs, in order."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", command(ROCELAB, "reference").stdout, re.M)
    keys = [(key["name"], key["type"]) for table in reference["tables"] for key in table["keys"]]
    check(rows == keys, "the JSON has the keys of the Markdown", (len(rows), len(keys)))
    for table in reference["tables"]:
        for key in table["keys"]:
            check(key["meaning"] and (key["type"] != "word") == ("words" not in key), f"{table['path']}.{key['name']} is complete", key)


def examples(reference):
    for fault in reference["faults"]:
        text = FABRIC % ("true" if fault["kind"] in OF_AGENTS else "false", fault["example"])
        run = rocelab(scenario_file(text), "--allow-unfinished")
        check([f["kind"] for f in run.truth["faults"]] == [fault["kind"]], f"{fault['kind']}: its example runs", run.stderr)
        check(fault["kind"] in IDLE or not run.run["idle_faults"], f"{fault['kind']}: and acts", run.run["idle_faults"])


def soak(reference):
    """scripts/soak draws every kind, and reads examples from here."""
    kinds = {fault["kind"] for fault in reference["faults"]}
    check(set(scenarios.FAULTS + scenarios.FAULTS_OF_AGENTS) == kinds, "scripts/soak has every kind", kinds)
    check(set(soaked.fault_examples(ROCELAB)) == kinds, "and its example")


printed = json.loads(command(ROCELAB, "reference", "--json").stdout)
tables(printed)
examples(printed)
soak(printed)
