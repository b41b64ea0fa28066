# SPDX-License-Identifier: BSD-3-Clause
"""Results as tables of Markdown, each below the command that measures it again. None: it was not measured."""
import collections
import hashlib
import re
import shlex

import ablations
import analyzer
import counterfactual
from results import BEYOND, COSTS, FAMILIES, OURS, PAPER, POLICIES, Missing, families_of, policies_of
from style import amount


def table(head, rows, texts=1):
    """@param texts  that many columns are text, the others are numbers"""
    lines = [head, [*['---'] * texts, *['---:'] * (len(head) - texts)], *rows]
    return ''.join(f'| {" | ".join(map(str, line))} |\n' for line in lines)


def percent(value):
    return f'{100 * value:.1f} %'


def digest(results, families, variants):
    """Digest of the results of these runs, without their times."""
    runs = [f'{family} {index} {variant} {run["outcome"]} {" ".join(str(run[cost]) for cost in COSTS)}'
            for family in families for variant in variants for index, run in sorted(results.runs.get((family, variant), {}).items())]
    return hashlib.sha256('\n'.join(runs).encode()).hexdigest()[:16]


def command_line(results, families, variants, what=''):
    """How these runs are made again."""
    counts = {len(results.shared(family, variants)) for family in families}
    cases = f' --cases {counts.pop()}' if len(counts) == 1 else ''
    return (f'    build/cli/rocelab eval {" ".join(families)}{what} --seed {results.seed} --scale {results.scale:g}'
            f'{results.sets}{cases} --out {shlex.quote(str(results.directory))}\n')


def command(results, families, variants, what='', reported=None):
    """
    The same as a separate paragraph, and the digest of the runs.
    @param reported  the variants of the table below, if not these
    """
    return (command_line(results, families, variants, what) +
            f'\nSeed {results.seed}, runs {digest(results, families, reported or variants)}.\n\n')


def saving(ours, other, cost):
    """@param ours, other  Summaries. "-": the other needs nothing"""
    return f'{100 * (1 - ours.mean(cost) / other.mean(cost)):.1f} %' if other.mean(cost) else '-'


def by_policy(measured, head, cells):
    """A row for every family and policy, the paper's families and those beyond it. @param cells  of a Summary"""
    written = [rows_by_policy(measured.paper, PAPER, head, cells), rows_by_policy(measured.beyond, BEYOND, head, cells)]
    return '\n'.join(filter(None, written)) or None


def rows_by_policy(results, families, head, cells):
    families = families_of(results, families)
    rows = []
    for family in families:
        policies = policies_of(results, [family])
        rows += [[FAMILIES[family], POLICIES[policy], *cells(results.summary([family], policy, policies))]
                 for policy in policies]
    policies = sorted({policy for family in families for policy in policies_of(results, [family])})
    return command(results, families, [OURS], reported=policies) + table(head, rows, 2) if rows else None


def accuracy(measured):
    return by_policy(measured, ['family', 'policy', 'cases', 'TP', 'FP', 'FN', 'precision', 'recall'], lambda s: [
        s.cases, s.tp, s.fp, s.fn, percent(s.precision), percent(s.recall)])


def overhead(measured):
    return by_policy(measured, ['family', 'policy', 'reports kept, mean', 'median', 'p95', 'collected, mean', 'wire, mean',
                               'polls, median'], lambda s: [
        amount(s.mean('telemetry_bytes')), amount(s.median('telemetry_bytes')), amount(s.p95('telemetry_bytes')),
        amount(s.mean('collected_bytes')), amount(s.mean('bandwidth_bytes')), f'{s.median("polls"):.0f}'])


def savings(results):
    """How much less than each baseline ours is, by mean bytes a case. Negative: more."""
    families = families_of(results, PAPER)
    policies = [policy for policy in policies_of(results, families) if policy not in (OURS, 'vedrfolnir-poster')]
    rows = []
    for family in families:
        ours = results.summary([family], OURS, policies)
        for policy in policies:
            other = results.summary([family], policy, [OURS, *policies])
            rows.append([FAMILIES[family], POLICIES[policy],
                         *(saving(ours, other, cost) for cost in ('telemetry_bytes', 'collected_bytes', 'bandwidth_bytes'))])
    return table(['family', 'less than', 'reports kept', 'reports collected', 'wire'], rows, 2) if rows else None


