#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""checkers_test.py LAYERS_PY BANNED_PY SPDX_PY HEADERS_PY SHELL_SH FORMAT_PY UNUSED_PY SIZE_PY MAP_PY WORDS_PY PROSE_PY SYMBOLS_PY MENTIONS_PY CC...: each checker fails on a tree
that breaks its rule, and says what is wrong where; and is content with a tree that keeps it. Not again while the checkers, their
rules, the compiler and this file are the same."""
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback

import source

STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '.clang-format')
C = '/* SPDX-License-Identifier: BSD-3-Clause */\n'
H = C + '#pragma once\n'
PY = '#!/usr/bin/env python3\n'

# checker, what the tree shows, its files, what the checker must say ('' = nothing wrong)
CASES = [
    ('layers', 'arrows that point down',
     {'common/err.h': H, 'common/wire/record.h': H, 'topo/topo.h': H + '#include "common/err.h"\n',
      'common/recbuf.h': H + '#include "common/wire/record.h"\n',
      'rxe-hosts/device/embedded/embedded.c': C + '#include "dpswitch/fabric/node.h"\n#include <stdint.h>\n',
      'dpswitch/fabric/node.h': H + '#include "topo/topo.h"\n',
      'dpswitch/edge/frame/frame.c': C + '#include <rte_mbuf.h>\n',
      'cli/main.c': C + '#include "dpswitch/fabric/node.h"\n'}, ''),
    ('layers', 'a chain of eleven includes',
     {f'common/h{i}.h': H + (f'#include "common/h{i + 1}.h"\n' if i < 10 else '') for i in range(11)},
     'common/h0.h:1: a chain of 11 includes, at most 10: common/h0.h -> common/h1.h'),
    ('layers', 'a chain of ten',
     {f'common/h{i}.h': H + (f'#include "common/h{i + 1}.h"\n' if i < 9 else '') for i in range(10)}, ''),
    ('layers', 'an arrow that points back',
     {'common/err.h': H + '#include "topo/topo.h"\n', 'topo/topo.h': H},
     'common/err.h:3: common may not include "topo/topo.h" (it may include: common/record common/wire)'),
    ('layers', 'wire formats that know the program',
     {'common/wire/record.h': H + '#include "common/err.h"\n', 'common/err.h': H},
     'common/wire/record.h:3: common/wire may not include "common/err.h" (it may include: nothing)'),
    ('layers', 'a device that sees more of the fabric than a node',
     {'rxe-hosts/device/embedded/embedded.c': C + '\n#include "dpswitch/fabric/fabric.h"\n', 'dpswitch/fabric/fabric.h': H},
     'rxe-hosts/device/embedded/embedded.c:3: rxe-hosts/device/embedded may not include "dpswitch/fabric/fabric.h"'),
    ('layers', 'a stage of the diagnosis that talks to a switch',
     {'diag/vedrfolnir/cause/storm.c': C + '#include "dpswitch/queue/pfc.h"\n', 'dpswitch/queue/pfc.h': H},
     'diag/vedrfolnir/cause/storm.c:2: diag/vedrfolnir/cause may not include "dpswitch/queue/pfc.h"'),
    ('layers', 'a composition root that is included',
     {'diag/diagnose.c': C + '#include "tests/unit/rig.h"\n', 'tests/unit/rig.h': H},
     'diag/diagnose.c:2: diag may not include "tests/unit/rig.h": nobody includes a composition root'),
    ('layers', 'a folder without a row',
     {'misc/a.c': C + '#include "common/err.h"\n', 'common/err.h': H},
     'misc/a.c:2: folder misc has no row in layers.txt'),
    ('layers', 'an include path that does not start at the root',
     {'topo/a.c': C + '#include "topo.h"\n', 'topo/topo.h': H},
     'topo/a.c:2: no "topo.h" in the tree: include paths start at the repository root'),
    ('layers', 'an include inside a comment',
     {'common/a.c': C + '/*\n#include "topo/topo.h"\n*/\n', 'topo/topo.h': H}, ''),
    ('layers', 'DPDK outside the edge', {'dpswitch/fabric/a.c': C + '#include <rte_eal.h>\n'},
     'dpswitch/fabric/a.c:2: <rte_eal.h> only in: dpswitch/edge/* dpswitch/lcore/*'),
    ('layers', 'verbs outside the verbs device',
     {'rxe-hosts/device/embedded/embedded.c': C + '#include <infiniband/verbs.h>\n'},
     'rxe-hosts/device/embedded/embedded.c:2: <infiniband/verbs.h> only in: rxe-hosts/device/verbs/*'),
    ('layers', 'connection manager outside the verbs device', {'cli/a.c': C + '#include <rdma/rdma_cma.h>\n'},
     'cli/a.c:2: <rdma/rdma_cma.h> only in: rxe-hosts/device/verbs/* rxe-hosts/tracing/tracer.c'),
    ('layers', 'libconfig outside the loader', {'topo/a.c': C + '#include <libconfig.h>\n'},
     'topo/a.c:2: <libconfig.h> only in: common/cfg/*'),
    ('layers', 'a table whose arrows form a circle',
     {'layers.txt': 'a: b\nb: c\nc: a\n', 'libraries.txt': '', 'a/a.h': H},
     'layers.txt: an arrow points back: a -> b -> c -> a'),
    ('layers', 'an empty tree', {}, 'found nothing to look at'),
    ('banned', 'time and chance by the rules',
     {'common/clock.c': C + 'clock_gettime(CLOCK_MONOTONIC, &now); nanosleep(&a, &b);\n',
      'topo/a.c': C + 'prng_next(&p); /* rand() */ puts("time()"); x.time(1); y->time(2); runtime (3); time_ps = 4;\n'},
     ''),
    ('banned', 'chance', {'topo/a.c': C + 'int\nf(void)\n{\n\treturn rand();\n}\n'},
     'topo/a.c:5: rand() is banned here: draw from struct prng'),
    ('banned', 'chance in a test', {'tests/unit/a_test.c': C + 'srandom (1);\n'}, 'a_test.c:2: srandom() is banned'),
    ('banned', 'the wall clock', {'cli/a.c': C + 'x = time(NULL);\n'}, 'cli/a.c:2: time() is banned here: ask common'),
    ('banned', 'a clock', {'cli/a.c': C + 'clock_gettime(id, &now);\n'}, 'cli/a.c:2: clock_gettime() is banned here'),
    ('banned', 'an old clock', {'cli/a.c': C + 'gettimeofday(&now, 0);\n'}, 'cli/a.c:2: gettimeofday() is banned here'),
    ('banned', 'a cycle counter', {'dpswitch/lcore/a.c': C + 'x = rte_rdtsc();\n'}, 'a.c:2: rte_rdtsc() is banned here'),
    ('banned', 'a bare cycle counter', {'topo/a.h': H + 'x = __rdtsc();\n'}, 'topo/a.h:3: __rdtsc() is banned here'),
    ('banned', 'a sleep', {'diag/collect/a.c': C + '\tusleep(10);\n'}, 'a.c:2: usleep() is banned here: wait with clock_'),
    ('spdx', 'licensed sources',
     {'common/a.c': C, 'scripts/x': '#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n',
      'meson.build': '# SPDX-License-Identifier: BSD-3-Clause\n', 'build/a.c': 'int a;\n'}, ''),
    ('spdx', 'a source without', {'common/a.c': 'int a;\n'}, 'common/a.c:1: the first line must say "SPDX'),
    ('spdx', 'a source with it too late', {'common/a.h': '#pragma once\n' + C}, 'common/a.h:1: the first line'),
    ('spdx', 'a script without', {'scripts/demo': '#!/bin/sh\nset -eu\n'}, 'scripts/demo:1: the first line'),
    ('spdx', 'another licence', {'topo/a.c': '/* SPDX-License-Identifier: GPL-2.0 */\n'}, 'topo/a.c:1: the first line'),
    ('headers', 'a header that stands alone', {'common/a.h': H + '#include <stdint.h>\nstruct a { uint8_t b; };\n'}, ''),
    ('headers', 'a header that needs another first', {'common/a.h': H + 'struct a { uint8_t b; };\n'},
     "common/a.h:1: does not compile alone: "),
    ('headers', 'a header that warns', {'common/a.h': H + 'static int f(void) { int x; return 1; }\n'},
     'common/a.h:1: does not compile alone: '),
    ('headers', 'a header without a guard', {'common/a.h': C + 'struct a { int b; };\n'}, 'common/a.h:1: no "#pragma once"'),
    ('shell', 'a sound script', {'scripts/a': '#!/bin/sh\nset -eu\necho "$1"\n'}, ''),
    ('format', 'a function as the style has it', {'topo/a.c': C + 'int\na(void)\n{\n\treturn 1;\n}\n'}, ''),
    ('format', 'spaces for a tab', {'topo/a.c': C + 'int\na(void)\n{\n    return 1;\n}\n'}, 'topo/a.c:'),
    ('symbols', 'functions of folders below',
     {'layers.txt': 'a: b\nb: c\nc:\n', 'a/a.c': 'int b(void), c(void); int a(void) { return b() + c(); }\n', 'b/b.c': 'int b(void) { return 1; }\n',
      'c/c.c': 'int c(void) { return 1; }\n'}, ''),
    ('symbols', 'a function that is defined above the folder that declares it',
     {'layers.txt': 'a: b\nb:\n', 'a/a.c': 'int a(void) { return 1; }\n', 'b/b.c': 'int a(void); int b(void) { return a(); }\n'},
     'b/b.c: b may not use a() of a/a.c'),
    ('unused', 'functions that are called',
     {'topo/a.h': H + 'int a(void);\nstatic inline int\nb(void)\n{\n\treturn a();\n}\n', 'topo/a.c': C + 'int\na(void)\n{\n\treturn 1;\n}\n',
      'unused.txt': ''}, ''),
    ('unused', 'a function for tests alone',
     {'topo/a.h': H + 'int a(void);\n', 'topo/a.c': C + '/* a() */\nint\na(void)\n{\n\treturn 1;\n}\n',
      'tests/unit/a_test.c': C + 'x = a();\n', 'unused.txt': ''}, 'topo/a.c:4: a() is called by tests alone, or by nobody'),
    ('unused', 'a function for tests alone that may be',
     {'topo/a.h': H + 'int a(void);\n', 'topo/a.c': C + 'int\na(void)\n{\n\treturn 1;\n}\n', 'unused.txt': 'a: for tests\n'}, ''),
    ('unused', 'a row without use', {'topo/a.c': C, 'unused.txt': 'a: for tests\n'}, 'unused.txt: a() is used, or gone'),
    ('unused', 'a declaration of nothing', {'topo/a.h': H + 'struct x *a(int b,\n\t    int c);\n', 'unused.txt': ''},
     'topo/a.h:3: a() is declared, and defined nowhere'),
    ('size', 'what fits',
     {'topo/a.c': C + 'int\na(void)\n{\n' + '\tb();\n' * 60 + '}\n', 'topo/a.h': H + 'int a;\n' * 398,
      'scripts/a': PY + 'def a():\n' + '    b()\n' * 60, 'docs/a.md': '\n' * 500, 'scripts/b': '#!/bin/sh\n' * 500}, ''),
    ('size', 'a function too long', {'topo/a.c': C + 'int\na(void)\n{\n' + '\tb();\n' * 61 + '}\n'},
     'topo/a.c:4: a() has 61 lines; at most 60'),
    ('size', 'a line too wide', {'topo/a.h': H + '\tint a; /* ' + 'b' * 104 + ' */\n'}, 'topo/a.h:3: 125 columns; at most 124'),
    ('size', 'a file too long', {'topo/a.h': H + 'int a;\n' * 999}, 'topo/a.h:1001: 1001 lines; at most 1000'),
    ('size', 'a test too long', {'tests/unit/a_test.c': C + 'static void\na(void **state)\n{\n' + '\tb();\n' * 61 + '}\n'},
     'tests/unit/a_test.c:4: a() has 61 lines; at most 60'),
    ('size', 'tests too long', {'tests/unit/a_test.c': C + '\n' * 1000 + 'int a;\n'}, 'tests/unit/a_test.c:1001: 1002 lines; at most 1000'),
    ('size', 'a function in Python too long', {'tests/sim/a_test.py': PY + 'class A:\n    def a(self):\n' + '        b()\n' * 61},
     'tests/sim/a_test.py:3: a() has 61 lines; at most 60'),
    ('size', 'a program in Python too long', {'scripts/a': PY + 'a()\n' * 1000}, 'scripts/a:1001: 1001 lines; at most 1000'),
    ('map', 'a map of the tree',
     {'docs/architecture.md': '`topo/`\n| `topo/a.c` | `a()` | x |\n', 'topo/a.c': C + 'int\na(void)\n{\n\treturn 1;\n}\n'}, ''),
    ('map', 'a file that is gone', {'docs/architecture.md': '\nSee `topo/b.c`.\n'}, 'docs/architecture.md:2: there is no topo/b.c'),
    ('map', 'a function that is gone',
     {'docs/architecture.md': '| `topo/a.c` | `b()` | x |\n', 'topo/a.c': C + '/* b() */\n'}, 'docs/architecture.md:1: topo/a.c has no b'),
    ('map', 'a length that is stated wrongly',
     {'docs/architecture.md': '# A\nThe path has 2\nfiles and no return.\n| `topo/a.c` | `a()` | x |\n',
      'topo/a.c': C + 'int\na(void)\n{\n\treturn 1;\n}\n'},
     'docs/architecture.md: A: "The path has 2 files and no return": it is "The path has 1 files and no return"'),
    ('words', "the field's terms",
     {'topo/one_way.c': C + '#include "topo/way.h"\n/* the way */\nconst char *path_name = "way"; int always, way_; /* way_of() */\n',
      'scripts/a': PY + '"""What it told."""\nprint("came", reported)\n', 'words.txt': 'way: path\ntold: reported\n'
      'came: received\nallow way_: for tests\nallow one_way*: for tests\n'}, ''),
    ('words', 'a private word in a name of C', {'topo/a.h': H + 'int a;\nint LAST_WAY_of(void);\n', 'words.txt': 'way: path\n'},
     'topo/a.h:4: LAST_WAY_of: not "way" but path'),
    ('words', 'a private word in a name of Python', {'scripts/a': PY + 'a_told = 1\n', 'words.txt': 'told: reported\n'},
     'scripts/a:2: a_told: not "told" but reported'),
    ('words', 'a private word in the name of a file', {'topo/way.c': C, 'words.txt': 'way: path\n'}, 'topo/way.c: way.c: not "way"'),
    ('words', 'a private word in the name of a folder', {'topo/way/a.c': C, 'words.txt': 'way: path\n'}, 'topo/way/a.c: way: not "way"'),
    ('words', 'a word that is allowed elsewhere alone',
     {'topo/a.c': C + 'int ways;\n', 'dpswitch/a.c': C + 'int ways;\n', 'words.txt': 'ways: paths\nallow ways topo/*: for tests\n'},
     'dpswitch/a.c:2: ways: not "ways" but paths'),
    ('words', 'words that texts may use',
     {'topo/a.c': C + '/* told */\nconst char *text = "retold, one-way";\n#include "told"\n', 'web/a.js': C + 'const told = `${told} reported`;\n',
      'words.txt': 'text told: reported\ntext way: path\n'}, ''),
    ('words', 'a private word in a text of C', {'topo/a.c': C + 'const char *text = "it "\n\t"Told";\n', 'words.txt': 'text told: reported\n'},
     'topo/a.c:2: "Told" in a text: reported'),
    ('words', 'a phrase over two literals', {'topo/a.c': C + 'const char *text = "one in so "\n\t"many";\n', 'words.txt': 'text so many: N\n'},
     'topo/a.c:2: "so many" in a text: N'),
    ('words', 'a private word in a text of Python', {'scripts/a': PY + 'print("it told")\n', 'words.txt': 'text told: reported\n'},
     'scripts/a:2: "told" in a text: reported'),
    ('words', 'a private word in a text of JavaScript', {'web/a.js': C + 'const text = `told ${a}`;\n', 'words.txt': 'text told: reported\n'},
     'web/a.js:2: "told" in a text: reported'),
    ('words', 'a text that is allowed elsewhere alone',
     {'topo/a.c': C + 'const char *text = "told";\n', 'dpswitch/a.c': C + 'const char *text = "told";\n',
      'words.txt': 'text told: reported\nallow-text topo/* told: for tests\n'}, 'dpswitch/a.c:2: "told" in a text'),
    ('words', 'an allowance of a text without use', {'topo/a.c': C, 'words.txt': 'text told: reported\nallow-text topo/* told: for tests\n'},
     'words.txt: nothing needs "allow-text topo/* told"'),
    ('words', 'an allowance without use', {'topo/a.c': C, 'words.txt': 'way: path\nallow way_*: for tests\n'},
     'words.txt: nothing needs "allow way_* *"'),
    ('prose', 'short paragraphs, and a generated table',
     {'docs/a.md': 'a' * 600 + '\n\n    ' + 'code ' * 200 + '\n\n<!-- t -->\n| ' + 'b' * 601 + ' |\n' + '| c |\n' * 400 + '<!-- /t -->\n',
      'README.md': 'a' * 601}, ''),
    ('prose', 'a paragraph too long', {'docs/a.md': '# A\n\n' + 'a' * 300 + '\n' + 'b' * 300 + '\n'},
     'docs/a.md:3: a paragraph of 601 characters; at most 600'),
    ('prose', 'a list item too long', {'docs/a.md': 'A:\n- b\n- ' + 'c' * 300 + '\n      ' + 'd' * 300 + '\n- e\n'},
     'docs/a.md:3: a list item of 603 characters; at most 600'),
    ('prose', 'a table cell too long', {'docs/a.md': '| a | b |\n|---|---|\n| a | ' + 'b' * 601 + ' |\n'},
     'docs/a.md:3: a table cell of 601 characters; at most 600'),
    ('prose', 'a page too long', {'docs/a.md': 'a\n\n' * 201}, 'docs/a.md: 402 lines of prose; at most 400'),
    ('prose', 'a word that is refused', {'docs/a.md': 'a\n- as it was\n  told\n', 'tests/lint/prose.txt': 'refuse was told: reported\n'},
     'docs/a.md:2: not "was told" but reported'),
    ('prose', 'a word that is refused, in code alone',
     {'docs/a.md': '`told`, untold\n\n    told\n', 'tests/lint/prose.txt': 'refuse told: reported\n'}, ''),
    ('prose', 'an exempt page',
     {'docs/a.md': 'a' * 601, 'docs/b.md': 'b\n', 'tests/lint/prose.txt': 'docs/a.md: printed by a program\n'}, ''),
    ('prose', 'an exempt page that is gone',
     {'docs/b.md': 'b\n', 'tests/lint/prose.txt': 'docs/a.md: printed by a program\n'}, 'tests/lint/prose.txt: there is no docs/a.md'),
    ('mentions', 'files by their path, and by its end',
     {'docs/a.md': 'See `topo/a.c`, `a.c` and `NAME.c`.\n', 'topo/a.c': C + '/* As topo/a.c. */\nint a; /* "b.c" */\n', 'topo/b.c': C}, ''),
    ('mentions', 'a page that names a file that is gone', {'docs/a.md': 'x\n`topo/a.c`\n'}, 'docs/a.md:2: there is no topo/a.c'),
    ('mentions', 'a comment that does', {'topo/b.c': C + 'char *a = "c.h"; /*\n * See a.h. */\n'}, 'topo/b.c:3: there is no a.h'),
    ('mentions', "another project's file", {'docs/a.md': '`rxe_req.c`\n', 'tests/lint/mentions.txt': 'rxe_*: Linux\n'}, ''),
    ('mentions', 'a row that nothing needs', {'docs/a.md': 'x\n', 'tests/lint/mentions.txt': 'rxe_*: Linux\n'}, 'nothing needs rxe_*'),
    ('shell', 'an unquoted path', {'scripts/a': '#!/bin/sh\nset -eu\nrm $1\n'}, 'SC2086'),
]


def build(root, tree):
    """Compiles a tree as meson does. @return the build's folder"""
    folder = os.path.join(root, 'build')
    os.mkdir(folder)
    rows = []
    for number, path in enumerate(path for path in tree if path.endswith('.c')):
        subprocess.run(sys.argv[14:] + ['-w', '-I', root, '-c', os.path.join(root, path), '-o', os.path.join(folder, f'{number}.o')], check=True)
        rows.append({'directory': folder, 'file': f'../{path}', 'output': f'{number}.o'})
    with open(os.path.join(folder, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(rows, file)
    return folder


def become(command, args):
    """Runs a checker in this process. @return its exit code"""
    sys.argv = [command, *args]
    try:
        runpy.run_path(command, run_name='__main__')
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # pylint: disable=broad-except # the test reports it
        traceback.print_exc()
        return 1
    return 0


def call(command, args):
    """@return (exit code, output) of a checker; one in Python runs in a copy of this process, which need not start again"""
    if not command.endswith('.py'):
        done = subprocess.run([command, *args], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    with tempfile.TemporaryFile('w+', encoding='utf-8') as output:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            code = become(command, args)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read()


def run(checker, command, name, tree, expected):
    """@return what went wrong, or None"""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        if checker == 'format':
            shutil.copy(STYLE, root)
        extra = [root] if {'layers.txt', 'unused.txt', 'words.txt'} & set(tree) else []
        compiler = sys.argv[14:] if checker == 'headers' else []
        if checker == 'symbols':
            extra = [build(root, tree)] + extra
        code, observed = call(command, [root] + extra + compiler)
    if expected == '' and code != 0:
        return f'{checker}: {name}: fails: {observed}'
    if expected != '' and (code != 1 or expected not in observed):
        return f'{checker}: {name}: exit {code}, wanted 1 and "{expected}", got: {observed}'
    return None


def main():
    commands = dict(zip(['layers', 'banned', 'spdx', 'headers', 'shell', 'format', 'unused', 'size', 'map', 'words', 'prose', 'symbols', 'mentions'],
                        sys.argv[1:14]))
    skipped = set() if shutil.which('shellcheck') else {'shell'}
    with tempfile.TemporaryDirectory() as root:
        if subprocess.run([commands['format'], root], capture_output=True, check=False).returncode == 77:
            skipped.add('format')
    folder = os.path.dirname(os.path.abspath(__file__))
    passed = source.Passed('checkers')
    version = subprocess.run(sys.argv[14:] + ['--version'], capture_output=True, text=True, check=False).stdout
    key = source.digest(version, sys.version, source.read(os.path.dirname(STYLE), os.path.basename(STYLE)), *sorted(skipped),
                        *(text for path in source.files(folder, '*') for text in (path, source.read(folder, path))))
    if passed.has(key):
        print(f'{len(CASES)} cases passed, and nothing that they depend on has changed')
        return
    os.environ.pop('ROCELAB_LINT_PASSED', None)
    cases = [case for case in CASES if case[0] not in skipped]
    failures = 0
    for checker, name, tree, expected in cases:
        failure = run(checker, commands[checker], name, tree, expected)
        failures += failure is not None
        print(failure or f'ok: {checker}: {name}')
    print(f'{len(cases)} cases, {failures} failed')
    if not failures:
        passed.add(key)
        passed.save()
    sys.exit(1 if failures else 0)


main()
