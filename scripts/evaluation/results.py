# SPDX-License-Identifier: BSD-3-Clause
"""What `rocelab eval` stored (DIR/eval.sqlite), by family and variant: scores and costs over the cases that all of the
compared variants have."""
import dataclasses
import pathlib
import sqlite3
import statistics

# Named as in the paper, where it has them.
FAMILIES = {
    'contention': 'Flow contention',
    'incast': 'Incast',
    'pfc-storm': 'PFC storm',
    'backpressure': 'PFC backpressure',
    'deadlock': 'Deadlock',
    'loop': 'Forwarding loop',
    'imbalance': 'Load imbalance',
    'mixed': 'Mixed',
    'clean': 'Clean',
    'slow-host': 'Slow host',
}
PAPER = ['contention', 'incast', 'pfc-storm', 'backpressure']
BEYOND = [family for family in FAMILIES if family not in PAPER]
OURS = 'vedrfolnir'
POLICIES = {
    OURS: 'VEDRFOLNIR',
    'vedrfolnir-poster': 'VEDRFOLNIR (poster)',
    'hawkeye-maxr': 'Hawkeye-MaxR',
    'hawkeye-minr': 'Hawkeye-MinR',
    'full-polling': 'Full polling',
}
COSTS = ('telemetry_bytes', 'collected_bytes', 'bandwidth_bytes', 'polls')


class Missing(Exception):
    """A result that was asked for and is not there, or cannot be read."""


@dataclasses.dataclass
class Summary:
    """Runs of one variant, over one family or several."""
    tp: int
    fp: int
    fn: int
    costs: dict  # of COSTS: its values, ascending
    hops: int
    cpu_s: float

    @property
    def cases(self):
        return self.tp + self.fp + self.fn

    @property
    def precision(self):
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0

    @property
    def recall(self):
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0

    def mean(self, cost):
        return statistics.fmean(self.costs[cost])

    def median(self, cost):
        return statistics.median(self.costs[cost])

    def p95(self, cost):
        """Nearest rank."""
        return self.costs[cost][-(-len(self.costs[cost]) * 95 // 100) - 1]


def keys_of(variant):
    """The keys of the scenario that a variant sets: "vedrfolnir+detections=1" has {"detections": "1"}."""
    return dict(piece.split('=', 1) for piece in variant.split('+')[1:])


class Results:
    """One evaluation. Raises Missing where there is none."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        path = self.directory / 'eval.sqlite'
        if not path.exists():
            raise Missing(f'{path} does not exist: run scripts/eval-runs {directory}')
        try:
            with sqlite3.connect(f'{path.absolute().as_uri()}?mode=ro', uri=True) as db:
                db.row_factory = sqlite3.Row
                self.seed, self.scale, self.sets = db.execute('SELECT seed, scale, sets FROM evaluation').fetchone()
                rows = db.execute('SELECT * FROM runs ORDER BY family, policy, idx').fetchall()
                self.excluded = dict(db.execute('SELECT family, count(*) FROM excluded GROUP BY family').fetchall())
                self.made = dict(db.execute('SELECT family, count(*) FROM cases GROUP BY family').fetchall())
        except (sqlite3.Error, TypeError) as error:
            raise Missing(f'{path} is no evaluation: {error}') from error
        self.runs = {}
        for row in rows:
            self.runs.setdefault((row['family'], row['policy']), {})[row['idx']] = row

    def variants(self, families):
        """All that every one of the families was run under."""
        each = [{variant for family_of, variant in self.runs if family_of == family} for family in families]
        return set.intersection(*each) if each else set()

    def shared(self, family, variants):
        """Indices of the cases that all of the variants have."""
        each = [set(self.runs.get((family, variant), {})) for variant in variants]
        return set.intersection(*each) if each else set()

    def comparable(self, families, variants):
        """Does each of the families have a case that all of the variants have?"""
        return all(self.shared(family, variants) for family in families)

    def summary(self, families, variant, among):
        """Over the cases that all variants in `among` have, the variant itself included; None: there are none."""
        rows = [self.runs[family, variant][index] for family in families
                for index in self.shared(family, [*among, variant])]
        if not rows:
            return None
        count = {outcome: sum(row['outcome'] == outcome for row in rows) for outcome in ('tp', 'fp', 'fn')}
        costs = {cost: sorted(row[cost] for row in rows) for cost in COSTS}
        return Summary(**count, costs=costs, hops=sum(row['hops'] for row in rows), cpu_s=sum(row['cpu_s'] for row in rows))


def policies_of(results, families):
    """The plain policies that every one of the families was run under, in the paper's order; those only that have a case
    in common with the ones before."""
    policies = []
    for policy in POLICIES:
        if policy in results.variants(families) and results.comparable(families, [*policies, policy]):
            policies.append(policy)
    return policies


def families_of(results, families):
    """Those of the families that were run under our policy."""
    return [family for family in families if (family, OURS) in results.runs]


class Everything:
    """Results of scripts/eval-runs below a directory. Raises Missing without the paper's families; parts that
    have no separate folder are looked for among those."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.paper = Results(self.directory)
        self.beyond = self._part('beyond')
        self.ablations = self._part('ablations')
        self.rules = self._part('rules')
        self.also = [part for part in (self.beyond, *self._parts('also-*')) if part is not self.paper]
        self.shapes = self._parts('shape-*')

    def _part(self, name):
        return Results(self.directory / name) if (self.directory / name / 'eval.sqlite').exists() else self.paper

    def _parts(self, pattern):
        return [Results(path.parent) for path in sorted(self.directory.glob(f'{pattern}/eval.sqlite'))]
