#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A diagnoser of one rule: it reports a port whose queue reaches a number of packets, when that is first seen.

    rocelab run topo/scenarios/case-study.cfg --diagnoser scripts/records/deep_ports.py

DEEP_PORTS in the environment sets how many (100). It has a deep port of a switch polled at the ends of the next epochs, and prints
how deep each became. Its requests and findings: docs/bring-your-own.md.
"""
import os

import rocelab_records

LIMIT = int(os.environ.get("DEEP_PORTS", "100"))
POLLS = 4  # of a deep port
HOST = 1  # NODE.kind


class Port:
    """State of a port with a deep queue."""

    def __init__(self, name, row):
        self.name, self.polls = name, POLLS
        self.start_ps, self.end_ps, self.depth = row["from_ps"], row["to_ps"], row["depth_max"]

    def add(self, row):
        self.start_ps, self.end_ps = min(self.start_ps, row["from_ps"]), max(self.end_ps, row["to_ps"])
        self.depth = max(self.depth, row["depth_max"])


def main():
    session, deep, hosts = rocelab_records.Session(), {}, set()
    for turn in session:
        for record in turn.records:
            if record.type == "NODE" and record["kind"] == HOST:
                hosts.add(record["name"])
            if record.type != "PORT_ROW" or record["depth_max"] < LIMIT:
                continue
            name = session.reader.port(record.node, record["port"])
            if name in deep:
                deep[name].add(record)
                continue
            deep[name] = Port(name, record)
            session.find("deep-queue", f"{record['depth_max']} packets stood behind {name}, {LIMIT} or more",
                         record["from_ps"], record["to_ps"], confidence=0.5, ports=[name])
        for port in deep.values():
            if port.polls > 0 and session.begin["live"] and not turn.last and port.name.split(":")[0] not in hosts:
                port.polls -= 1
                session.poll(port=port.name)
    for port in deep.values():
        print(f"{port.name}: up to {port.depth} packets, from {port.start_ps / 1e9:.3f} to {port.end_ps / 1e9:.3f} ms")


if __name__ == "__main__":
    main()
