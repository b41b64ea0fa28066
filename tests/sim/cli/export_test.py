#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab export: every format has what the store has, and keeps its own rules."""
import csv
import json
import os
import pty
import re
import sqlite3
import struct
import subprocess

import pcapng
from cases import fault, small
from harness import ROCELAB, SOURCE, check, command, rocelab, scratch

FLOW = 'flows = ( { src = "a1"; dst = "b2"; sport = 10007; bytes = "1MB"; start = "10us"; } );\n'


def export(run, *args, out=None):
    out = out or scratch() / "export"
    command(ROCELAB, "export", args[0], run.dir, *args[1:], "--out", out)
    return out


def rows(run, sql):
    with sqlite3.connect(run.dir / "run.sqlite") as connection:
        return connection.execute(sql).fetchall()


def fields(data):
    """[(number, value)] of a message of protobuf: integers, or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            size = varint() if size is None else size
            found.append((key >> 3, data[at:at + size]))
            at += size
    assert at == len(data)
    return found


def perfetto(run):
    data = export(run, "perfetto").read_bytes()
    packets = [dict(fields(packet)) for number, packet in fields(data) if number == 1]
    end_ns, tracks, open_slices, slices, counters = run.run["virtual_ns"], {}, {}, [], {}
    check(packets[0].get(13) == 1 and all(13 not in p for p in packets[1:]), "perfetto: state is cleared once")
    check(all(p[10] == 1 for p in packets), "perfetto: one sequence")
    for packet in packets:
        if 60 in packet:
            track = dict(fields(packet[60]))
            check(track[1] not in tracks and track.get(5, track[1]) in {*tracks, track[1]}, "perfetto: a track is new, its parent is there", track)
            tracks[track[1]] = track
            continue
        event = dict(fields(packet[11]))
        track = tracks[event[11]]
        assert packet[8] <= end_ns, (packet[8], end_ns)
        if event[9] == 4:
            assert 8 in track and (30 in event) != (44 in event), event
            value = event.get(30, struct.unpack("<d", event[44])[0] if 44 in event else None)
            counters.setdefault(track[2].decode(), []).append((packet[8], value))
        elif event[9] == 1:
            stack = open_slices.setdefault(event[11], [])
            assert not stack and 8 not in track, "slices of a track follow one another"
            stack.append((packet[8], event[23].decode()))
        else:
            start, name = open_slices[event[11]].pop()
            assert start <= packet[8]
            slices.append((track[2].decode(), name, start, packet[8]))
    check(not any(open_slices.values()), "perfetto: every slice ends")
    processes = [dict(fields(t[3]))[6].decode() for t in tracks.values() if 3 in t]
    pids = [dict(fields(t[3]))[1] for t in tracks.values() if 3 in t]
    check(processes == ["findings", "job allgather-0", "flows", "ports"] and len(set(pids)) == 4, "perfetto: the processes", processes)
    steps = sorted((s, e) for track, name, s, e in slices if track.startswith("rank"))
    check(steps == sorted(rows(run, "SELECT start_ns, end_ns FROM steps WHERE job IS NOT NULL")), "perfetto: every step", len(steps))
    check([name for track, name, _, _ in slices if track.startswith("finding")] ==
          [f"{kind} {root}" for kind, root in rows(run, "SELECT type, root FROM findings ORDER BY finding")], "perfetto: every finding")
    check([(t, s, e) for t, _, s, e in slices if "->" in t] == [("a1 -> b2", *rows(run, "SELECT begin_ns, end_ns FROM flows")[0])],
          "perfetto: every flow")
    check(all(times == sorted(times) for times in ([t for t, _ in c] for c in counters.values())), "perfetto: counters in order of time")
    queues = {f"{name} queue {cls}": most for name, cls, most in rows(
        run, "SELECT name, class, max(bytes) FROM queue_series JOIN ports USING (port) GROUP BY port, class HAVING max(bytes) > 0")}
    check({name: max(v for _, v in c) for name, c in counters.items() if " queue " in name} == queues, "perfetto: the most of each queue")
    check(all(c[-1][1] == 0 for name, c in counters.items() if " queue " in name), "perfetto: queues are empty in the end", counters)
    for name, cls, spent in rows(run, "SELECT name, class, max(rx_pause_duration_ns) FROM queue_series JOIN ports USING (port) "
                                      "GROUP BY port, class HAVING max(rx_pause_duration_ns) > 0"):
        points = counters[f"{name} paused {cls}"]
        total = sum(share / 100 * (after - time) for (time, share), (after, _) in zip(points, points[1:]))
        check(abs(total - spent) <= 0.001 * spent + 1, f"perfetto: the time that {name} was paused", (total, spent))
    check(any(" paused " in name for name in counters), "perfetto: pauses", list(counters))


def metrics(run):
    text = export(run, "openmetrics").read_text()
    lines = text.splitlines()
    check(lines[-1] == "# EOF" and lines.count("# EOF") == 1, "openmetrics: it ends")
    families, family, seen, samples = {}, None, set(), {}
    for line in lines[:-1]:
        head = re.fullmatch(r"# (HELP|TYPE) ([a-z_0-9]+) (.*)", line)
        if head and head[1] == "HELP":
            family = head[2]
            check(family not in families and not family.endswith("_total"), f"openmetrics: {family} stands once")
            families[family] = None
        elif head:
            assert head[2] == family and families[family] is None and head[3] in ("counter", "gauge"), line
            families[family] = head[3]
        else:
            sample = re.fullmatch(r'([a-z_0-9]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)+)\} (\S+)', line)
            assert sample and sample[1] == family + ("_total" if families[family] == "counter" else ""), line
            assert (sample[1], sample[2]) not in seen and float(sample[3]) >= 0, line
            seen.add((sample[1], sample[2]))
            samples.setdefault(sample[1], []).append((dict(re.findall(r'([a-z_]+)="([^"]*)"', sample[2])), float(sample[3])))
    sent = {(n, p): v for n, p, v in rows(run, "SELECT nodes.name, ports.name, tx_bytes FROM port_counters JOIN ports USING (port) JOIN nodes USING (node)")}
    check({(l["instance"], l["device"]): v for l, v in samples["node_network_transmit_bytes_total"]} == sent, "openmetrics: node_exporter's octets")
    nics = {p: v for (n, p), v in sent.items() if n in ("a1", "a2", "b1", "b2")}
    check({l["device"]: v for l, v in samples["rdma_port_xmit_data_total"]} == {p: v // 4 for p, v in nics.items()}, "openmetrics: words of RDMA ports")
    paused = rows(run, "SELECT sum(rx_pause_duration_ns) FROM pfc_counters")[0][0]
    check(abs(sum(v for l, v in samples["rocelab_pfc_pause_seconds_total"] if l["direction"] == "rx") * 1e9 - paused) < 1e3, "openmetrics: pauses")
    page = (SOURCE / "docs/exports.md").read_text().split("<!-- metrics -->")[1].split("<!-- /metrics -->")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.M))
    check(set(samples) <= set(documented), "docs/exports.md has the metrics", set(samples) - set(documented))
    text = export(run, "prometheus").read_text()
    check(set(re.findall(r"^# TYPE (\w+)", text, re.M)) == set(samples), "prometheus: the names in # TYPE are those of samples")
    helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.M))
    check(all(documented[name] == text for name, text in helps.items()), "docs/exports.md has their meaning", helps)
    source = (SOURCE / "cli/export/openmetrics.c").read_text()
    check(all(name.removesuffix("_total").removeprefix("rdma_") in source for name in documented), "docs/exports.md has no others")


def tables(run):
    folder = scratch() / "tables"
    export(run, "csv", out=folder)
    names = {name for name, in rows(run, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    check({path.name for path in folder.iterdir()} == {f"{name}.csv" for name in names}, "csv: a file a table")
    for name in names:
        with open(folder / f"{name}.csv", newline="") as file:
            lines = list(csv.reader(file))
        there = rows(run, f"SELECT * FROM {name}")
        check(lines[0] == [row[1] for row in rows(run, f"PRAGMA table_info({name})")] and len(lines) == len(there) + 1, f"csv: {name}")
        check([[v != "" for v in line] for line in lines[1:]] == [[v is not None and v != "" for v in row] for row in there], f"csv: NULL of {name}")


def nccl(run):
    data = json.loads(export(run, "nccl").read_text())
    there = rows(run, "SELECT bytes, (end_ns - start_ns) / 1e3, busbw, wrong FROM collectives")
    found = [(r["size"], r["in_place"]["time"], r["in_place"]["bus_bw"], r["in_place"]["nwrong"]) for r in data["results"]]
    check(len(found) == 1 and all(abs(a - b) < 1e-6 * max(1, b) for a, b in zip(found[0], there[0])), "nccl: the collectives", (found, there))


def frames():
    run = rocelab(small(fault("pfc-storm", port="S:1", start="100us", duration="200us"), extra=FLOW), "--capture", "S:1,a1:1")
    whole = pcapng.Capture(run.dir / "capture.pcapng")
    kinds = {"pfc": pcapng.is_pfc, "roce": pcapng.is_roce, "ack": lambda f: pcapng.is_roce(f) and f[42] == 0x11,
             "data": lambda f: pcapng.is_roce(f) and f[42] not in (0x11, 0x81), "cnp": lambda f: pcapng.is_roce(f) and f[42] == 0x81,
             "other": lambda f: not pcapng.is_pfc(f) and not pcapng.is_roce(f)}
    for kind, is_kind in kinds.items():
        part = pcapng.Capture(export(run, "pcapng", "--frames", kind))
        check(part.frames == [f for f in whole.frames if is_kind(f.bytes)], f"pcapng: {kind}", len(part.frames))
    check(any(pcapng.is_pfc(f.bytes) for f in whole.frames), "pcapng: there are pauses")
    part = pcapng.Capture(export(run, "pcapng", "--from", "100us", "--to", "200us", "--port", "a1:1", "--sport", "10007"))
    wanted = [f for f in whole.frames if 100_000_000 <= f.time_ps < 200_000_000 and f.port == "a1:1" and f.bytes[34:36] == b"\x27\x17" and pcapng.is_roce(f.bytes)]
    check(part.frames == wanted and wanted, "pcapng: a window, a port, a flow", (len(part.frames), len(wanted)))
    check(part.ports == whole.ports and part.section == whole.section, "pcapng: interfaces stay")
    done = command(ROCELAB, "export", "pcapng", run.dir, "--from", "10s", "--out", scratch() / "none.pcapng")
    check(f"none of the {len(whole.frames)} frames" in done.stderr, "pcapng: nothing selected is reported", done.stderr)
    for args, text in ((("--port", "S:2"), "was not captured"), (("--frames", "x"), "give pfc"), (("--from", "2ms", "--to", "1ms"), "not after")):
        done = command(ROCELAB, "export", "pcapng", run.dir, *args, expect=2)
        check(text in done.stderr, f"pcapng refused: {' '.join(args)}", done.stderr)
    damaged = scratch()
    (damaged / "capture.pcapng").write_bytes((run.dir / "capture.pcapng").read_bytes()[:-5])
    check("ends within a block" in command(ROCELAB, "export", "pcapng", damaged, "--out", damaged / "x", expect=2).stderr, "pcapng: a damaged file")
    check(not (damaged / "x").exists(), "pcapng: no half a file")


def terminal(run):
    """What is not text is not written to a terminal."""
    for kind in ("perfetto", "pcapng"):
        outer, inner = pty.openpty()
        done = subprocess.run([str(ROCELAB), "export", kind, str(run.dir)], stdout=inner, stderr=subprocess.PIPE, text=True)
        os.close(inner)
        os.close(outer)
        check(done.returncode == 2 and "give --out FILE" in done.stderr, f"{kind}: not to a terminal", done.stderr)


def refused(run):
    for args, text in ((("export",), "give a format"), (("export", "excel", run.dir), "no such format; there are: perfetto, openmetrics, "), (("export", "csv", run.dir), "--out"),
                       (("export", "perfetto", run.dir, "--from", "1ms"), "select frames"), (("export", "perfetto", "/nowhere"), "run.sqlite"),
                       (("export", "pcapng", run.dir), "--capture PORT")):
        check(text in command(ROCELAB, *args, expect=2).stderr, f"refused: {' '.join(map(str, args[:2]))}")


if __name__ == "__main__":
    stormy = rocelab(small(fault("pfc-storm", port="S:1", start="100us", duration="200us"), extra=FLOW))
    perfetto(stormy)
    metrics(stormy)
    tables(stormy)
    nccl(stormy)
    refused(stormy)
    terminal(stormy)
    frames()
