# SPDX-License-Identifier: BSD-3-Clause
"""Problems of R-Pingmesh's Table 2, run by scripts/pingmesh-problems at a two-hundredth of the paper's times."""
import json

from harness import ROCELAB, SOURCE, check, command, scratch

FACTOR = 0.005


def check_all(*keys):
    out = scratch()
    done = command(SOURCE / "scripts" / "pingmesh-problems", out, "--factor", FACTOR, "--rocelab", ROCELAB, "--only", *keys,
                   expect=None)
    results = json.loads((out / "problems.json").read_text())
    check([result["key"] for result in results] == list(keys), "all were run", done.stderr)
    for result in results:
        title = f"#{result['key']}, {result['title']}"
        check(result["end"] == "complete" and not result["broken"] and not result["idle"], f"{title}: injected", result)
        check(result["right"], f"{title}: said, and where", result["findings"])
        check(result["priority_right"], f"{title}: its priority", result["findings"])
        check(result["else_right"], f"{title}: and nothing that has another cause", result["findings"])
        # Its first period is over by then, with its timeouts and the next upload: 20 + 0.5 + 5 s
        check(not result["findings"] or 0 < result["findings"][0]["after_s"] <= 51, f"{title}: after two periods at most", result["findings"])
