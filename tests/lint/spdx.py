#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""spdx.py ROOT: every source starts with its licence, in its first line, or the second after "#!"."""
import os
import sys

import source

LICENCE = 'SPDX-License-Identifier: BSD-3-Clause'


def main():
    root = sys.argv[1]
    paths = source.files(root, '*.c', '*.h', '*.py', '*.sh', '*.js', '*.css', 'meson.build', 'meson_options.txt')
    for folder in ('scripts', '.ci'):
        if os.path.isdir(os.path.join(root, folder)):
            paths += [os.path.join(folder, path) for path in source.files(os.path.join(root, folder), '*')]
    findings = []
    for path in sorted(set(paths)):
        lines = source.read(root, path).split('\n') + ['', '']
        if LICENCE not in lines[1 if lines[0].startswith('#!') else 0]:
            findings.append(f'{path}:1: the first line must say "{LICENCE}"')
    source.conclude('spdx', findings, len(paths))


main()
