#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The store of a run: it adds up, the run is the same without it, and show and query print what is in it."""
import csv
import io
import json
import re
import sqlite3
import subprocess

from cases import fault, ring, small
from harness import ROCELAB, SCENARIOS, SOURCE, Run, check, command, file_limit, rocelab, scenario_file, scratch, sets, until

# Two senders of one rack and a neighbour to a host of the other: pauses, and marks in the class that is not lossless.
STORM = fault("pfc-storm", port="S:1", start="100us", duration="200us")
INCAST = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
flows = ( { src = "h0"; dst = "h4"; sport = 49152; bytes = "4MB"; }, { src = "h1"; dst = "h4"; sport = 49153; bytes = "4MB"; },
          { src = "h2"; dst = "h4"; sport = 49154; bytes = "4MB"; } );
switch = { profile = "ns3"; ecn = { kmin = "20KB"; kmax = "80KB"; }; };
host = { profile = "ns3"; dcqcn = { echo = "cnp"; }; };
%s
"""
# Leaves with their hosts in a partition each.
REAL_TIME = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "200Mbps"; delay = "50us"; };
timing = { clock = "real"; };
flows = ( { src = "h0"; dst = "h2"; sport = 49152; bytes = "5MB"; }, { src = "h1"; dst = "h2"; sport = 49153; bytes = "5MB"; } );
"""
IN_FLIGHT = 8  # ACKs and CNPs, when the last byte has arrived


def rows(run, sql):
    return sqlite3.connect(run.dir / "run.sqlite").execute(sql).fetchall()


def one(run, sql):
    return rows(run, sql)[0][0]


def adds_up(run, name):
    """Counters of the two ends of a cable, of a port's classes, and of the last rows of the series are the same."""
    check(not rows(run, "SELECT * FROM port_counters a JOIN ports USING (port) JOIN port_counters b ON b.port = peer "
                        "WHERE a.rx_packets != b.tx_packets OR a.rx_bytes != b.tx_bytes"), f"{name}: what is sent is received")
    check(one(run, "SELECT sum(tx_packets) FROM port_counters") > 0, f"{name}: and something is")
    wrong = rows(run, "SELECT ports.name, tx_packets, sum(packets) FROM port_counters JOIN ports USING (port) JOIN nodes USING (node) "
                      "JOIN queue_counters USING (port) WHERE kind = 'switch' GROUP BY port HAVING sum(packets) != tx_packets OR "
                      "sum(bytes) != tx_bytes")
    check(not wrong, f"{name}: a port sends what its queues do", wrong)
    check(not rows(run, "SELECT * FROM port_counters c JOIN (SELECT *, max(time_ns) FROM port_series GROUP BY port) s USING (port) "
                        "WHERE s.rx_bytes != c.rx_bytes OR s.tx_bytes != c.tx_bytes OR s.rx_packets != c.rx_packets"),
          f"{name}: the series end with the counters")
    check(not rows(run, "SELECT * FROM pfc_counters c JOIN (SELECT *, max(time_ns) FROM queue_series GROUP BY port, class) s "
                        "USING (port, class) WHERE s.rx_pause > c.rx_pause OR s.tx_pause > c.tx_pause"), f"{name}: pauses as well")
    check(not rows(run, "SELECT * FROM pfc_counters a JOIN ports USING (port) JOIN pfc_counters b ON b.port = peer AND "
                        "b.class = a.class WHERE a.rx_pause != b.tx_pause"), f"{name}: pauses that are sent are received")
    most = dict(rows(run, "SELECT port, watermark_bytes FROM queue_counters WHERE class = 3 AND watermark_bytes IS NOT NULL"))
    series = dict(rows(run, "SELECT port, max(watermark_bytes) FROM queue_series WHERE class = 3 GROUP BY port"))
    check(all(series[port] == most[port] for port in series if series[port]), f"{name}: watermarks are those of the series",
          (most, series))
    check(not rows(run, "SELECT * FROM queue_series WHERE bytes > watermark_bytes AND watermark_bytes > 0"),
          f"{name}: no queue is longer than its watermark")


