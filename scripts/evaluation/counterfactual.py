# SPDX-License-Identifier: BSD-3-Clause
"""What verdicts blame against what leaving it out regains: `rocelab eval counterfactual --json`, stored as
counterfactual.json."""
import hashlib
import json

from results import Missing

HEAD = ['fabric', 'cases with an effect', 'first, by Shapley', 'first, alone', "Kendall's tau, by Shapley", 'alone', 'share error, mean',
        'without effect alone', 'of them named',
        'without a share, too', 'of them named']


def measured(directory):
    path = directory / 'counterfactual.json'
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Missing(f'{path}: {error}') from error


def command(found):
    seeds = ','.join(map(str, found['seeds']))
    return (f'    rocelab eval counterfactual --seeds {seeds} --cases {found["cases_of_each"]} --json '
            '--out out/eval/counterfactual\n\n'
            f'Seeds {seeds}, results {digest(found)}.\n\n')


def digest(found):
    """Of all that the command prints."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def rows(found):
    """A row a fabric, and one of all. Ranks and shares are over the cases in which some cause has an effect."""
    return [[row['fabric'], row['with_cost'], f'{100 * row["first"]:.1f} %', f'{100 * row["first_alone"]:.1f} %',
             f'{row["tau"]:.2f}', f'{row["tau_alone"]:.2f}', f'{100 * row["share_error"]:.1f} %', row['innocents'],
             row['named_innocents'], row['blameless'], row['named_blameless']] for row in found['fabrics']]
