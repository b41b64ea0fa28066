# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/flowpulse-tables.md, of the rows of rocelab eval flowpulse."""


def number(value):
    """The fewest digits; a dash for no value."""
    if value is None:
        return '-'
    if isinstance(value, str):
        return value
    if isinstance(value, int) or value == int(value) and abs(value) < 1e6:
        return f'{int(value):,}'
    return f'{value:.3g}' if abs(value) < 1000 else f'{value:,.0f}'


def table(rows, columns):
    """@param columns  {heading: key}"""
    lines = ['| ' + ' | '.join(columns) + ' |', '|' + '|'.join('---:' if key not in TEXTS else '---' for key in columns.values()) + '|']
    lines += ['| ' + ' | '.join(number(row.get(key)) for key in columns.values()) + ' |' for row in rows]
    return '\n'.join(lines) + '\n'


TEXTS = {'fabric', 'spraying', 'test', 'detector', 'export', 'class', 'target', 'is', 'reached'}
POINT = {'fabric': 'fabric', 'spraying': 'spraying', 'packets a port': 'packets_a_port'}
RATES = {**POINT, 'test': 'test', 'drop %': 'drop_percent', 'trials': 'trials', 'FNR %': 'fnr_percent',
         'without fault': 'clean_trials', 'FPR % of fabrics': 'fpr_percent', 'of ports': 'fpr_port_percent', 'ms to alarm': 'mean_ms'}
COLUMNS = {
    'radix': RATES,
    'size': RATES,
    'known': {**POINT, 'known links': 'known_links', 'lose %': 'known_drop_percent', **RATES},
    'places': {**POINT, 'senders': 'senders_a_leaf', 'drop %': 'drop_percent', 'detector': 'detector', 'trials': 'trials',
               'right %': 'right_percent', 'pair only %': 'vague_percent', 'wrong %': 'wrong_percent', 'no alarm %': 'missed_percent',
               'rate in interval %': 'rate_in_interval_percent', 'without fault': 'clean_trials', 'alarm %': 'false_percent'},
    'flows': {**POINT, 'hosts': 'hosts_a_leaf', 'flows': 'flows_a_leaf', 'senders': 'senders_a_leaf', 'drop %': 'drop_percent',
              'detector': 'detector', 'trials': 'trials', 'right %': 'right_percent', 'wrong %': 'wrong_percent',
              'no alarm %': 'missed_percent', 'without fault': 'clean_trials', 'alarm %': 'false_percent'},
    'fib': {**POINT, 'senders': 'senders_a_leaf', 'detector': 'detector', 'trials': 'trials', 'right %': 'right_percent',
            'wrong %': 'wrong_percent', 'no alarm %': 'missed_percent', 'without fault': 'clean_trials', 'alarm %': 'false_percent'},
    'priority': {**POINT, 'other data, % of rate': 'others_load_percent', 'class': 'class', 'ports x iterations': 'port_iterations',
                 'off by, % (rms)': 'off_rms_percent', 'most missing %': 'most_missing_percent',
                 'beyond 1 %, % of them': 'beyond_threshold_percent'},
    'alarms': {**POINT, 'test': 'test', 'rate asked': 'rate_asked', 'ports x iterations': 'port_iterations', 'alarms': 'alarms',
               'rate': 'rate_measured'},
    'limit': {**POINT, 'noise, packets': 'noise_packets', 'limit %': 'limit_percent', 'test': 'test', 'after iterations': 'after_iterations',
              'ours %': 'ours_percent',
              'ratio': 'ratio', 'trials': 'trials'},
    'pooled': {**POINT, 'drop %': 'drop_percent', 'within': 'within_iterations', 'trials': 'trials', 'found %': 'found_percent',
               'iterations': 'mean_iterations', 'ms': 'mean_ms', 'limit %': 'limit_percent', 'FPR % of ports': 'fpr_port_percent'},
    'bytes': {**POINT, 'export': 'export', 'drop %': 'drop_percent', 'iterations': 'iterations', 'bytes': 'bytes',
              'a leaf and iteration': 'bytes_a_leaf_iteration'},
}


def roc_table(rows):
    rows = [row for row in rows if row['test'] != 'threshold' or row['threshold_percent'] == 1]
    return table(rows, RATES)


def worst(rows, key):
    return max((row[key] for row in rows if row[key] is not None), default=None)


def rates(rows):
    """@return (the measured value, whether it is perfect)"""
    if not rows:
        return 'not measured', '-'
    fnr, fpr, trials = worst(rows, 'fnr_percent'), worst(rows, 'fpr_percent'), min(row['trials'] for row in rows)
    return f'FNR {number(fnr)} %, FPR {number(fpr)} %, of {trials} trials at least a point', 'yes' if fnr == fpr == 0 else 'no'


def targets(measured):
    adaptive = [row for row in measured.get('roc', []) if row['spraying'] == 'adaptive' and row['threshold_percent'] == 1]
    known = [row for row in measured.get('known', []) if row['test'] == 'threshold' and row['drop_percent'] >= 2.5]
    asked = [('adaptive, threshold 1 %: perfect from drops of 1.5 % on', *rates([r for r in adaptive if r['drop_percent'] >= 1.5])),
             ('the same beside links that are down: 2.5 %', *rates([r for r in known if r.get('known_drop_percent') == 100])),
             ('the same beside links with a known loss of 5 %: 2.5 %', *rates([r for r in known if r.get('known_drop_percent', 100) < 100]))]
    for drop, within in ((1.5, 1), (0.5, 5), (0.1, 20)):
        rows = [row for row in measured.get('pooled', []) if row['fabric'] == '8x64' and
                (row['drop_percent'], row['within_iterations']) == (drop, within)]
        found = rows[0]['found_percent'] if rows else None
        asked.append((f'pooled, 64 spines: {drop} % within {within} iteration{"s" * (within > 1)}',
                      'not measured' if found is None else
                      f'{number(found)} % found of {rows[0]["trials"]} trials, at {number(rows[0]["packets_a_port"])} packets a port',
                      '-' if found is None else 'yes' if found == 100 else 'no'))
    for spraying, test, when in (('adaptive', 'learned', False), ('random', 'random', False), ('random', 'learned', False),
                                 ('random', 'learned', True)):
        ratios = [row['ratio'] for row in measured.get('limit', [])
                  if (row['spraying'], row['test'], row['after_iterations'] != 0) == (spraying, test, when)]
        is_known = ratios and None not in ratios
        asked.append((f'{spraying}, test {test}{", in the second half of runs" * when}: within 1.2 times the smallest drop rate of any test',
                      ', '.join(number(ratio) for ratio in ratios) or 'not measured',
                      '-' if not ratios else 'yes' if is_known and max(ratios) <= 1.2 else 'no'))
    return table([{'target': target, 'is': is_, 'reached': is_reached} for target, is_, is_reached in asked],
                 {'target': 'target', 'measured': 'is', 'reached': 'reached'})


def sample(measured):
    """What tests/sim/eval/eval_flowpulse_test.py makes again."""
    return table([row for row in measured['size'] if row['drop_percent'] == 3], RATES)


def tables(measured):
    """@return {name of a part: its text, None: it was not measured}"""
    parts = {f'flowpulse-{name}': table(measured[name], columns) if measured.get(name) else None for name, columns in COLUMNS.items()}
    parts['flowpulse-roc'] = roc_table(measured['roc']) if measured.get('roc') else None
    parts['flowpulse-targets'] = targets(measured)
    return parts
