#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The doctor opens a port of each kind, and says what one misses where it cannot."""
import hashlib
import json
import os
import pathlib
import pty
import shutil
import subprocess

from harness import BUILD, NOT_BEGUN, STALL_LIMIT_S, ROCELAB, SCENARIOS, SOURCE, check, command, scratch

# In place of dpswitch: a port that fails with words, one that ends it, and one with which it is never through.
STAND_IN = """#!/bin/sh
case $2 in
*memif*) echo -n "words about memif" > "$4/port.txt"; exit 1;;
*ring*) kill -SEGV $$;;
*) exec sleep 300;;
esac
"""


def ask(*kinds, before=(), program=ROCELAB):
    done = subprocess.run([*before, program, "doctor", "--json", *kinds], capture_output=True, text=True, timeout=STALL_LIMIT_S)
    return done.returncode, {row["kind"]: row for row in json.loads(done.stdout)}


code, rows = ask("vhost", "memif", "pcap", "ring", "null")
check(code == 0 and all(row["works"] and row["open_ms"] > 0 for row in rows.values()),
      "ports that need no privileges can be opened", rows)
code, rows = ask("nic", "hugepages")
for kind, row in rows.items():
    check(row["works"] or "as root" in row["missing"], f"{kind}: there, or a remedy", row)
check(code == (0 if all(row["works"] for row in rows.values()) else NOT_BEGUN), "the exit code is of every named kind", code)
if os.geteuid() == 0 and shutil.which("setpriv"):
    before = ("setpriv", "--bounding-set", "-net_admin,-net_raw", "--inh-caps", "-net_admin,-net_raw")
    code, rows = ask("tap", "af_packet", before=before)
    check(code == NOT_BEGUN and "CAP_NET_RAW" in rows["af_packet"]["missing"], "af_packet: its capability is named", rows)
    check("CAP_NET_ADMIN" in rows["tap"]["missing"] or "/dev/net/tun" in rows["tap"]["missing"], "so is a tap's", rows)
check("WHAT IT IS" in command(ROCELAB, "doctor", "null").stdout, "a table for people")
done = command(ROCELAB, "doctor", "token-ring", expect=2)
check("hugepages" in done.stderr, "a kind there is not is refused, and those that there are are named", done.stderr)
for kind in ("embedded", "hugepages"):
    code, rows = ask(kind)
    check(code == (0 if rows[kind]["works"] else NOT_BEGUN), f"{kind} alone: the exit code is its", (code, rows))

place = scratch()
shutil.copy(ROCELAB, place)
shutil.copy(BUILD / "rxe-hosts" / "guest" / "rxe-guest-init", place)
(place / "dpswitch").write_text(STAND_IN)
(place / "dpswitch").chmod(0o755)
code, rows = ask("embedded", "memif", program=pathlib.Path(place) / "rocelab")
check(code == NOT_BEGUN and rows["embedded"]["works"], "one of two named kinds does not work: the exit code is 3", (code, rows))
code, rows = ask("memif", "ring", "null", program=pathlib.Path(place) / "rocelab")
check(code == NOT_BEGUN and rows["memif"]["missing"] == "words about memif", "what dpswitch says is reported", rows)
check("killed (signal 11" in rows["ring"]["missing"], "not of another port, where it says nothing", rows)
check("in 15 s" in rows["null"]["missing"], "one that is stuck is not waited for", rows)


def nothing_is_installed_unasked():
    """Without the guests' kernel a run names the command that installs it, and begins nothing."""
    done = command(ROCELAB, "run", SCENARIOS / "rxe-ring.cfg", "--out", scratch() / "run", expect=NOT_BEGUN, timeout=60,
                   env={**os.environ, "XDG_CACHE_HOME": str(scratch())})
    check("rocelab doctor --install" in done.stderr and "==>" not in done.stderr, "no kernel: the command is named", done.stderr)
    setup = (SOURCE / "scripts" / "setup").read_text()
    check("perftest" in setup.split('kernel="')[1].split('"')[0], "perftest is in what that installs")


