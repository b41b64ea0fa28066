#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The doctor opens a port of each kind, and says what one misses where it cannot."""
import json
import os
import pathlib
import shutil
import subprocess

from harness import BUILD, NOT_BEGUN, PATIENCE_S, ROCELAB, SCENARIOS, SOURCE, check, command, scratch

# In place of dpswitch: a port that fails with words, one that ends it, and one with which it is never through.
STAND_IN = """#!/bin/sh
case $2 in
*memif*) echo -n "words about memif" > "$4/port.txt"; exit 1;;
*ring*) kill -SEGV $$;;
*) exec sleep 300;;
esac
"""


def ask(*kinds, before=(), program=ROCELAB):
    done = subprocess.run([*before, program, "doctor", "--json", *kinds], capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, {row["kind"]: row for row in json.loads(done.stdout)}


code, rows = ask("vhost", "memif", "pcap", "ring", "null")
check(code == 0 and all(row["works"] and row["open_ms"] > 0 for row in rows.values()),
      "ports that need no privileges can be opened", rows)
code, rows = ask("nic", "hugepages")
for kind, row in rows.items():
    check(row["works"] or "as root" in row["missing"], f"{kind}: there, or a remedy", row)
check(code == (0 if rows["nic"]["works"] else 1), "the exit status is of ports, where only those are asked about", code)
if os.geteuid() == 0 and shutil.which("setpriv"):
    before = ("setpriv", "--bounding-set", "-net_admin,-net_raw", "--inh-caps", "-net_admin,-net_raw")
    code, rows = ask("tap", "af_packet", before=before)
    check(code == 1 and "CAP_NET_RAW" in rows["af_packet"]["missing"], "af_packet: its capability is named", rows)
    check("CAP_NET_ADMIN" in rows["tap"]["missing"] or "/dev/net/tun" in rows["tap"]["missing"], "so is a tap's", rows)
check("WHAT IT IS" in command(ROCELAB, "doctor", "null").stdout, "a table for people")
done = command(ROCELAB, "doctor", "token-ring", expect=2)
check("hugepages" in done.stderr, "a kind there is not is refused, and those that there are are named", done.stderr)
for kind in ("embedded", "hugepages"):
    code, rows = ask(kind)
    check(code == (0 if rows[kind]["works"] else 1), f"{kind} alone: the exit status is its", (code, rows))

place = scratch()
shutil.copy(ROCELAB, place)
shutil.copy(BUILD / "rxe-hosts" / "guest" / "rxe-guest-init", place)
(place / "dpswitch").write_text(STAND_IN)
(place / "dpswitch").chmod(0o755)
code, rows = ask("memif", "ring", "null", program=pathlib.Path(place) / "rocelab")
check(code == 1 and rows["memif"]["missing"] == "words about memif", "what dpswitch says is told", rows)
check("killed (signal 11" in rows["ring"]["missing"], "not of another port, where it says nothing", rows)
check("in 15 s" in rows["null"]["missing"], "one that is stuck is not waited for", rows)


def nothing_is_installed_unasked():
    """Without the guests' kernel a run names the command that installs it, and begins nothing."""
    done = command(ROCELAB, "run", SCENARIOS / "rxe-ring.cfg", "--out", scratch() / "run", expect=NOT_BEGUN, timeout=60,
                   env={**os.environ, "XDG_CACHE_HOME": str(scratch())})
    check("rocelab doctor --install" in done.stderr and "==>" not in done.stderr, "no kernel: the command is named", done.stderr)
    setup = (SOURCE / "scripts" / "setup").read_text()
    check("perftest" in setup.split('kernel="')[1].split('"')[0], "perftest is in what that installs")


nothing_is_installed_unasked()
