#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perftest, rping and ping between two guests through the switch, as a person uses them, in a run that is held."""
import re
import shutil
import time

from harness import INTERRUPTED, STALL_LIMIT_S, SOURCE, check, command, skip
from rxe import Live, invariants, need_guests, no_drop, of_host, scenario

LINK_MBPS = 40 / 8  # MB/s of the slowest link
TOOLS = ("ib_send_bw", "ib_write_bw", "rping", "ping")


def address(live, host):
    done = live.shell(host, "ip", "-4", "-o", "addr", "show", "eth0")
    return re.search(r"inet ([0-9.]+)", done.stdout).group(1)


def gid_index(live, host):
    """RoCEv2 of the IPv4 address, by type: the index may vary."""
    done = live.shell(host, "sh", "-c", "cd /sys/class/infiniband/rxe0/ports/1; for i in 0 1 2 3 4 5 6 7; do "
                                        "read type < gid_attrs/types/$i && read gid < gids/$i && echo $i $type $gid; done")
    found = [line.split()[0] for line in done.stdout.splitlines() if "v2" in line and ":ffff:" in line]
    check(len(found) == 1, f"{host} has one RoCEv2 GID of its address", done)
    return found[0]


def bandwidth(live, tool, server, client, *more):
    """
    The server on one guest, the client on another; the row that perftest prints. What it has in flight takes the link longer
    than its usual timeout of 67 ms: -u 20 is 4.3 s.
    """
    words = [tool, "-d", "rxe0", "-s", "16384", "-n", "200", "-F", "-u", "20", *more]
    waiting = live.start(server, *words, "-x", gid_index(live, server))
    time.sleep(2)
    done = live.shell(client, *words, "-x", gid_index(live, client), address(live, server))
    observed, _ = waiting.communicate(timeout=STALL_LIMIT_S)
    check(done.returncode == 0 and waiting.returncode == 0, f"{tool}: both ends are done", (done, observed))
    row = [line.split() for line in done.stdout.splitlines() if re.match(r"\s*16384\s", line)][0]
    check(row[1] == "200", f"{tool}: 200 messages", row)
    mbps = float(row[3]) * (1 << 20) / 1e6
    check(mbps < 1.5 * LINK_MBPS, f"{tool}: {mbps:.2f} MB/s, and the link has {LINK_MBPS} (and perftest two clocks)", row)


def as_documented(live):
    """The two commands of docs/kernel-hosts.md, a server's and a client's, word by word."""
    page = (SOURCE / "docs/kernel-hosts.md").read_text()
    (server, waits), (client, sends) = re.findall(r"^    rocelab shell (\w+) -- (ib_send_bw .*?)(?: &)?$", page, re.M)
    waiting = live.start(server, *waits.split())
    time.sleep(2)
    done = live.shell(client, *sends.split())
    observed, _ = waiting.communicate(timeout=STALL_LIMIT_S)
    check(done.returncode == 0 and waiting.returncode == 0, "ib_send_bw as documented: both ends are done", (done, observed))
    row = next(line.split() for line in done.stdout.splitlines() if re.match(r"\s*16384\s", line))
    # On a busy machine perftest's calibration of its two clocks may leave it 0.00: the switch counts what crossed, below.
    check(row[1] == "200" and float(row[3]) >= 0, "  it prints a bandwidth", row)


def rping(live, server, client):
    """
    Its exit status may be -1 although all went well: before July 2025 its thread of CM events may read a channel that
    main() has destroyed (rdma-core #1622, "Fix spurious failure return codes"), and says "rdma_get_cm_event" then.
    """
    waiting = live.start(server, "rping", "-s", "-C", "10", "-S", "1000", "-a", address(live, server))
    time.sleep(2)
    done = live.shell(client, "rping", "-c", "-V", "-v", "-C", "10", "-S", "1000", "-a", address(live, server))
    observed, _ = waiting.communicate(timeout=STALL_LIMIT_S)
    shown = done.stdout.count("ping data:")
    at_its_end = done.returncode == 255 and re.search("^rdma_get_cm_event: ", done.stderr, re.M)
    check(shown == 10, f"rping: {shown} of ten exchanges, verified", (done.stderr, observed, done.returncode))
    check(done.returncode == 0 or at_its_end, "rping: no error", (done.stderr, observed, done.returncode))


def ping(live, src, dst):
    done = live.shell(src, "ping", "-c", "5", "-i", "0.3", address(live, dst))
    check("5 received" in done.stdout, "ping: five answers", done)
    best_ms = float(re.search(r"min/avg/max/mdev = ([0-9.]+)", done.stdout).group(1))
    check(best_ms >= 0.3, f"ping: {best_ms} ms, and the cables alone take 0.3 ms", done.stdout)


def main():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        skip(f"not installed here: {' '.join(missing)}")
    live = Live(scenario(), "--hold", "600s", "--capture", "a:3")
    live.begun()
    ping(live, "h0", "h2")
    rping(live, "h2", "h0")
    bandwidth(live, "ib_send_bw", "h2", "h0", "-e")
    as_documented(live)
    bandwidth(live, "ib_write_bw", "h1", "h3")
    done = live.shell("h1", "sh", "-c", "exit 9")
    check(done.returncode == 9, "a command's exit status", done)
    check(live.process.poll() is None, "the run is held")
    live.interrupt()
    run = live.end(expect=INTERRUPTED)
    check(run.run["end_reason"] == "interrupt", "Ctrl-C ends it", run.run["end_reason"])
    no_drop(run, "tools")
    invariants(run, "tools")
    for host, least in (("h0", 2 * 200 * 16384), ("h3", 200 * 16384)):
        sent = of_host(run, host)["port"]["from_host_bytes"]
        check(sent > least, f"what {host} sent went through the switch", sent)
    done = command("sh", "-c", f"test -s {run.dir}/capture.pcapng")
    check(done.returncode == 0, "and was captured")


if __name__ == "__main__":
    need_guests()
    main()
