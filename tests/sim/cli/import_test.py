#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of other tools, written here: a scenario is made of each, runs, and does what the file says; the same ring as MSCCL's
XML and as Chakra's traces has the same steps at the same times; what cannot be carried out is refused with its place."""
import struct

from harness import ROCELAB, check, command, dpswitch, rocelab, scratch

CHUNK = 40000
FOLDER = scratch()


def ring_xml(gpus):
    """AllReduce: a chunk goes round, adding up; then it goes round again."""
    lines = [f'<algo name="ring" proto="Simple" nchannels="1" nchunksperloop="{gpus}" ngpus="{gpus}" coll="allreduce" inplace="1">']
    for gpu in range(gpus):
        lines.append(f'<gpu id="{gpu}" i_chunks="{gpus}" o_chunks="0" s_chunks="0">')
        lines.append(f'<tb id="0" send="{(gpu + 1) % gpus}" recv="{(gpu - 1) % gpus}" chan="0">')
        steps = []
        for hop in range(1, 2 * gpus - 1):
            steps.append(("s", (gpu - hop) % gpus))
            steps.append(("rrc" if hop < gpus else "r", (gpu - hop - 1) % gpus))
        for s, (kind, chunk) in enumerate(steps):
            lines.append(f'<step s="{s}" type="{kind}" srcbuf="i" srcoff="{chunk}" dstbuf="i" dstoff="{chunk}" cnt="1" '
                         'depid="-1" deps="-1" hasdep="0"/>')
        lines += ["</tb>", "</gpu>"]
    return "\n".join(lines + ["</algo>"])


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """protobuf: a varint, or a block of bytes with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, number, value):
    if number == 21:  # fixed64
        body = varint(number << 3 | 1) + struct.pack("<Q", value)
    else:
        body = field(number, value)
    return field(10, field(1, name.encode()) + body)


def node(ident, kind, deps, micros=0, attributes=b""):
    packed = b"".join(varint(dep) for dep in deps)
    body = (field(1, ident) if ident else b"") + field(2, b"node") + field(3, kind) + (field(5, packed) if deps else b"")
    body += (field(7, micros) if micros else b"") + attributes
    return varint(len(body)) + body


def metadata():
    body = field(1, b"0.0.4")
    return varint(len(body)) + body


def ring_trace(rank, ranks, micros):
    """What the XML's converter makes of it: every reception that adds is one node and a computation behind it."""
    out, ident, before = metadata(), 0, []
    for hop in range(1, 2 * ranks - 1):
        size = attribute("comm_size", 21, CHUNK)
        out += node(ident, 5, before, attributes=size + attribute("comm_dst", 7, (rank + 1) % ranks) + attribute("comm_tag", 7, 0))
        out += node(ident + 1, 6, [ident], attributes=size + attribute("comm_src", 7, (rank - 1) % ranks) + attribute("comm_tag", 7, 0))
        ident, before = ident + 2, [ident + 1]
        if hop < ranks:
            out += node(ident, 4, before, micros=micros)
            ident, before = ident + 1, [ident]
    return out


def imported(name, *args):
    path = FOLDER / f"{name}.cfg"
    command(ROCELAB, "import", *args, "--out", path)
    return path


def refused(what, place, *args):
    done = command(ROCELAB, "import", *args, "--out", FOLDER / "none.cfg", expect=2)
    check(place in done.stderr and not (FOLDER / "none.cfg").exists(), f"{what} is refused", done.stderr)


def timeless(row):
    """A step without what names its collective."""
    return {key: value for key, value in row.items() if key not in ("job", "collective", "sport")}