# In place of apt and of what knows the packages: a line for each call; a package is there once one was installed, and with it a kernel.
APT = """#!/bin/sh
echo "$*" >> {folder}/asked
[ ! -e {folder}/broken ] || exit 100
case $* in
*install*) touch {folder}/installed; cp /bin/true {folder}/rocelab/linux-1-{hash}
esac
"""
DPKG = """#!/bin/sh
case $3 in
*Version*) echo 1;;
*) [ ! -e {folder}/installed ] || echo installed;;
esac
"""


def machine(broken=False):
    """A machine without any package, and its environment. @param broken  apt cannot install"""
    folder = scratch()
    of_kernel = [(SOURCE / "rxe-hosts/guest" / name).read_bytes() for name in ("kernel.config", "kernel.edits")]
    digest = hashlib.sha256(b"".join(of_kernel)).hexdigest()[:12]
    (folder / "rocelab").mkdir()
    (folder / "bin").mkdir()
    (folder / "asked").touch()
    if broken:
        (folder / "broken").touch()
    for name, text in (("apt-get", APT), ("dpkg-query", DPKG), ("sudo", '#!/bin/sh\nexec "$@"\n')):
        path = folder / "bin" / name
        path.write_text(text.replace("{folder}", str(folder)).replace("{hash}", digest))
        path.chmod(0o755)
    return folder, {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder)}


def asked_at_a_terminal(answer, env):
    """A run that lacks the kernel, on a terminal of its own, where a person answers. @return its exit code, what the terminal showed"""
    master, slave = pty.openpty()
    words = [str(word) for word in (ROCELAB, "run", SCENARIOS / "rxe-ring.cfg", "--out", scratch() / "run")]
    run = subprocess.Popen(words, stdin=slave, stdout=subprocess.DEVNULL, stderr=slave, env=env, start_new_session=True)
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown and run.poll() is None:
        shown += os.read(master, 4096)
    os.write(master, answer.encode())
    try:
        while data := os.read(master, 4096):
            shown += data
    except OSError: # nobody has the terminal any more
        pass
    os.close(master)
    return run.wait(STALL_LIMIT_S), shown.decode()


def the_question():
    """On a terminal a run asks before it installs; anything but yes leaves the machine as it is."""
    for answer in ("n\n", "\n", "\x04"):
        folder, env = machine()
        code, shown = asked_at_a_terminal(answer, env)
        check(shown.count("Install packages and build it now") == 1, f"{answer!r}: a run asks once", shown)
        check(code == NOT_BEGUN and "rocelab doctor --install" in shown, "  and names the command", (code, shown))
        check((folder / "asked").read_text() == "", "  nothing was installed", (folder / "asked").read_text())
    folder, env = machine(broken=True)
    code, shown = asked_at_a_terminal("y\n", env)
    asked = (folder / "asked").read_text()
    check("install" in asked and "perftest" in asked and "linux-source" in asked, "yes: packages are installed", asked)
    check(code == NOT_BEGUN and "the packages were not installed" in shown, "  and where apt fails, no run begins", (code, shown))


def installed_when_asked():
    folder, env = machine()
    words = [ROCELAB, "doctor", "--install", "--json", "embedded"]
    done = command(*words, env=env)
    check("perftest" in (folder / "asked").read_text(), "doctor --install installs", (folder / "asked").read_text())
    check("==> installing:" in done.stderr and json.loads(done.stdout)[0]["works"], "  says so, and goes on", done.stderr)
    (folder / "asked").write_text("")
    done = command(*words, env=env)
    check((folder / "asked").read_text() == "" and "installing" not in done.stderr, "  once", done.stderr)
    folder, env = machine(broken=True)
    done = command(*words, env=env, expect=NOT_BEGUN)
    check("scripts/setup kernel reports why" in done.stderr, "  and fails where apt does", done.stderr)


nothing_is_installed_unasked()
if shutil.which("sha256sum"):
    the_question()
    installed_when_asked()
