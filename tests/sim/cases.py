# SPDX-License-Identifier: BSD-3-Clause
"""A small fabric that the tests inject faults into: two leaves, two spines, four hosts, a ring with real data.

Ports: A:1 and A:2 lead to S and T, A:3 to a1, A:4 to a2; B likewise with b1 and b2; S:1 and T:1 lead to A. Ranks alternate
between the leaves, so that all data crosses the spines; the source port makes ECMP give each flow an uplink of its own, so
that nothing contends: 3 steps of 199 us, and a verdict of an innocent network.
"""
from harness import scenario_file

TOPOLOGY = """topology = {
  kind = "explicit"; rate = "100Gbps"; delay = "1us";
  switches = [ "A", "B", "S", "T" ]; hosts = [ "a1", "a2", "b1", "b2" ];
  links = ( "A S", "A T", "a1 A", "a2 A", "B S", "B T", "b1 B", "b2 B" );
};
"""
CLEAN_NS = 600_000  # a run without fault is over by then

# topo/scenarios/gpt-3d.cfg with a tenth of its bytes and two micro-batches
LITTLE_MODEL = [arg for key, value in (("pipeline.micro_batches", 2), ("pipeline.bytes", 262_144),
                                       *((f"collectives.[{i}].bytes", 2_097_152) for i in range(4)),
                                       ("collectives.[4].bytes", 7_864_320))
                for arg in ("--set", f"jobs.[0].{key}={value}")]


def ring(step_bytes=2_000_000, payload="real", sport=10003, **more):
    keys = "".join(f" {key} = {literal(value)};" for key, value in more.items())
    return f"""collectives = ( {{ op = "allgather"; algorithm = "ring"; ranks = [ "a1", "b1", "a2", "b2" ];
  payload = "{payload}"; step_bytes = {step_bytes}; sport = {sport};{keys} }} );
"""


def literal(value):
    return f'"{value}"' if isinstance(value, str) else value


def small(*faults, extra="", collective=None, name="test.cfg"):
    """The scenario as a file. @param faults  of fault(); extra  further groups"""
    text = TOPOLOGY + (ring() if collective is None else collective) + extra
    if faults:
        text += f"faults = (\n  {(',' + chr(10) + '  ').join(faults)}\n);\n"
    return scenario_file(text, name)


def fault(kind, **keys):
    return "{ " + "".join(f"{key} = {literal(value)}; " for key, value in {"kind": kind, **keys}.items()) + "}"
