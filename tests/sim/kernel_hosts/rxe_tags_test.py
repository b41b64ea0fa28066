#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts with their own kernel send tags: the traffic class of a queue pair changes between iterations, in state SQD."""
import collections

from harness import STALL_LIMIT_S, check
from pcapng import Capture, is_roce
from rxe import Live, invariants, need_guests, no_drop, ring, scenario, whole

ITERATIONS = 3


def tagged():
    live = Live(scenario(ring(size="256KB", iterations=ITERATIONS, measured="true")), "--capture", "a:1")
    live.begun()
    run = live.end(timeout=STALL_LIMIT_S)
    whole(run, "tags", ITERATIONS)
    no_drop(run, "tags")
    invariants(run, "tags")
    frames = [f for f in Capture(run.dir / "capture.pcapng").of("a:1", False) if is_roce(f.bytes)]
    data = [f.bytes for f in frames if f.bytes[42] <= 0x0b and len(f.bytes) > 200]
    seen = collections.Counter(bytes_[15] >> 2 for bytes_ in data)
    check(sorted(seen) == [4 * i + 3 for i in range(ITERATIONS)], "tags: h0's kernel sends those of the iterations", seen)
    check(len(set(seen.values())) == 1, "tags: as much in each", seen)
    order = [bytes_[15] >> 2 for bytes_ in data]
    check(order == sorted(order), "tags: one iteration after another")
    check(len({bytes_[34:36] for bytes_ in data}) == 1, "tags: by one source port, as before",
          {bytes_[34:36] for bytes_ in data})
    answers = {f.bytes[15] >> 2 for f in frames if f.bytes[42] == 0x11}
    check(all(dscp % 4 != 3 for dscp in answers), "tags: ACKs have none", answers)


need_guests()
tagged()