def each_family(measured):
    """Every family that was run under our policy, with where."""
    for results, families in ((measured.paper, PAPER), (measured.beyond, BEYOND)):
        for family in families_of(results, families):
            yield results, family


def excluded(measured):
    rows = []
    for results, family in each_family(measured):
        wrong = results.excluded.get(family, 0)
        made = results.made.get(family, 0) + wrong
        if made:
            rows.append([FAMILIES[family], made, wrong, percent(wrong / made)])
    made, wrong = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return table(['family', 'made', 'excluded', 'share'], [*rows, ['all', made, wrong, percent(wrong / made)]]) if made else None


def failed(measured):
    """Every case that our policy got wrong."""
    rows, families = [], 0
    for results, family in each_family(measured):
        families += 1
        for index, run in results.runs[family, OURS].items():
            if run['outcome'] != 'tp':
                rows.append([f'{family}/{index:03}', run['outcome'].upper(), run['why'].replace('|', '\\|')])
    return table(['case', 'is', 'why'], rows, 3) if rows else 'None.\n' if families else None


def others(results):
    """@param results  several evaluations, of other seeds or scales. Our policy's scores in each."""
    rows = []
    for each in results:
        for family in families_of(each, FAMILIES):
            ours = each.summary([family], OURS, [])
            rows.append([FAMILIES[family], each.sets.replace(' --set ', ' ').strip() or '-', f'{each.scale:g}', each.seed,
                         ours.cases, percent(ours.precision), percent(ours.recall), amount(ours.mean('telemetry_bytes')), amount(ours.mean('bandwidth_bytes')), digest(each, [family], [OURS])])
    rows.sort(key=lambda row: list(FAMILIES.values()).index(row[0]))
    head = ['family', 'with', 'scale', 'seed', 'cases', 'precision', 'recall', 'reports kept, mean', 'wire, mean', 'runs']
    return table(head, rows, 2) if rows else None


def shapes(every):
    """@param every  evaluations of shapes: our policy's scores on each"""
    every = sorted(((each.sets.split()[1], each.seed, each) for each in every), key=lambda entry: entry[:2])
    rows, commands = [], []
    for shape, seed, each in every:
        families = families_of(each, PAPER)
        for family in families:
            ours = each.summary([family], OURS, [])
            rows.append([shape, FAMILIES[family], seed, ours.cases, percent(ours.precision), percent(ours.recall),
                         amount(ours.mean('telemetry_bytes')), each.excluded.get(family, 0), digest(each, [family], [OURS])])
        commands.append(command_line(each, families, [OURS], f' --policy {OURS}').rstrip('\n'))
    head = ['shape', 'family', 'seed', 'cases', 'precision', 'recall', 'reports kept, mean', 'excluded', 'runs']
    return '\n'.join(commands) + '\n\n' + table(head, rows, 2) if rows else None


def analyzer_cost(directory):
    try:
        rows = analyzer.rows(directory)
    except Missing:
        return None
    return '    build/cli/rocelab bench analyzer\n\n' + table(
        ['case', 'ranks', 'steps', 'switches', 'reports of each', 'records', 'taken in', 'last record to verdict', 'cost of each'], rows)


def speed(results):
    rows = []
    families = families_of(results, PAPER)
    policies = policies_of(results, families)
    for policy in policies:
        total = results.summary(families, policy, policies)
        rows.append([POLICIES[policy], total.cases, f'{total.hops / 1e6:.0f}', f'{total.cpu_s:.1f}',
                     f'{total.hops / total.cpu_s / 1e6:.1f}' if total.cpu_s else '-'])
    return table(['policy', 'cases', 'million hops', 'CPU s', 'million hops a CPU s'], rows) if rows else None


