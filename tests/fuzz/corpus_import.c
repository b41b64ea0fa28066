/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of other tools, small and whole. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/corpus.h"

#define LARGE_BYTES (1u << 20)
#define LINE_BYTES 256u

/* A file that is written bit by bit. */
struct large {
	char *at;
	size_t used;
};

static bool
begin_large(struct large *large)
{
	*large = (struct large){ malloc(LARGE_BYTES + 4 * LINE_BYTES), 0 };
	return large->at != NULL;
}

static void __attribute__((format(printf, 2, 3))) add_line(struct large *large, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	large->used += (size_t)vsnprintf(large->at + large->used, LINE_BYTES, format, args);
	va_end(args);
}

static bool
end_large(const char *folder, const struct large *large)
{
	bool written = write_seed(folder, "large", large->at, large->used);

	free(large->at);
	return written;
}

#define STEP(s, type, off)                                                                                                 \
	"<step s=\"" s "\" type=\"" type "\" srcbuf=\"i\" srcoff=\"" off "\" dstbuf=\"i\" dstoff=\"" off                   \
	"\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
#define GPU(id, peer, mine, other)                                                                                         \
	"<gpu id=\"" id "\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"1\"><tb id=\"0\" send=\"" peer "\" recv=\"" peer      \
	"\" chan=\"0\">\n" STEP("0", "s", mine) STEP("1", "rrc", other) STEP("2", "s", other)                              \
		STEP("3", "r", mine) "</tb></gpu>\n"

bool
msccl_seeds(const char *folder)
{
	static const char text[] =
		"<algo name=\"a\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" "
		"inplace=\"1\">\n" GPU("0", "1", "0", "1") GPU("1", "0", "1", "0") "</algo>\n";

	struct large large;

	if (!begin_large(&large))
		return false;
	add_line(&large, "<algo name=\"a\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"custom\" "
			 "inplace=\"0\">\n");
	for (unsigned gpu = 0; gpu < 2; gpu++) {
		add_line(&large,
			 "<gpu id=\"%u\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"%u\" recv=\"%u\" "
			 "chan=\"0\">\n",
			 gpu, 1 - gpu, 1 - gpu);
		for (unsigned s = 0; large.used < (gpu + 1) * (LARGE_BYTES / 2) && s < 2000; s++)
			add_line(&large,
				 "<step s=\"%u\" type=\"%s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" "
				 "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n",
				 s, (s + gpu) % 2 == 0 ? "s" : "r");
		add_line(&large, "</tb></gpu>\n");
	}
	add_line(&large, "</algo>\n");
	return write_seed(folder, "ring", text, sizeof(text) - 1) && end_large(folder, &large);
}

bool
goal_seeds(const char *folder)
{
	static const char text[] = "num_ranks 2 // two\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 10b to 1 tag 5 cpu 0 nic 0\n"
				   "l2 requires l1\nl3: calc 7\nl3 irequires l2\n}\n"
				   "rank 1{\nl1: recv 10b from 0 tag 5\nl2: calc 0\nl2 requires l1\n}\n";

	struct large large;

	if (!begin_large(&large))
		return false;
	add_line(&large, "num_ranks 2\nrank 0 {\n");
	for (unsigned i = 1; large.used < LARGE_BYTES / 2; i++)
		add_line(&large, "l%u: send 10b to 1 tag %u\n", i, i % 7);
	add_line(&large, "}\nrank 1 {\n");
	for (unsigned i = 1; large.used < LARGE_BYTES; i++)
		add_line(&large, "l%u: calc %u\nl%u requires l%u\n", 2 * i, i, 2 * i, i > 1 ? 2 * i - 2 : 2);
	add_line(&large, "}\n");
	return write_seed(folder, "pair", text, sizeof(text) - 1) && end_large(folder, &large);
}

/* The first byte says where the second rank's file begins; each: metadata, then nodes. */
bool
chakra_seeds(const char *folder)
{
	static const unsigned char bytes[] = {
		141,
		/* Rank 0: a send of 1000 B to rank 1, then a computation of 7 us. */
		7, 0x0a, 5, '0', '.', '0', '.', '4',                                              /**/
		36, 0x18, 5,                                                                      /* COMM_SEND_NODE */
		0x52, 14, 0x0a, 9, 'c', 'o', 'm', 'm', '_', 's', 'i', 'z', 'e', 0x48, 0xe8, 0x07, /**/
		0x52, 12, 0x0a, 8, 'c', 'o', 'm', 'm', '_', 'd', 's', 't', 0x38, 1,               /**/
		0x22, 0, 0x2a, 0,                                                                 /**/
		9, 0x08, 1, 0x18, 4, 0x2a, 1, 0, 0x38, 7,                                         /**/
		/* Rank 1: its receive. */
		7, 0x0a, 5, '0', '.', '0', '.', '4',                                              /**/
		36, 0x18, 6,                                                                      /* COMM_RECV_NODE */
		0x52, 14, 0x0a, 9, 'c', 'o', 'm', 'm', '_', 's', 'i', 'z', 'e', 0x48, 0xe8, 0x07, /**/
		0x52, 12, 0x0a, 8, 'c', 'o', 'm', 'm', '_', 's', 'r', 'c', 0x38, 0,               /**/
		0x22, 0, 0x2a, 0,                                                                 /**/
	};

	struct large large;

	if (!begin_large(&large))
		return false;
	large.at[large.used++] = (char)254; /* nearly all of it is rank 0's: metadata, then nodes of names and attributes */
	memcpy(large.at + large.used,
	       "\x07\x0a\x05"
	       "0.0.4",
	       8);
	for (large.used += 8; large.used < LARGE_BYTES; large.used += 29)
		memcpy(large.at + large.used,
		       "\x1c\x08\x01\x18\x01\x12\x09"
		       "a name of"
		       "\x52\x0b\x0a\x07"
		       "unknown"
		       "\x38\x01",
		       29);
	return write_seed(folder, "pair", bytes, sizeof(bytes)) && end_large(folder, &large);
}

