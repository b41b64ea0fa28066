#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings that are not as they should be: cut anywhere, or with any field overwritten. They are refused or diagnosed, in
bounded time, and a verdict says what it lacks."""
import json
import random
import re
import struct

import records
from cases import fault, small
from harness import ANALYZER, STALL_LIMIT_S, check, command, dpswitch, fail, scratch

HEADER = struct.Struct("<HHIQII")
COLLECTIVE, PORT = 4, 3
STEPS_AT, END_PS_AT = 24 + 20, 24 + 56  # in COLLECTIVE and STEP
ODD = (0, 1, 2, 0x7f, 0xff, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 1 << 32, 1 << 52, 1 << 62, (1 << 64) - 1)


def offsets(data):
    """(byte offset, kind) of every record."""
    found, at = [], 16
    while at < len(data):
        kind, size = struct.unpack_from("<HH", data, at)
        found.append((at, kind))
        at += size
    return found


def diagnose(data, expect=None):
    """@return (what was said, directory), of exit code 0 or 2"""
    out = scratch()
    (out / "records.bin").write_bytes(data)
    done = command(ANALYZER, "--read", out / "records.bin", "--out", out, "--print", expect=expect, timeout=STALL_LIMIT_S)
    if done.returncode not in (0, 2):
        fail(f"exit code {done.returncode}: {done.stderr}")
    return done, out


def put(data, at, form, value):
    changed = bytearray(data)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


def a_recording():
    story = small(fault("pfc-storm", port="b1:1", start="50us", duration="200us"))
    return (dpswitch(story).dir / "records.bin").read_bytes()


def steps_of_nothing(data):
    at = next(at for at, kind in offsets(data) if kind == COLLECTIVE)
    done, _ = diagnose(put(data, at + STEPS_AT, "<I", 0), expect=2)
    for word in (f"byte {at}", "COLLECTIVE", "steps = 0", "1 to"):
        check(word in done.stderr, f"a collective of no steps is refused: {word}", done.stderr)


def one_bad_report(data):
    at = [at for at, kind in offsets(data) if kind == records.STEP][-1]
    done, out = diagnose(put(data, at + END_PS_AT, "<Q", 0), expect=0)
    check("Incomplete evidence" in done.stdout and "1 bad record" in done.stdout, "a bad report is reported", done.stdout)
    name = records.node_names(records.read_bytes(data))[HEADER.unpack_from(data, at)[2]]
    reported = re.sub(r"\s+", " ", done.stdout)
    check(f"the first of {name}: " in reported and f"byte {at}" in reported and "end_ps" in reported, "whose, which, and what was bad", reported)
    check("100.0 % complete" not in done.stdout, "the evidence is not complete", done.stdout)
    check('"left_out": 1,' in (out / "verdict.json").read_text(), "verdict.json counts it", out)


def cut_anywhere(data):
    known = offsets(data)
    topology = max(at for at, kind in known if kind <= PORT) + 56
    first_step = min(at for at, kind in known if kind >= records.STEP)
    rng = random.Random(6)
    cuts = [0, 7, 16, 60, topology - 1, topology, first_step, first_step + 5, known[-1][0], len(data) - 1]
    for cut in cuts + [rng.randrange(topology, len(data)) for _ in range(30)]:
        done, out = diagnose(data[:cut], expect=2 if cut < topology else 0)
        if cut < topology:
            check("broke off" in done.stderr or "described" in done.stderr or "ends after" in done.stderr,
                  f"cut at {cut}: refused with the reason", done.stderr)
            continue
        verdict = (out / "verdict.json").read_text()
        reported = re.sub(r"\s+", " ", done.stdout)
        check("broke off" in reported and "% complete" not in reported and "innocent." not in reported,
              f"cut at {cut} of {len(data)}: never complete, never innocent", done.stdout)
        check('"truncated": true' in verdict and '"completeness": null' in verdict, f"cut at {cut}: so in JSON", verdict)
        check(not re.search(r"\d{5,} ns expected", reported), f"cut at {cut}: times are readable", reported)
        if cut > first_step + 200:
            at_ms = max(HEADER.unpack_from(data, at)[3] for at, _ in known if at + HEADER.unpack_from(data, at)[1] <= cut) / 1e9
            observed = float(re.search(r"broke off (\d+\.\d+) ms into the run", reported).group(1))
            check(observed >= at_ms - 1e-6, f"cut at {cut}: as of its last record", (observed, at_ms))
    torn, _ = diagnose(data[:first_step + 40], expect=0)
    check("40 B into a record" in re.sub(r"\s+", " ", torn.stdout), "a torn record is reported", torn.stdout)


def any_field(data):
    """Every kind of record, any of its bytes; seeded."""
    rng = random.Random(3)
    by_kind = {}
    for at, kind in offsets(data):
        by_kind.setdefault(kind, []).append(at)
    codes = {0: 0, 2: 0}
    for _ in range(250):
        kind = rng.choice(sorted(by_kind))
        at = rng.choice(by_kind[kind])
        size = HEADER.unpack_from(data, at)[1]
        form = rng.choice(("<B", "<H", "<I", "<Q"))
        width = struct.calcsize(form)
        changed = put(data, at + rng.randrange(0, size // width) * width, form,
                      rng.choice(ODD) & ((1 << 8 * width) - 1))
        codes[diagnose(changed)[0].returncode] += 1
    check(min(codes.values()) > 20, "overwritten fields: some streams are refused, most diagnosed", codes)


def any_byte_of_a_frame(data):
    """What no frame can hold refuses the stream, with where; what it can is diagnosed."""
    rng = random.Random(4)
    frames = records.frames(data)
    codes = {0: 0, 2: 0}
    for _ in range(80):
        at, size = rng.choice(frames)
        where = at + rng.randrange(2, size)
        done, _ = diagnose(put(data, where, "<B", rng.choice((0, 1, 0x7f, 0x80, 0xff, data[where] ^ 1 << rng.randrange(8)))))
        codes[done.returncode] += 1
        if done.returncode == 2:
            check("record stream, byte" in done.stderr or "described" in done.stderr or "SCHEDULE" in done.stderr,
                  "a frame that is none is refused with its place", done.stderr)
    check(min(codes.values()) > 5, "bytes of frames: some streams are refused, most diagnosed", codes)


sent = a_recording()
recording = records.standing_alone(sent)
packed, alone = (json.loads((diagnose(data, expect=0)[1] / "verdict.json").read_text()) for data in (sent, recording))
check(packed["findings"] == alone["findings"] != [], "packed or not, it is the same verdict", packed["findings"])
check(0 < packed["overhead"].pop("row_bytes") < alone["overhead"].pop("row_bytes") / 3, "in a third of the bytes")
sizes = [[kind.pop("bytes") for kind in verdict["overhead"]["kinds"]] for verdict in (packed, alone)]
check([16 + sum(of) for of in sizes] == [len(sent), len(recording)], "every byte is of a kind", sizes)
check(packed["overhead"] == alone["overhead"], "from the same records", packed["overhead"])
any_byte_of_a_frame(sent)
steps_of_nothing(recording)
one_bad_report(recording)
cut_anywhere(recording)
any_field(recording)
