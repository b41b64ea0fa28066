# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of cases. One row a kind: what it tries, and how many of a round are of it."""
import dataclasses
from collections.abc import Callable

import clean
import commands
import endings
import folders
import limits
import recordings
import texts
import whole_runs


@dataclasses.dataclass
class Kind:
    tries: str
    run: Callable  # of a Case; raises Failure, or Refused where the programs rightly refused
    a_round: int
    guests: bool = False  # needs programs that guests can run


KINDS = {
    'scenario': Kind('random runs, again on two lcores or over two processes, from effective.cfg and from the recording', whole_runs.run, 10),
    'clean': Kind('fabrics without a fault, on which no system finds one', clean.run, 10),
    'command': Kind('paths, systems side by side, captures and blame of random scenarios', commands.run, 4),
    'recording': Kind('recordings with something changed', recordings.run, 100),
    'limit': Kind('one key at and beyond its limits, all keys in turn', limits.run, 10),
    'text': Kind('texts of scenarios with something changed', texts.run, 10),
    'kill': Kind('a program killed at a random moment, in virtual and in real time', endings.kill, 1),
    'freeze': Kind('a program frozen for a while or for ever', endings.freeze, 1),
    'signal': Kind('signals that ask a run to end', endings.interrupt, 1),
    'guest': Kind('guests and their supervisors killed and frozen', endings.guest, 1, guests=True),
    'disk': Kind('files that cannot grow', folders.disk, 1),
    'folder': Kind('a folder that another run uses or has used', folders.folder, 2),
}


def round_of(names):
    """The kinds of one round's cases, spread evenly."""
    places = [((i + 0.5) / KINDS[name].a_round, name) for name in names for i in range(KINDS[name].a_round)]
    return [name for _, name in sorted(places)]
