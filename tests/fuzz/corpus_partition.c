/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/manage.h"
#include "common/wire/partition.h"
#include "common/wire/record.h"

#define PORTS 6              /* of the target's fabric */
#define THERE_PS 60000000ULL /* later than the cable's delay */

struct seed {
	uint8_t bytes[16384];
	size_t used;
};

static void
add(struct seed *seed, enum partition_type type, const void *body, size_t size, size_t more)
{
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC,
					   .type = (uint16_t)type,
					   .size = (uint32_t)(size + more) };

	memcpy(seed->bytes + seed->used, &hdr, sizeof(hdr));
	if (size != 0)
		memcpy(seed->bytes + seed->used + sizeof(hdr), body, size);
	seed->used += sizeof(hdr) + size + more;
}

/* Frames, with contents or without, and pauses, on all cables; those that are none of theirs are refused. */
static void
add_crossing(struct seed *seed, uint32_t port, bool real)
{
	const struct partition_pause pause = { .time_ps = THERE_PS, .port = port, .prio_mask = 8, .xoff = 1 };
	const struct partition_promise promise = { .leaves_ps = THERE_PS,
						   .next_ps = UINT64_MAX,
						   .state = PARTITION_WORKING };
	const struct partition_packet packet = {
		.time_ps = THERE_PS, .wire_bytes = 1106, .payload_bytes = 1024, .prio = 3, .ttl = 64
	};
	const struct {
		struct partition_lane head;
		struct partition_packet packets[2];
	} lane = { { .port = port }, { packet, packet } };
	struct partition_frame frame = { .packet = packet, .port = port, .has_contents = real };

	add(seed, PARTITION_FRAME, &frame, sizeof(frame),
	    real ? sizeof(struct partition_contents) + packet.payload_bytes : 0);
	add(seed, PARTITION_PAUSE, &pause, sizeof(pause), 0);
	frame = (struct partition_frame){
		.packet = { .time_ps = THERE_PS, .wire_bytes = 90, .type = 5, .ttl = 64, .arg = 1 }, .port = port
	};
	add(seed, PARTITION_FRAME, &frame, sizeof(frame), 0);
	add(seed, PARTITION_LANE, &lane, sizeof(lane), 0);
	add(seed, PARTITION_PROMISE, &promise, sizeof(promise), 0);
}

#define HOLDS "{\"holds\":true,\"text\":\"\"}"

static void
add_reported(struct seed *seed, bool steps)
{
	static const char report[] =
		"{\"run\":{\"invariants\":[" HOLDS "," HOLDS "," HOLDS "," HOLDS "," HOLDS "," HOLDS "," HOLDS
		"],\"drops\":{\"ttl\":1}},\"truth\":{\"contentions_left_out\":0,\"pauses\":[{\"port\":\"b:1\"}]}}";
	struct {
		struct partition_records head;
		struct rec_poll poll;
	} records = { .poll.hdr = { .type = REC_POLL, .size = sizeof(struct rec_poll), .node = 1 } };
	const struct partition_bye bye = { .node = REC_NONE, .text = "it has to" };
	const struct partition_host host = { .node = 1 };
	const struct partition_flow flow = { .node = 1, .begun = 1, .begin_ps = 1, .end_ps = 2 };
	const struct partition_result result = { .node = 1, .unexpected = 1 };
	const uint8_t acted = 1;

	add(seed, PARTITION_RECORDS, &records, sizeof(records), 0);
	add(seed, PARTITION_BYE, &bye, sizeof(bye), 0);
	if (steps) {
		add(seed, PARTITION_STEP, &host, sizeof(host), sizeof(struct manage_step));
		add(seed, PARTITION_ITERATION, &host, sizeof(host), sizeof(struct manage_iteration));
	}
	add(seed, PARTITION_FLOW, &flow, sizeof(flow), 0);
	add(seed, PARTITION_RESULT, &result, sizeof(result), 0);
	add(seed, PARTITION_FAULTS, &acted, sizeof(acted), 0);
	add(seed, PARTITION_REPORT, report, sizeof(report) - 1, 0);
	add(seed, PARTITION_DONE, NULL, 0, 0);
}

bool
partition_seeds(const char *folder)
{
	bool good = true;

	for (uint8_t first = 0; first < 4; first++) {
		for (uint32_t port = 0; port <= PORTS; port++) {
			struct seed seed = { .used = 1 };
			char name[] = "of_0_at_0";

			seed.bytes[0] = first | 8 << 2;
			name[3] = (char)('0' + first);
			name[8] = (char)('0' + port);
			if (port < PORTS)
				add_crossing(&seed, port, first & 2);
			else
				add_reported(&seed, first & 2);
			good &= write_seed(folder, name, seed.bytes, seed.used);
		}
	}
	return good;
}
