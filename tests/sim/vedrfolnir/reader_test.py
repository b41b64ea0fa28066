#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/records/rocelab_records.py reads records.bin as C does, whole, in portions, and says what is wrong with one that is
not."""
import io
import json
import socket
import sys
import threading

from harness import BUILD, SCENARIOS, SOURCE, check, command, rocelab
import records

sys.path.insert(0, str(SOURCE / "scripts/records"))
import rocelab_records  # pylint: disable=wrong-import-position

READER = SOURCE / "scripts/records/rocelab_records.py"
# Between them nearly every type of record; the rest is configured alike.
RUNS = {
    "case-study.cfg": ("--set", "collectives.[0].step_bytes=2MB"),
    "flowpulse.cfg": ("--set", "collectives.[0].bytes=8MB"),
    "flowtracer.cfg": ("--set", "jobs.[0].collectives.[0].bytes=4MB"),
    "pingmesh.cfg": ("--set", "pingmesh.duration=100ms", "--set", "jobs.[0].iterations=1", "--set", "jobs.[0].compute=10ms"),
}


def in_words(record):
    """As record_dump prints it."""
    words = [record.type, record.node, record.time_ps, record.seq, record.event]
    for name in record.fields:
        value = record[name]
        if isinstance(value, rocelab_records.Flow):
            value = ":".join(map(str, value))
        elif isinstance(value, str):
            value = value.encode().hex()
        words.append(f"{name}={value}")
    return " ".join(map(str, words))


def as_c_reads(name, args):
    run = rocelab(SCENARIOS / name, *args, expect=None)
    path = run.dir / "records.bin"
    listing = command(BUILD / "tests/wire/record_dump", path).stdout.splitlines()
    listing = [line.replace("[", "_").replace("]", "") for line in listing]
    own = [in_words(record) for record in rocelab_records.read(path)]
    wrong = next(((a, b) for a, b in zip(own, listing) if a != b), (len(own), len(listing)))
    check(own == listing, f"{name}: {len(own)} records as C reads them", wrong)
    return path, own


def in_portions(path, own):
    data, reader, found = path.read_bytes(), rocelab_records.Reader(), []
    for at in range(0, len(data), 7):
        found += [in_words(record) for record in reader.feed(data[at:at + 7])]
    check(found == own and reader.bytes == len(data), "seven bytes at a time: the same")
    near, far = socket.socketpair()
    thread = threading.Thread(target=lambda: (far.sendall(data), far.close()))
    thread.start()
    found = [in_words(record) for record in rocelab_records.read(near.makefile("rb"))]
    thread.join()
    check(found == own, "from a socket: the same")


def as_json(path, own):
    done = command(sys.executable, READER, path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    check([line["type"] for line in lines] == [line.split()[0] for line in own], "lines of JSON: all records")
    check(lines[-1]["fields"]["reason"] in rocelab_records.VALUES["END.reason"], "enumerations have names", lines[-1])
    some = command(sys.executable, READER, path, "NODE", "END").stdout.splitlines()
    check({json.loads(line)["type"] for line in some} == {"NODE", "END"}, "those of some types alone")


def what_is_wrong(path):
    data = path.read_bytes()
    done = command(sys.executable, READER, path, "NODES", expect=1)
    check("no record type has the name NODES" in done.stderr and "NODE," in done.stderr, "a type that there is not")
    frame = records.frames(data)[0][0]
    for name, bad, refusal in (("no stream", b"PK\3\4" * 10, "no record stream"), ("another version", data[:8] + b"\xff" + data[9:], "version"),
                            ("a record of no bytes", data[:16] + bytes(24), "byte 16"),
                            ("an unknown type", data[:16] + b"\x63\0\x20\0" + bytes(28), "type 99"),
                            ("half a frame", data[:frame] + b"\x40\0\x20\0" + data[frame + 4:frame + 24] + b"\xff" * 8, "a frame")):
        observed = ""
        try:
            list(rocelab_records.read(io.BytesIO(bad)))
        except ValueError as error:
            observed = str(error)
        check(refusal in observed, name, observed)
    whole = list(rocelab_records.read(io.BytesIO(data[:-10])))
    check(whole[-1].type != "END", "one that is cut ends before its last record")


def main():
    for name, args in RUNS.items():
        path, own = as_c_reads(name, args)
        if name == "case-study.cfg":
            in_portions(path, own)
            as_json(path, own)
            what_is_wrong(path)


main()
