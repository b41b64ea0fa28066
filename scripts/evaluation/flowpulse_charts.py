# SPDX-License-Identifier: BSD-3-Clause
"""FlowPulse's figures 2, 3, 5a, 5b and 5c, of the rows of rocelab eval flowpulse."""
import style
from flowpulse_tables import number

COLOURS = ('#0072B2', '#E69F00', '#D55E00', '#009E73', '#56B4E9', '#7F7F7F', '#CC79A7', '#000000')
OWN = ('learned', 'random')


def prediction(rows, path):
    figure, axes = style.panels(1, 1, 9, 3.6)
    style.bar_groups(axes[0][0], [str(row['spine']) for row in rows],
                     [(name, colour, [row[key] / 1e6 for row in rows]) for name, colour, key in
                      (('predicted', style.OTHER_COLOUR, 'predicted_bytes'), ('seen', style.OURS_COLOUR, 'seen_bytes'))])
    axes[0][0].set_xlabel('spine')
    axes[0][0].set_ylabel('MB an iteration')
    axes[0][0].legend(loc='lower right', ncols=2)
    style.save(figure, path)


def relearning(rows, path):
    figure, axes = style.panels(1, 1, 9, 3.6)
    for name, colour, key in (('port of the fault', COLOURS[2], 'faulty'), ('port beside it', COLOURS[0], 'other')):
        for what, look in (('predicted', '--'), ('seen', '-')):
            there = [row for row in rows if row[f'{key}_{what}_bytes'] > 0]
            axes[0][0].plot([row['iteration'] for row in there], [row[f'{key}_{what}_bytes'] / 1e6 for row in there], look,
                            color=colour, label=f'{name}, {what}')
    axes[0][0].set_xlabel('iteration')
    axes[0][0].set_ylabel('MB')
    axes[0][0].legend(fontsize=10)
    style.save(figure, path)


def roc(rows, path):
    figure, axes = style.panels(1, 2, 11, 4.4)
    for panel, spraying in enumerate(('adaptive', 'random')):
        axis = axes[0][panel]
        of = [row for row in rows if row['spraying'] == spraying]
        for colour, drop in zip(COLOURS, sorted({row['drop_percent'] for row in of})):
            line = [row for row in of if row['drop_percent'] == drop and row['test'] == 'threshold']
            axis.plot([row['fpr_percent'] for row in line], [100 - row['fnr_percent'] for row in line], 'o-', color=colour,
                      label=f'{number(drop)} %')
        axis.set_title(f'{spraying}, thresholds 0.25 to 3 %', loc='left')
        axis.set_xlabel('false positives (% of iterations)')
        axis.set_xlim(-4, 104)
        axis.legend(title='drop rate', fontsize=10)
        style.percent_axis(axis, 'true positives (%)')
    style.save(figure, path)


def lines(rows, path, key, label, log):
    """A panel a test: false negatives, and false positives dashed, by drop rate."""
    figure, axes = style.panels(1, 2, 11, 4.2)
    for panel, (title, tests) in enumerate((('threshold 1 %', ('threshold',)), ("the leaf's own test, 1e-4", OWN))):
        axis = axes[0][panel]
        of = [row for row in rows if row['test'] in tests]
        for colour, drop in zip(COLOURS, sorted({row['drop_percent'] for row in of})):
            line = [row for row in of if row['drop_percent'] == drop]
            axis.plot([key(row) for row in line], [row['fnr_percent'] for row in line], 'o-', color=colour,
                      label=f'FNR at {number(drop)} %')
        line = [row for row in of if row['drop_percent'] == of[0]['drop_percent']]
        axis.plot([key(row) for row in line], [row['fpr_percent'] for row in line], 's--', color=style.GREY, label='FPR')
        axis.set_title(title, loc='left')
        axis.set_xlabel(label)
        if log:
            axis.set_xscale('log')
        axis.legend(fontsize=10)
        style.percent_axis(axis, '%')
    style.save(figure, path)


FIGURES = {
    'flowpulse-fig2': ('prediction', prediction),
    'flowpulse-fig3': ('relearning', relearning),
    'flowpulse-fig5a': ('roc', roc),
    'flowpulse-fig5b': ('radix', lambda rows, path: lines(rows, path, lambda row: 2 * int(row['fabric'].split('x')[1]), 'radix', False)),
    'flowpulse-fig5c': ('size', lambda rows, path: lines(rows, path, lambda row: row['packets_a_port'], 'packets a port', True)),
}


def figures(measured, out):
    """Draws OUT/NAME.svg. @return {name: its file, None: not measured}"""
    drawn = {}
    for name, (experiment, draw) in FIGURES.items():
        path = out / f'{name}.svg'
        drawn[name] = path if measured.get(experiment) else None
        if drawn[name]:
            draw(measured[experiment], path)
        else:
            path.unlink(missing_ok=True)
    return drawn
