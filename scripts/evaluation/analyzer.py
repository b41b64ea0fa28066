# SPDX-License-Identifier: BSD-3-Clause
"""What a verdict costs as collective and fabric grow: `rocelab bench analyzer --json`, stored as analyzer.json."""
import json

import style
from results import Missing

# The benchmark's series: what a panel's title says, what is counted and the field with the cost of one, and the size at a
# point that grows.
SERIES = {
    'ranks x steps': ('Larger collectives', 'ranks x steps', 'step', 'ranks'),
    'more switches': ('Larger fabrics, 100 reports of each switch', 'switches x reports', 'report', 'switches'),
    'more reports': ('Longer runs, 80 switches', 'switches x reports', 'report', 'reports'),
}


def cases(directory):
    """@return the benchmark's cases; raises Missing where there are none"""
    path = directory / 'analyzer.json'
    try:
        return json.loads(path.read_text())['cases']
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Missing(f'{path}: {error}: run build/cli/rocelab bench analyzer --json >{path}') from error


def last_record_to_verdict_ms(case):
    return case['join_ms'] + case['verdict_ms']


def counted(case):
    """What the case's cost is counted in. A case of no series is small, and its reports are what costs."""
    return SERIES[case['case']][2] if case['case'] in SERIES else 'report'


def us_each(case):
    return case['ns_a_' + counted(case)] / 1e3


def figure(directory, path):
    """Time of one step or report against their number, one panel a series: flat where the whole is in proportion."""
    measured = cases(directory)
    plot, axes = style.panels(1, len(SERIES), 14, 4.6)
    for axis, (name, (title, product, one, grows)) in zip(axes[0], SERIES.items()):
        points = [case for case in measured if case['case'] == name]
        if not points:
            raise Missing(f'{directory}/analyzer.json has no "{name}"')
        first, second = product.split(' x ')
        sizes = [case[first] * case[second] for case in points]
        costs_us = [us_each(case) for case in points]
        axis.plot(sizes, costs_us, 'o-', color=style.OURS_COLOUR, linewidth=2, markersize=9)
        for case, size, cost_us in zip(points, sizes, costs_us):
            axis.annotate(f'{case[grows]}\n{grows}', (size, cost_us), (0, 12), textcoords='offset points', fontsize=12,
                          ha='center')
        axis.set_title(title)
        axis.set_xlabel(product)
        axis.set_ylabel(f'CPU time a {one} (us)')
        axis.set_xscale('log')
        axis.margins(x=0.18)
        axis.set_ylim(0, max(costs_us) * 1.4)
    style.save(plot, path)
    return True


def rows(directory):
    """Cells of a table."""
    return [[case['case'], case['ranks'], case['steps'], case['switches'], case['reports'], f'{case["records"]}',
             f'{case["mrecords_s"]:.2f} M/s', f'{last_record_to_verdict_ms(case):.1f} ms',
             f'{us_each(case):.2f} us a {counted(case)}']
            for case in cases(directory)]
