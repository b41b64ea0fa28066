#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""headers.py ROOT CC [FLAG...]: every header compiles alone, without a warning, and bears being included twice."""
import concurrent.futures
import os
import subprocess
import sys

import source

LIBRARIES = ['libdpdk', 'libconfig', 'jansson', 'smartcols', 'libisal', 'cmocka']


def library_flags():
    flags = []
    for name in LIBRARIES:
        found = subprocess.run(['pkg-config', '--cflags', name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            flags += found.stdout.split()
    return flags


def compile_alone(command, root, path):
    text = f'#include "{path}"\n#include "{path}"\n'
    done = subprocess.run(command + ['-I', root, '-x', 'c', '-'], input=text, capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.split('\n') if 'error' in line] or [done.stderr.strip()]
    return f'{path}:1: does not compile alone: {errors[0]}'


def main():
    root = sys.argv[1]
    # libdpdk's own headers are not ours to clean: they come in as system headers.
    flags = [flag.replace('-I', '-isystem', 1) if flag.startswith('-I') else flag for flag in library_flags()]
    command = sys.argv[2:] + flags + ['-std=gnu17', '-D_GNU_SOURCE', '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
                                      '-Wno-unused-parameter']
    paths = source.files(root, '*.h')
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: compile_alone(command, root, path), paths)
    findings = [result for result in results if result]
    findings += [f'{path}:1: no "#pragma once"' for path in paths if '#pragma once' not in source.read(root, path)]
    source.conclude('headers', findings, len(paths))


main()