def rings():
    (FOLDER / "ring.xml").write_text(ring_xml(4))
    for rank in range(4):
        (FOLDER / f"ring.{rank}.et").write_bytes(ring_trace(rank, 4, 2))
    xml = imported("xml", "msccl", FOLDER / "ring.xml", "--bytes", str(4 * CHUNK), "--local-rate", f"{CHUNK * 8 // 2}Mbps")
    traces = imported("traces", "chakra", *(FOLDER / f"ring.{rank}.et" for rank in range(4)))
    check('file = "ring.xml"' in xml.read_text(), "a scenario names a file beside it by its name")
    first = rocelab(xml)
    one, other = first.steps(), rocelab(traces).steps()
    check(len(one) == 4 * (6 + 3), "steps of the ring", len(one))
    check([timeless(row) for row in one] == [timeless(row) for row in other],
          "XML and traces have the same steps at the same times")
    again = rocelab(rocelab(traces).dir / "effective.cfg")
    check(again.run["digest"] == rocelab(traces).run["digest"], "effective.cfg is the same run, from another folder")
    built_in = FOLDER / "built-in.cfg"
    built_in.write_text('topology = { kind = "leaf-spine"; leaves = 1; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; '
                        'delay = "1us"; };\n'
                        f'collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = {4 * CHUNK}; }} );\n')
    plain = imported("plain", "msccl", FOLDER / "ring.xml", "--bytes", str(4 * CHUNK))
    check([timeless(row) for row in rocelab(plain).steps()] == [timeless(row) for row in rocelab(built_in).steps()],
          "without the time to add, it is the ring that is built in")
    real = rocelab(plain, "--set", 'collectives.[0].payload="real"')
    check(real.wrong() == ["0"], "every element of the sum is right", real.wrong())
    check(rocelab(xml, "--lcores", "2").run["digest"] == first.run["digest"], "two lcores, the same digest")


def sizes():
    """A trace of one AllReduce of 1 MiB: size and rates of the collective, where its messages have 1/16; of messages alone: none."""
    for rank in range(16):
        body = attribute("comm_type", 9, 0) + attribute("comm_size", 13, 1 << 20)
        (FOLDER / f"one.{rank}.et").write_bytes(metadata() + node(1, 7, [], attributes=body))
    path = imported("one", "chakra", *(FOLDER / f"one.{rank}.et" for rank in range(16)))
    run = dpswitch(path)
    row = next(line for line in run.stdout.splitlines() if line.split()[:1] == [str(1 << 20)]).split()
    took = max(int(step["start_ns"]) + int(step["duration_ns"]) for step in run.steps())
    check({int(step["bytes"]) for step in run.steps()} == {1 << 16}, "its messages are chunks")
    check(row[1:4] == [str(1 << 20), "uint8", "sum"] and abs(float(row[6]) - (1 << 20) / took) < 0.006 and
          abs(float(row[7]) - 30 / 16 * (1 << 20) / took) < 0.006, "the table has the collective's size and rates", (row, took))
    row = next(line for line in rocelab(path).report.splitlines() if "allreduce/file" in line).split()
    check(row[0] == str(1 << 20) and row[-2:] == [f"{(1 << 20) / took:.2f}", f"{30 / 16 * (1 << 20) / took:.2f}"],
          "and so has the report", (row, took))
    row = next(line for line in dpswitch(FOLDER / "traces.cfg").stdout.splitlines() if line.split()[:2] == ["-", "-"]).split()
    check(row[6:8] == ["-", "-"], "messages alone have no size", row)
    row = next(line for line in rocelab(FOLDER / "traces.cfg").report.splitlines() if "custom/file" in line).split()
    check(row[0] == "-" and row[-2:] == ["-", "-"], "nor in the report", row)


def goal():
    (FOLDER / "tree.goal").write_text("num_ranks 3\n"
                                      "rank 0 {\n a: calc 5000\n b: send 90000b to 1 tag 7\n b requires a\n"
                                      " c: calc 100\n c irequires b\n}\n"
                                      "rank 1 {\n a: recv 90000b from 0 tag 7\n b: send 10b to 2\n b requires a\n}\n"
                                      "rank 2 {\n a: recv 10b from 1\n}\n")
    steps = rocelab(imported("goal", "goal", FOLDER / "tree.goal")).steps()
    by_bytes = {int(row["bytes"]): row for row in steps}
    check(sorted(by_bytes) == [0, 10, 90000], "steps of a GOAL text, with lengths in bytes", steps)
    check(int(by_bytes[90000]["start_ns"]) == 5000, "a send waits for what it requires", by_bytes[90000])
    calc = [row for row in steps if row["duration_ns"] == "100"]
    check(calc[0]["start_ns"] == "5000", "irequires waits for the start", calc)
    check(int(by_bytes[10]["start_ns"]) > 5000 + 90000 * 8 / 100, "a send waits for a message", by_bytes[10])


