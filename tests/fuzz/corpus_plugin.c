/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

/* A line of each kind. */
bool
plugin_seeds(const char *folder)
{
	static const char text[] =
		"{\"done\": 7}\n"
		"{\"poll\": {\"port\": \"6:2\"}}\n"
		"{\"poll\": {\"flow\": \"h1->h2/20000>4791\"}}\n"
		"{\"probe\": {\"from\": \"h0\", \"to\": \"h5\"}}\n"
		"{\"finding\": {\"type\": \"deep-queue\", \"where\": {\"ports\": [\"6:2\"], \"links\": [\"3:1\"], "
		"\"hosts\": "
		"[\"h1\"]}, \"flows\": [\"h1->h2/20000>4791\"], \"steps\": [{\"collective\": 0, \"iteration\": 0, "
		"\"rank\": "
		"5, \"step\": 2}], \"collective\": 0, \"job\": 0, \"time\": {\"start_ns\": 0, \"end_ns\": 949000}, "
		"\"explained_ns\": 2106000, \"confidence\": 0.5, \"evidence\": \"159 packets \\u00e4\", \"reported_ns\": "
		"1}}\n";

	return write_seed(folder, "lines", text, sizeof(text) - 1);
}
