#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""headers.py ROOT CC [FLAG...]: every header compiles alone, without a warning, and bears being included twice. One that passed
is compiled again when it has changed, or a header of the tree that it reaches, the compiler, or a library."""
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


class Reach:
    """The headers of the tree that a header includes, directly or by others, as one digest."""

    def __init__(self, root, paths):
        self.texts = {path: source.read(root, path) for path in paths}
        self.next = {path: [name for _, name, of_system in source.includes(text) if not of_system and name in self.texts]
                     for path, text in self.texts.items()}

    def digest(self, path, salt):
        reached, more = {path}, [path]
        while more:
            fresh = set(self.next[more.pop()]) - reached
            reached |= fresh
            more += fresh
        return source.digest(salt, path, *(text for name in sorted(reached) for text in (name, self.texts[name])))


def versions(command):
    asked = [command[:1] + ['--version']] + [['pkg-config', '--modversion', name] for name in LIBRARIES]
    return [subprocess.run(ask, capture_output=True, text=True, check=False).stdout for ask in asked]


def main():
    root = sys.argv[1]
    # libdpdk's own headers are not ours to clean: they come in as system headers.
    flags = [flag.replace('-I', '-isystem', 1) if flag.startswith('-I') else flag for flag in library_flags()]
    command = sys.argv[2:] + flags + ['-std=gnu17', '-D_GNU_SOURCE', '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
                                      '-Wno-unused-parameter']
    paths = source.files(root, '*.h')
    reach, passed = Reach(root, paths), source.Passed('headers')
    salt = source.digest(source.own(__file__), *command, *versions(command))
    keys = {path: reach.digest(path, salt) for path in paths}
    new = [path for path in paths if not passed.has(keys[path])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(new, pool.map(lambda path: compile_alone(command, root, path), new)))
    for path in new:
        if results[path] is None:
            passed.add(keys[path])
    passed.save()
    findings = [result for result in results.values() if result]
    findings += [f'{path}:1: no "#pragma once"' for path in paths if '#pragma once' not in reach.texts[path]]
    source.conclude('headers', findings, len(paths))


main()
