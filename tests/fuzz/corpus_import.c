/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of other tools, small and whole. */
#include "tests/fuzz/corpus.h"

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

	return write_seed(folder, "ring", text, sizeof(text) - 1);
}

bool
goal_seeds(const char *folder)
{
	static const char text[] = "num_ranks 2 // two\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 10b to 1 tag 5 cpu 0 nic 0\n"
				   "l2 requires l1\nl3: calc 7\nl3 irequires l2\n}\n"
				   "rank 1{\nl1: recv 10b from 0 tag 5\nl2: calc 0\nl2 requires l1\n}\n";

	return write_seed(folder, "pair", text, sizeof(text) - 1);
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

	return write_seed(folder, "pair", bytes, sizeof(bytes));
}

bool
hpcc_seeds(const char *folder)
{
	static const char config[] = "CC_MODE 1 {which}\nPACKET_PAYLOAD_SIZE 1000\nRATE_AI 50Mb/s\nRP_TIMER 900\n"
				     "HAS_WIN 1\nBUFFER_SIZE 32\nKMAX_MAP 1 100000000000 1600\n"
				     "KMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\nLINK_DOWN 250 0 3\n";
	static const char flow[] = "2\n1 2 3 100 5000 2\n3 2 4 100 7000 2.000001\n";

	return write_seed(folder, "config", config, sizeof(config) - 1) &&
	       write_seed(folder, "flow", flow, sizeof(flow) - 1);
}