bool
hpcc_seeds(const char *folder)
{
	static const char config[] = "CC_MODE 1 {which}\nPACKET_PAYLOAD_SIZE 1000\nRATE_AI 50Mb/s\nRP_TIMER 900\n"
				     "HAS_WIN 1\nBUFFER_SIZE 32\nKMAX_MAP 1 100000000000 1600\n"
				     "KMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\nLINK_DOWN 250 0 3\n";
	static const char flow[] = "2\n1 2 3 100 5000 2\n3 2 4 100 7000 2.000001\n";

	struct large large;

	if (!begin_large(&large))
		return false;
	add_line(&large, "3000\n");
	for (unsigned i = 0; i < 3000; i++)
		add_line(&large, "%u %u 3 %u %u %u.%06u\n", 1 + i % 3, 1 + (i + 1) % 3, 100 + i % 1000, 1000 + i,
			 2 + i / 1000, i % 1000);
	return write_seed(folder, "config", config, sizeof(config) - 1) &&
	       write_seed(folder, "flow", flow, sizeof(flow) - 1) && end_large(folder, &large);
}

bool
sonic_seeds(const char *folder)
{
	static const char config[] =
		"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"Ethernet0\": {\"speed\": "
		"\"100000\", "
		"\"mtu\": \"9100\", \"pfc_asym\": \"on\"}, \"Ethernet4\": {\"speed\": 100000}}, \"DEVICE_NEIGHBOR\": "
		"{\"Ethernet0\": "
		"{\"name\": \"s0\", \"port\": \"Ethernet0\"}, \"Ethernet4\": {\"name\": \"a\"}}, "
		"\"DEVICE_NEIGHBOR_METADATA\": "
		"{\"a\": {\"type\": \"Server\"}}, \"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"300m\"}}, \"BUFFER_PG\": "
		"{\"Ethernet0,Ethernet4|3-4\": {\"profile\": \"[BUFFER_PROFILE|p]\"}}, \"BUFFER_QUEUE\": "
		"{\"Ethernet4|0-2\": {\"profile\": "
		"\"q\"}}, \"QUEUE\": {\"Ethernet0|3\": {\"scheduler\": \"s\", \"wred_profile\": \"w\"}}, \"PFC_WD\": "
		"{\"Ethernet0\": "
		"{\"action\": \"forward\", \"detection_time\": \"400\"}}}";
	static const char common[] =
		"{\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": "
		"\"1000000\", "
		"\"xoff\": \"100000\"}, \"e\": {\"type\": \"egress\", \"mode\": \"static\", \"size\": \"1000\"}}, "
		"\"BUFFER_PROFILE\": "
		"{\"p\": {\"pool\": \"ingress_lossless_pool\", \"size\": \"9\", \"xon\": \"9\", \"xoff\": \"80\", "
		"\"dynamic_th\": \"-3\"}, "
		"\"q\": {\"pool\": \"[BUFFER_POOL|e]\", \"static_th\": \"7\"}}, \"SCHEDULER\": {\"s\": {\"type\": "
		"\"DWRR\", \"weight\": "
		"\"14\"}}, \"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"5\", "
		"\"green_max_threshold\": \"9\"}}, "
		"\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"3\"}}, \"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3,4\", "
		"\"dscp_to_tc_map\": \"M\"}}}";
	static const char rows[] = "# speed cable size xon xoff threshold\n100000 40m 9000 8000 50000 -2 1000\n";
	struct large large;

	if (!begin_large(&large))
		return false;
	add_line(&large, "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {");
	for (unsigned i = 0; large.used < LARGE_BYTES / 2; i++)
		add_line(&large, "%s\"Ethernet%u\": {\"speed\": \"%u\", \"mtu\": \"9100\"}", i == 0 ? "" : ", ", 4 * i,
			 100000 << i % 3);
	add_line(&large, "}, \"DEVICE_NEIGHBOR\": {");
	for (unsigned i = 0; large.used < LARGE_BYTES; i++)
		add_line(&large, "%s\"Ethernet%u\": {\"name\": \"h%u\"}", i == 0 ? "" : ", ", 4 * i, i);
	add_line(&large, "}}");
	return end_large(folder, &large) && write_seed(folder, "config", config, sizeof(config) - 1) &&
	       write_seed(folder, "common", common, sizeof(common) - 1) &&
	       write_seed(folder, "rows", rows, sizeof(rows) - 1);
}
