# SPDX-License-Identifier: BSD-3-Clause
"""Every operation with every algorithm that has it, and what a scenario has to say of some beside their length."""
import re

from harness import SOURCE

TABLES = (SOURCE / "common" / "wire" / "collective.h").read_text()

PAIRS = {
    "allgather": ["ring", "halving-doubling", "binomial-tree"],
    "reducescatter": ["ring", "halving-doubling", "binomial-tree"],
    "allreduce": ["ring", "halving-doubling", "binomial-tree", "double-binary-tree"],
    "alltoall": ["linear", "pairwise", "bruck"],
    "alltoallv": ["linear", "pairwise"],
    "broadcast": ["ring", "halving-doubling", "binomial-tree", "double-binary-tree"],
    "reduce": ["ring", "halving-doubling", "binomial-tree", "double-binary-tree"],
    "sendrecv": ["ring", "linear", "pipeline"],
}
# Of four ranks or more.
MORE = {
    ("sendrecv", "linear"): ' pairs = [ "0 1", "1 0", "2 3", "3 0" ];',
    ("alltoallv", "linear"): " skew = 5.0;",
    ("alltoallv", "pairwise"): " skew = 5.0; back = true;",
}


def names(table):
    """The names in the rows of an enumeration."""
    rows = re.search(rf"#define {table}\(ROW\)((?:.*\\\n)*.*)", TABLES).group(1)
    return re.findall(r'ROW\(\w+, \d+, "([^"]+)"', rows)


def more(op, algorithm):
    """What is to be said of a pair."""
    return MORE.get((op, algorithm), "") + (" root = 2;" if op in ("broadcast", "reduce") else "")