def hpcc():
    mix = FOLDER / "mix"
    mix.mkdir()
    (mix / "topology.txt").write_text("4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 100Gbps 0.001ms 0\n")
    (mix / "flow.txt").write_text("2\n1 3 3 100 500000 2\n2 3 3 100 500000 2\n")
    (mix / "config.txt").write_text("CC_MODE 1\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nHAS_WIN 1\n"
                                    "SIMULATOR_STOP_TIME 3\nPACKET_PAYLOAD_SIZE 1000\n"
                                    "KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n")
    run = rocelab(imported("hpcc", "hpcc", mix / "config.txt"))
    check(run.run["end_reason"] == "complete", "flows of HPCC's files are sent", run.run["end_reason"])
    (mix / "config.txt").write_text("CC_MODE 1\nL2_BACK_TO_ZERO 1\n")
    refused("what the simulator does and we do not", "config.txt:2: L2_BACK_TO_ZERO 1", "hpcc", mix / "config.txt")


def bad():
    text = ring_xml(4).replace('type="rrc"', 'type="r"', 1)
    (FOLDER / "bad.xml").write_text(text)
    refused("an AllReduce that is none", "does no allreduce", "msccl", FOLDER / "bad.xml", "--bytes", str(4 * CHUNK))
    refused("a length that chunks do not divide", "bad.xml:1: ", "msccl", FOLDER / "bad.xml", "--bytes", "1000")
    done = command(ROCELAB, "import", "goal", FOLDER / "tree.goal", "--out", FOLDER / "tree.goal", expect=2)
    check("tree.goal is there, and no scenario that rocelab import made" in done.stderr and
          (FOLDER / "tree.goal").read_text().startswith("num_ranks"), "an input is not written over", done.stderr)
    (FOLDER / "marked.goal").write_bytes(b"\xef\xbb\xbf" + (FOLDER / "tree.goal").read_bytes().replace(b"\n", b"\r\n").rstrip())
    first = imported("marked", "goal", FOLDER / "marked.goal").read_text()
    check(imported("marked", "goal", FOLDER / "marked.goal").read_text() == first,
          "a text of Windows is read, and its scenario may be made again")
    done = command(ROCELAB, "import", "goal", FOLDER / "tree.goal", "--bytes", "1MB", expect=2)
    check("--bytes does not apply to goal" in done.stderr, "another kind's option", done.stderr)
    (FOLDER / "cycle.goal").write_text("num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\n"
                                       "rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n")
    refused("what waits for itself", "waits for itself, through", "goal", FOLDER / "cycle.goal")
    (FOLDER / "lost.goal").write_text("num_ranks 2\nrank 0 {\n}\nrank 1 {\na: recv 1b from 0\n}\n")
    refused("a receive that never comes", "lost.goal:5: rank 1 is a receive without a send", "goal", FOLDER / "lost.goal")
    scenario = FOLDER / "many.cfg"
    scenario.write_text('topology = { kind = "leaf-spine"; leaves = 1; spines = 1; hosts_per_leaf = 4; };\n'
                        'collectives = (\n  { schedule = { kind = "goal"; file = "tree.goal"; }; }\n);\n')
    done = command(ROCELAB, "topo", "check", scenario, expect=2)
    check("many.cfg:3" in done.stderr and "is of 3 ranks; the collective has 4" in done.stderr, "ranks that do not fit",
          done.stderr)
    scenario.write_text(scenario.read_text().replace("schedule =", 'op = "allreduce"; schedule ='))
    done = command(ROCELAB, "topo", "check", scenario, expect=2)
    check("many.cfg:3" in done.stderr and "leave it out" in done.stderr, "an operation beside a file", done.stderr)


rings()
sizes()
goal()
hpcc()
bad()