def by_variant(results, families, ablation, name, variants):
    """
    A row a variant: scores of each family and, but for budgets, which bytes are counted before, bytes over all of them.
    @param variants  [(its name, variant)]
    """
    if not variants:
        return None
    among = [variant for _, variant in variants]
    costs = {'reports kept, mean': 'telemetry_bytes', 'wire, mean': 'bandwidth_bytes'} if ablation != 'budget' else {}
    head = [name, *(f'{FAMILIES[family]}: precision / recall' for family in families), *costs]
    rows = []
    for label, variant in variants:
        scores = [results.summary([family], variant, among) for family in families]
        total = results.summary(families, variant, among)
        rows.append([label, *(f'{percent(s.precision)} / {percent(s.recall)}' for s in scores),
                     *(amount(total.mean(cost)) for cost in costs.values())])
    return command(results, families, among, f' --ablation {ablation}') + table(head, rows)


def unnamed(why):
    """The error without its names: "the storm of e2:1 is not found" -> "the storm of a port is not found"."""
    why = re.sub(r'\S+->\S+/\d+>\d+', 'a flow', why)
    return re.sub(r'\b\w+:\d+\b', 'a port', re.sub(r'\bhost \w+', 'a host', why)).replace('|', '\\|')


def misses(results, family, variant, among):
    """Errors and their counts, the most frequent first: "3 x a flow is not found (004, ...)"."""
    cases = collections.defaultdict(list)
    for index in sorted(results.shared(family, among)):
        run = results.runs[family, variant][index]
        if run['outcome'] != 'tp':
            cases[unnamed(run['why'])].append(index)
    return '; '.join(f'{len(where)} x {why} ({where[0]:03}{", ..." if len(where) > 1 else ""})'
                     for why, where in sorted(cases.items(), key=lambda item: (-len(item[1]), item[1])))


def rules(results):
    """The paper's rule and its poster's beside ours, and what each misses."""
    rows, families = [], [family for family in FAMILIES if ablations.rules(results, family)]
    for family in families:
        found = ablations.rules(results, family)
        among = [variant for _, variant in found]
        for name, variant in found:
            s = results.summary([family], variant, among)
            rows.append([FAMILIES[family], name, misses(results, family, variant, among) or '-', s.cases, percent(s.precision),
                         percent(s.recall), amount(s.mean('telemetry_bytes')), amount(s.mean('bandwidth_bytes')),
                         f'{s.mean("polls"):.0f}'])
    head = ['family', 'rule', 'errors', 'cases', 'precision', 'recall', 'reports kept, mean', 'wire, mean', 'polls, mean']
    reported = sorted({variant for family in families for _, variant in ablations.rules(results, family)})
    return command(results, families, [OURS], ' --ablation rules', reported) + table(head, rows, 3) if rows else None


def blame(directory):
    try:
        found = counterfactual.measured(directory)
    except Missing:
        return None
    return counterfactual.command(found) + table(counterfactual.HEAD, counterfactual.rows(found))


def write(measured):
    """{name: text, None where it was not measured}"""
    ablated = measured.ablations
    transfer, lost, unbound = ablations.allocation(ablated)
    allocation = [(f'{count}{suffix}', found[count]) for count in sorted(transfer)
                  for found, suffix in ((transfer, ''), (lost, ', not transferred')) if count in found]
    exact = ablations.contention(ablated)
    parts = {
        'threshold': (PAPER, 'RTT threshold, detections', [
            (f'{key[0]} %, {key[1]}', variant) for key, variant in sorted(ablations.threshold(ablated).items())]),
        'fixed': (['contention'], 'RTT threshold', [
            ("each step's own" if us is None else f'{us:g} us', variant) for us, variant in ablations.fixed(ablated)]),
        'allocation': (['contention'], 'detections a step', allocation + sorted(unbound.items())),
        'contention': (PAPER, 'w(f_i, f_j)', sorted(exact.items(), reverse=True)),
        'budget': (PAPER, 'budget', [
            ('unlimited' if limit is None else f'{amount(limit)}/s', variant) for limit, variant in ablations.budget(ablated)]),
    }
    written = {'accuracy': accuracy(measured), 'overhead': overhead(measured), 'savings': savings(measured.paper),
               'excluded': excluded(measured), 'failed': failed(measured), 'speed': speed(measured.paper),
               'others': others([measured.paper, *measured.also]) if measured.also else None,
               'shapes': shapes(measured.shapes), 'analyzer': analyzer_cost(measured.directory),
               'counterfactual': blame(measured.directory), 'rules': rules(measured.rules)}
    for name, (families, head, variants) in parts.items():
        written[name] = by_variant(ablated, families, name, head, variants)
    return written