def summary(run, name):
    """What other files have as well is the same here."""
    facts = dict(rows(run, "SELECT key, value FROM run"))
    check(facts["digest"] == run.run["digest"] and facts["end_ns"] == run.run["virtual_ns"], f"{name}: the run's facts", facts)
    with open(run.dir / "steps.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    steps = rows(run, "SELECT bytes, start_ns, expect_ns FROM steps")
    check(steps == [tuple(int(line[key]) for key in ("bytes", "start_ns", "expect_ns")) for line in lines], f"{name}: the steps")
    findings = rows(run, "SELECT type, root, explained_ns FROM findings ORDER BY finding")
    check(findings == [(f["type"], f["root"], f["explained_ns"]) for f in run.verdict["findings"]], f"{name}: the findings", findings)
    ledgers = rows(run, "SELECT rank, step, flow, start_ns, wire_ns, late_ns FROM ledgers ORDER BY rowid")
    path = [(*(step[key] for key in ("rank", "step", "flow", "start_ns")),
             *((step["ledger"] or {}).get(key) for key in ("wire_ns", "late_ns"))) for step in run.verdict["critical_path"]]
    check(ledgers == path, f"{name}: the ledgers", (ledgers[:3], path[:3]))
    shown = json.loads(command(ROCELAB, "show", "ledger", run.dir, "--json", "--limit", "0").stdout)
    check([(row["flow"], row["step"]) for row in shown] == [row[2:3] + row[1:2] for row in path if row[2]], f"{name}: show ledger", shown[:3])
    jobs = rows(run, "SELECT job, name, start_ns, end_ns FROM jobs")
    check(jobs == [tuple(job[key] for key in ("job", "name", "start_ns", "end_ns")) for job in run.run["jobs"]], f"{name}: the jobs")
    check(one(run, "SELECT coalesce(sum(retransmits), 0) FROM qps") == run.run["transport"]["retransmits"], f"{name}: retransmits")


def marks_and_pauses():
    run = rocelab(scenario_file(INCAST % ""))
    adds_up(run, "incast")
    summary(run, "incast")
    marked = one(run, "SELECT sum(ecn_marked_packets) FROM queue_counters")
    check(marked > 0 and marked == one(run, "SELECT sum(np_ecn_marked_roce_packets) FROM qps"), "incast: marks arrive", marked)
    sent, handled = rows(run, "SELECT sum(np_cnp_sent), sum(rp_cnp_handled) FROM qps")[0]
    check(0 < handled <= sent, "incast: and so do CNPs", (handled, sent))
    nic = dict(rows(run, "SELECT nic_counters.name, value FROM nic_counters JOIN ports USING (port) WHERE ports.name = 'h4:1'"))
    check(nic["np_cnp_sent"] == one(run, "SELECT sum(np_cnp_sent) FROM qps") and nic["rx_packets_phy"] > 0, "incast: NICs' names", nic)
    paused = rows(run, "SELECT rx_pause, rx_pause_duration_ns, rx_pause_transitions FROM pfc_counters WHERE rx_pause > 0")
    check(paused and all(0 < d < run.run["virtual_ns"] and 0 < t <= p for p, d, t in paused), "incast: pauses have a duration", paused)


def drops():
    run = rocelab(scenario_file(INCAST % 'faults = ( { kind = "corruption"; port = "l1:1"; rate = 0.01; } );'),
                  "--allow-unfinished")
    errors = rows(run, "SELECT ports.name, packets FROM drops JOIN ports USING (port) WHERE reason = 'corrupt'")
    check(sum(packets for _, packets in errors) == run.run["drops"]["corrupt"] > 0, "corruption: dropped where it is checked", errors)
    check(one(run, "SELECT sum(rx_errors) FROM port_counters") == run.run["drops"]["corrupt"], "corruption: errors of ports")
    check(one(run, "SELECT sum(out_of_sequence + duplicate_request) FROM qps") > 0, "corruption: receivers miss packets")


def changes_nothing():
    """Records, verdict and digest are the same without the store, and however fine its grain is; on two lcores as on one."""
    base = rocelab(small(STORM))
    for name, args in (("off", sets(counters__enabled="false")), ("fine", sets(counters__period="5us")),
                       ("no series", sets(counters__rows=0)), ("two lcores", ("--lcores", "2"))):
        run = rocelab(small(STORM), *args)
        check(run.run["digest"] == base.run["digest"], f"{name}: the same digest")
        for file in ("records.bin", "truth.json", "steps.csv"):
            check((run.dir / file).read_bytes() == (base.dir / file).read_bytes(), f"{name}: the same {file}")
        check(run.verdict["findings"] == base.verdict["findings"], f"{name}: the same findings")
        check((run.dir / "run.sqlite").exists() == (name != "off"), f"{name}: the store")
    for table in ("port_series", "queue_series", "port_counters", "queue_counters"):
        check(rows(run, f"SELECT * FROM {table}") == rows(base, f"SELECT * FROM {table}"), f"two lcores: the same {table}")
    check(not (rocelab(small(), *sets(counters__enabled="false")).dir / "run.sqlite").exists(), "off: there is no store")


def bounded():
    """With few rows the grain grows, and the series still reach the end."""
    run = rocelab(SCENARIOS / "case-study.cfg", *sets(counters__rows=2000))
    facts = dict(rows(run, "SELECT key, value FROM run"))
    last = one(run, "SELECT max(time_ns) FROM port_series WHERE time_ns < (SELECT value FROM run WHERE key = 'end_ns')")
    check(facts["rows"] <= 2000 + 2 * one(run, "SELECT count(*) FROM ports"), "bounded: rows", facts)
    check(facts["coarsest_ns"] > facts["period_ns"], "bounded: a coarser grain", facts)
    check(last > facts["end_ns"] / 2, "bounded: up to the end", (last, facts["end_ns"]))
    adds_up(run, "bounded")


def show(run, *words):
    return command(ROCELAB, "show", *words, run.dir).stdout


def shown():
    run = rocelab(scenario_file(INCAST % ""))
    help_text = command(ROCELAB, "show", "--help").stdout.split("Views:\n")[1]
    views = [line[2:28].strip() for line in help_text.splitlines() if re.match(r"  \S", line)]
    rest = [line for line in help_text.splitlines() if line.startswith("   ")]
    check(rest and all(re.match(r" {29}\S", line) for line in rest), "what a view is goes on below itself", rest)
    check("pfc counters" in views and "qp" in views, "show --help lists the views", views)
    for view in views:
        words = view.split()
        text, data = show(run, *words), json.loads(show(run, *words, "--json"))
        check(text.strip(), f"show {view}", text)
        check(isinstance(data, (list, dict)), f"show {view} --json", data)
        tables = [data] if isinstance(data, list) else list(data.values())
        lines = list(csv.reader(io.StringIO(show(run, *words, "--csv"))))
        check(len([line for line in lines if line]) == sum(map(len, tables)) + len(tables), f"show {view} --csv", lines)
    rx = json.loads(show(run, "pfc", "counters", "--json"))["rx"]
    check(list(rx[0]) == ["Port Rx", *(f"PFC{c}" for c in range(8))], "pfc counters: SONiC's columns", rx[0])
    check({r["Port Rx"]: r["PFC3"] for r in rx if r["PFC3"]} == dict(rows(
        run, "SELECT name, rx_pause FROM pfc_counters JOIN ports USING (port) WHERE rx_pause > 0 AND class = 3")), "pfc counters: the store's", rx)
    some = json.loads(show(run, "interfaces", "counters", "--json", "--port", "l1"))
    check(some and all(r["IFACE"].startswith("l1:") for r in some), "--port NODE", some)
    half = json.loads(show(run, "interfaces", "counters", "--json", "--port", "l1:1", "--at", "500us"))
    check(0 < half[0]["TX_OK"] < [r for r in some if r["IFACE"] == "l1:1"][0]["TX_OK"], "--at: less than at the end", half)
    sonic = "IFACE STATE RX_OK RX_BPS RX_UTIL RX_ERR RX_DRP RX_OVR TX_OK TX_BPS TX_UTIL TX_ERR TX_DRP TX_OVR".split()
    check(list(some[0]) == sonic and some[0]["RX_OVR"] is None, "interfaces counters: SONiC's columns; a MAC without overruns has none", some[0])
    check(show(run, "interfaces", "--csv") == show(run, "interfaces", "counters", "--csv"), "interfaces: its only view")
    for args, text in ((("show", "pfc"), "there are: pfc counters, pfc history\n"), (("show",), "give a view: interfaces counters, "),
                       (("show", "interfaces", "/nowhere"), "there are: interfaces counters\n"),
                       (("show", "meteors"), "there are: interfaces counters, "), (("show", "ecn", "--at", "1ms"), "no series"),
                       (("show", "pfc", "counters", run.dir, "--port", "l9"), "no such port"),
                       (("show", "pfc", "counters", "/nowhere"), "run.sqlite"), (("query", run.dir, "SELEKT"), "syntax error"),
                       (("query", run.dir, "SELECT * FROM meteors"), "no such table: meteors; rocelab query --tables has"),
                       (("query", run.dir, "DROP TABLE run"), "not changed"), (("query", run.dir), "give the folder")):
        done = command(ROCELAB, *args, expect=2)
        check(text in done.stderr, f"refused: {' '.join(map(str, args[:3]))}", done.stderr)
    check(command(ROCELAB, "query", run.dir, "SELECT 'a,\"b' AS x, NULL AS y, 1.5 AS z", "--csv").stdout == 'x,y,z\n"a,""b",,1.5\n',
          "query --csv: quoted")
    check(json.loads(command(ROCELAB, "query", run.dir, "SELECT 1 AS a WHERE 0", "--json").stdout) == [], "query --json: no rows")
    more = command(ROCELAB, "query", run.dir, "SELECT * FROM port_series", "--limit", "3").stdout
    check("more rows: --limit 0" in more and len(more.splitlines()) == 5, "query --limit", more)


def diagnosed_again():
    """Its findings replace those of the run; elsewhere they leave the store as it is."""
    run = rocelab(scenario_file(INCAST % ""))
    there = rows(run, "SELECT * FROM findings")
    connection = sqlite3.connect(run.dir / "run.sqlite")
    connection.execute("DELETE FROM findings")
    connection.commit()
    command(ROCELAB, "diagnose", run.dir, "--out", scratch())
    check(not rows(run, "SELECT * FROM findings"), "diagnose --out: not into the run's store")
    command(ROCELAB, "diagnose", run.dir)
    check(rows(run, "SELECT * FROM findings") == there and there, "diagnose: the findings are there again", there)


def partitions():
    """The counters of all partitions are in the store of the run, those of the cables between them as well."""
    run = rocelab(scenario_file(REAL_TIME), "--partitions", "2")
    ports = rows(run, "SELECT a.name, a.port IN (SELECT port FROM port_counters), x.tx_packets, y.rx_packets FROM ports a "
                      "LEFT JOIN port_counters x USING (port) LEFT JOIN port_counters y ON y.port = a.peer")
    check(all(there for _, there, _, _ in ports), "partitions: every port has counters", ports)
    check(all(0 <= sent - received <= IN_FLIGHT for _, _, sent, received in ports), "partitions: what is sent is received", ports)
    check(sum(sent for _, _, sent, _ in ports) > 10000, "partitions: and something is", ports)
    ends = rows(run, "SELECT src, dst, retransmits IS NULL, out_of_sequence IS NULL FROM qps ORDER BY qp")
    check(ends == [("h0", "h2", 0, 0), ("h1", "h2", 0, 0)], "partitions: both ends of every connection", ends)


def watchdogs():
    """What the watchdog of a queue found and dropped is what the records have of it."""
    storm = small(fault("pfc-storm", port="S:1", start="100us", duration="500us"))
    check(rows(rocelab(storm), "SELECT * FROM pfc_watchdog") == [], "pfcwd: off, there is none")
    run = rocelab(storm, *sets(switch__watchdog__enabled="true", switch__watchdog__detection_time="100us",
                               switch__watchdog__restoration_time="100us"))
    found = rows(run, "SELECT name, class, action, detection_ns, detected, restored, stormed, dropped_packets FROM pfc_watchdog "
                      "JOIN ports USING (port) WHERE detected > 0")
    check(found and all(f[1:4] == (3, "drop", 100_000) and f[4] - f[5] == f[6] for f in found), "pfcwd: storms", found)
    dropped = one(run, "SELECT coalesce(sum(packets), 0) FROM drops WHERE reason = 'watchdog'")
    check(0 < dropped == sum(f[7] for f in found), "pfcwd: what was dropped", (dropped, found))
    stats = {r["QUEUE"]: r for r in json.loads(show(run, "pfcwd", "stats", "--json"))}
    check(all(stats[f"{f[0]}:{f[1]}"]["STORM DETECTED/RESTORED"] == f"{f[4]}/{f[5]}" for f in found), "show pfcwd stats: SONiC's columns", stats)
    config = json.loads(show(run, "pfcwd", "config", "--json"))
    check([(c["ACTION"], c["DETECTION TIME MS"]) for c in config] == [("drop", 0.1)], "show pfcwd config", config)


def live():
    """A run that goes on is asked for its counters; what it does stays the same."""
    scenario, out = small(collective=ring(step_bytes=80_000_000, payload="synthetic")), scratch() / "run"
    base = rocelab(scenario)
    seen = []
    with subprocess.Popen([str(w) for w in (ROCELAB, "run", scenario, "--out", out)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        until("it listens", (out / "live").exists, started)
        done = command(ROCELAB, "show", "interfaces", "counters", out, expect=2)
        check("its run goes on" in done.stderr and "--live" in done.stderr, "live: without --live, what to type", done.stderr)
        while started.poll() is None:
            done = command(ROCELAB, "show", "interfaces", "counters", out, "--live", "--json", expect=None)
            if done.returncode == 0:
                seen.append(sum(r["TX_OK"] for r in json.loads(done.stdout)))
        check(started.wait() == 0, "live: the run ends well", started.returncode)
    check(seen and seen == sorted(seen), "live: counters grow", seen)
    run = Run(out)
    end = sum(r["TX_OK"] for r in json.loads(show(run, "interfaces", "counters", "--json")))
    check(0 < seen[0] < end and seen[-1] <= end, "live: up to those at the end", (seen, end))
    check(run.run["digest"] == base.run["digest"], "live: the same digest")
    check(not (out / "live").exists() and not (out / "live.lock").exists(), "live: the socket goes with the run", sorted(out.iterdir()))
    for args, text in (((out, "--live"), "no run goes on in"), (("--live",), "no run goes on below out/"), ((out, "--live", "--at", "1ms"), "no --at"),
                       ((out, "--every", "1s"), "without --every the counters of its end"), ((out, "--every", "1s", "--at", "1ms"), "--every has no --at"),
                       ((out, "--live"), "without --live the counters"), ((out, "--every", "1"), "with its unit")):
        done = command(ROCELAB, "show", "interfaces", "counters", *args, expect=2)
        check(text in done.stderr, f"live, refused: {' '.join(map(str, args[-2:]))}", done.stderr)


def not_written():
    """A store that does not fit is missing, everything else is there, and the exit code says so."""
    scenario, out = SCENARIOS / "case-study.cfg", scratch()
    sizes = {path.name: path.stat().st_size for path in rocelab(scenario).dir.iterdir()}
    check(max(sizes, key=sizes.get) == "run.sqlite", "full: the store is the largest file", sizes)
    done = command(ROCELAB, "run", scenario, "--out", out, expect=1, preexec_fn=file_limit(sizes["run.sqlite"] - 1))
    check(done.stderr.count("run.sqlite: File too large") == 1, "full: the error, once", done.stderr)
    check(not (out / "run.sqlite").exists() and not list(out.glob(".*.new")), "full: no half a store", sorted(out.iterdir()))
    check((out / "verdict.json").exists() and (out / "run.json").exists() and (out / "records.bin").exists(), "full: the rest is there")


def documented():
    """docs/outputs.md has the tables as they are."""
    page = (SOURCE / "docs/outputs.md").read_text(encoding="utf-8")
    tables = command(ROCELAB, "query", "--tables").stdout
    check(f"<!-- tables -->\n{tables}<!-- /tables -->" in page, "docs/outputs.md has the tables", "renew it: build/cli/rocelab query --tables")
    run = rocelab(small())
    names = {name for name, in rows(run, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    check(names == {line[5:] for line in tables.splitlines() if line.startswith("#### ")}, "and no others are there", names)


if __name__ == "__main__":
    marks_and_pauses()
    drops()
    changes_nothing()
    bounded()
    shown()
    diagnosed_again()
    partitions()
    watchdogs()
    live()
    not_written()
    documented()
