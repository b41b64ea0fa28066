/* SPDX-License-Identifier: BSD-3-Clause */
/* corpus NAME FOLDER: writes the seeds of a fuzz target, one file each, so that it starts behind the first checks. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"
#include "common/wire/guest.h"
#include "common/wire/manage.h"
#include "common/wire/record.h"

/* Appends to a stream under construction. */
struct stream {
	uint8_t bytes[8192];
	size_t used_bytes;
};

static bool
write_seed(const char *folder, const char *name, const void *data, size_t size_bytes)
{
	char path[4096];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (file == NULL) {
		perror(path);
		return false;
	}
	good = fwrite(data, 1, size_bytes, file) == size_bytes;
	return fclose(file) == 0 && good;
}

static void
append(struct stream *s, void *rec, uint16_t type, size_t size_bytes, uint32_t node)
{
	struct rec_hdr *hdr = rec;

	hdr->type = type;
	hdr->size = (uint16_t)size_bytes;
	hdr->node = node;
	hdr->time_ps = type < REC_STEP ? 0 : 1000 * s->used_bytes;
	hdr->seq = (uint32_t)s->used_bytes;
	memcpy(s->bytes + s->used_bytes, rec, size_bytes);
	s->used_bytes += size_bytes;
}

/* Two hosts at one switch, two steps each, the flow of the first by both ports that lead to the second. */
static void
put_headers(struct stream *s, const struct rec_tuple flows[2])
{
	struct rec_stream head = { REC_MAGIC, REC_VERSION, sizeof(head) };
	struct rec_run run = { .name = "seed",
			       .policy = REC_POLICY_VEDRFOLNIR,
			       .detections = 3,
			       .rtt_percent = 120,
			       .epochs_kept = 2,
			       .epoch_ps = 1000000,
			       .frame_bytes = 1348,
			       .payload_bytes = 1024,
			       .ack_bytes = 60 };
	struct rec_collective collective = {
		.ranks = 2, .steps = 4, .rank_steps = 2, .bytes = 2048, .ideal_ps = 2000, .expect_ps = 2200
	};
	struct rec_depend depend = { .step = 2, .rank = 1, .on_step = 2 };
	struct rec_ecmp ecmp = { .set = 1, .ports = { 3 } };
	struct rec_route nic = { .flow = flows[0] }, route = { .flow = flows[0], .hop = 1, .port = 1, .ecmp = 1 };

	memcpy(s->bytes, &head, sizeof(head));
	s->used_bytes = sizeof(head);
	append(s, &run, REC_RUN, sizeof(run), REC_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		struct rec_node node = { .name = { (char)('a' + i) }, .kind = i < 2, .nports = i < 2 ? 1 : 2 };

		append(s, &node, REC_NODE, sizeof(node), i);
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_port port = { .port = i == 3,
					 .peer_port = i == 1,
					 .peer = i < 2 ? 2 : i - 2,
					 .ip = i < 2 ? flows[i].src_ip : 0,
					 .rate_bps = 100000000000,
					 .delay_ps = 1000000 };

		append(s, &port, REC_PORT, sizeof(port), i < 2 ? i : 2);
	}
	append(s, &collective, REC_COLLECTIVE, sizeof(collective), REC_NONE);
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_schedule schedule = { .step = i % 2 + 1,
						 .rank = i / 2,
						 .flow = flows[i / 2],
						 .bytes = 1024,
						 .peer = 1 - i / 2,
						 .own_step = i % 2,
						 .depends_rank = i % 2 == 0 ? REC_NONE : 1 - i / 2,
						 .depends_step = i % 2,
						 .depends = i == 3,
						 .ideal_ps = 1000,
						 .expect_ps = 1100,
						 .base_rtt_ps = 2000 };

		append(s, &schedule, REC_SCHEDULE, sizeof(schedule), i / 2);
	}
	append(s, &depend, REC_DEPEND, sizeof(depend), 1);
	append(s, &nic, REC_ROUTE, sizeof(nic), 0);
	append(s, &ecmp, REC_ECMP, sizeof(ecmp), 2);
	append(s, &route, REC_ROUTE, sizeof(route), 2);
}

/* What hosts and the switch report, in epochs of 1 us: slow steps, a queue, a pause, and all else once. */
static void
put_reports(struct stream *s, const struct rec_tuple flows[2])
{
	struct rec_tuple other = { flows[0].src_ip, flows[0].dst_ip, 7, 7, 0 };
	struct rec_trigger trigger = { .flow = flows[0], .step = 1, .rtt_ps = 4000, .threshold_ps = 2400 };
	struct rec_notify notify = { .to = 1, .step = 1, .detections = 2 };
	struct rec_poll poll = {
		.hdr.event = 1, .victim = flows[0], .in_port = 0, .out_port = 1, .flags = 3, .out_paused = 1, .ttl = 63
	};
	struct rec_port_row port_row = {
		.port = 1, .packets = 6, .bytes = 8088, .depth_sum = 12, .depth_max = 4, .to_ps = 1000000, .pause_ps = 1000
	};
	struct rec_port_row state = { .hdr.event = 1,
				      .port = 1,
				      .epoch_first = 1,
				      .epoch_last = 1,
				      .from_ps = 1000000,
				      .to_ps = 1000000,
				      .paused = 1,
				      .paused_since_ps = 2000,
				      .queue_packets = 3,
				      .queue_bytes = 4044,
				      .ingress_xoff_bytes = 9000 };
	struct rec_meter_row meter_row = { .port = 1, .bytes = 4044 };
	struct rec_matrix_row matrix_row = { .flow = flows[0], .other = other, .port = 1, .ahead = 2 };
	struct rec_drop_row drop_row = { .last = flows[0], .port = 1, .reason = REC_DROP_TTL, .packets = 1 };
	struct rec_gap gap = { .kind = REC_FLOW_ROW, .dropped = 1, .dropped_bytes = sizeof(struct rec_flow_row) };
	struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE, .end_ps = 3000000 };

	append(s, &trigger, REC_TRIGGER, sizeof(trigger), 0);
	append(s, &notify, REC_NOTIFY, sizeof(notify), 0);
	append(s, &poll, REC_POLL, sizeof(poll), 2);
	append(s, &port_row, REC_PORT_ROW, sizeof(port_row), 2);
	append(s, &state, REC_PORT_ROW, sizeof(state), 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct rec_flow_row flow_row = {
			.flow = i == 0 ? flows[0] : other, .port = 1, .packets = 3, .bytes = 4044, .depth_sum = 6
		};

		append(s, &flow_row, REC_FLOW_ROW, sizeof(flow_row), 2);
	}
	append(s, &meter_row, REC_METER_ROW, sizeof(meter_row), 2);
	append(s, &matrix_row, REC_MATRIX_ROW, sizeof(matrix_row), 2);
	append(s, &drop_row, REC_DROP_ROW, sizeof(drop_row), 2);
	append(s, &gap, REC_GAP, sizeof(gap), REC_NONE);
	for (uint32_t i = 0; i < 4; i++) {
		struct rec_step step = { .step = i % 2 + 1,
					 .rank = i / 2,
					 .waited_collective = i % 2 == 0 ? REC_NONE : 0,
					 .waited_rank = i % 2 == 0 ? REC_NONE : 1 - i / 2,
					 .waited_step = i % 2,
					 .bytes = 1024,
					 .acked_bytes = 1024,
					 .start_ps = i % 2 * 1000000,
					 .end_ps = (i % 2 + 1) * 1000000 };

		append(s, &step, REC_STEP, sizeof(step), i / 2);
	}
	append(s, &end, REC_END, sizeof(end), REC_NONE);
}

static bool
record_seeds(const char *folder)
{
	static const struct rec_tuple flows[2] = { { 0x0a000001, 0x0a000002, 100, 200, 0 },
						   { 0x0a000002, 0x0a000001, 100, 200, 0 } };
	struct stream s;

	put_headers(&s, flows);
	if (!write_seed(folder, "headers", s.bytes, s.used_bytes))
		return false;
	put_reports(&s, flows);
	return write_seed(folder, "whole", s.bytes, s.used_bytes);
}

/* Frames as IEEE 802.1Qbb and the InfiniBand specification's RoCEv2 annex lay them out; checksums left zero. */
static bool
roce_seeds(const char *folder)
{
	static const struct {
		const char *name;
		uint8_t opcode;
		uint8_t body_bytes; /* extended headers, payload, ICRC */
	} frames[] = {
		{ "write_first", 0x06, 16 + 32 + 4 },
		{ "write_middle", 0x07, 32 + 4 },
		{ "write_last_imm", 0x09, 4 + 32 + 4 },
		{ "write_only_imm", 0x0b, 20 + 32 + 4 },
		{ "send_only_imm", 0x05, 4 + 32 + 4 },
		{ "ack", 0x11, 4 + 4 },
		{ "cnp", 0x81, 16 + 4 },
		{ "ud_send_only", 0x64, 8 + 32 + 4 },
	};
	static const uint8_t pause[64] = { 0x01, 0x80, 0xc2, 0, 0,    0x01, 2, 0, 0, 0, 0, 1,    0x88,
					   0x08, 0x01, 0x01, 0, 0x08, 0,    0, 0, 0, 0, 0, 0xff, 0xff };

	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		uint16_t ip_bytes = (uint16_t)(20 + 8 + 12 + frames[i].body_bytes), udp_bytes = (uint16_t)(ip_bytes - 20);
		uint8_t frame[256] = {
			2,
			0,
			0,
			0,
			0,
			2,
			2,
			0,
			0,
			0,
			0,
			1,
			0x08,
			0x00, /* Ethernet, IPv4 */
			0x45,
			0x6a,
			(uint8_t)(ip_bytes >> 8),
			(uint8_t)ip_bytes,
			0,
			1,
			0x40,
			0, /* IPv4: ECT(0) */
			64,
			17,
			0,
			0,
			10,
			0,
			0,
			1,
			10,
			0,
			0,
			2,
			0xc0,
			0,
			0x12,
			0xb7,
			(uint8_t)(udp_bytes >> 8),
			(uint8_t)udp_bytes,
			0,
			0, /* UDP to 4791 */
			frames[i].opcode,
			0x40,
			0xff,
			0xff,
			0,
			0,
			0,
			0x11,
			0x80,
			0,
			0,
			7, /* BTH: AckReq, PSN 7 */
		};

		if (!write_seed(folder, frames[i].name, frame, 14u + ip_bytes))
			return false;
	}
	return write_seed(folder, "pause", pause, sizeof(pause));
}

static bool
cfg_seeds(const char *folder)
{
	static const char text[] =
		"# every kind of value\n"
		"run: { seed = 7; name = \"x\"; quick = true; share = 1.5; };\n"
		"switch.pfc: { headroom = \"64KiB\"; xoff = 4096; };\n"
		"topology: { links = ( { a = \"1\"; b = \"2\"; rate = \"100Gbps\"; delay = \"2us\"; } ); };\n"
		"flows = ( { src = \"1\"; dst = \"2\"; bytes = \"360MB\"; start = \"1.5ms\"; path = [ \"1:1\", \"2:1\" ]; "
		"} );\n"
		"faults = ( { kind = \"pfc-storm\"; port = \"2:1\"; at = \"1ms\"; for = \"20ms\"; } );\n";

	return write_seed(folder, "values", text, sizeof(text) - 1);
}

/* One of each message, behind the byte that says in what portions it comes. */
static bool
manage_seeds(const char *folder)
{
	static const uint32_t sizes[] = {
		[MANAGE_HELLO] = sizeof(struct manage_hello),
		[MANAGE_TIME] = sizeof(struct manage_time),
		[MANAGE_CONNECT] = 0,
		[MANAGE_CONNECTED] = sizeof(struct manage_connected),
		[MANAGE_START] = sizeof(struct manage_start),
		[MANAGE_RECORDS] = 2 * sizeof(struct rec_step),
		[MANAGE_PROGRESS] = sizeof(struct manage_progress),
		[MANAGE_STOP] = sizeof(struct manage_stop),
		[MANAGE_STEP] = sizeof(struct manage_step),
		[MANAGE_ITERATION] = sizeof(struct manage_iteration),
		[MANAGE_RESULT] = sizeof(struct manage_result),
		[MANAGE_FAILED] = sizeof(struct manage_failed),
		[MANAGE_QP_ERROR] = sizeof(struct manage_failed),
	};
	struct rec_step steps[2] = { { .hdr = { .type = REC_STEP, .size = sizeof(steps[0]) },
				       .step = 1,
				       .waited_collective = REC_NONE,
				       .waited_rank = REC_NONE } };
	uint8_t bytes[4096] = { 0 };
	size_t used = 1;

	steps[1] = steps[0];
	for (uint16_t type = MANAGE_HELLO; type < ARRAY_LEN(sizes); type++) {
		struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = type, .size = sizes[type] };

		memcpy(bytes + used, &hdr, sizeof(hdr));
		if (type == MANAGE_RECORDS)
			memcpy(bytes + used + sizeof(hdr), steps, sizeof(steps));
		used += sizeof(hdr) + sizes[type];
	}
	if (!write_seed(folder, "bytewise", bytes, used))
		return false;
	bytes[0] = 0xff;
	return write_seed(folder, "at_once", bytes, used);
}

/* Turns of guest_fuzz.c: the guest's hello, a program that comes and runs, output, its end. */
static bool
guest_seeds(const char *folder)
{
	static const uint8_t turns[] = {
		0,
		GUEST_HELLO,
		0,
		12,
		'T',
		'G',
		'L',
		'R',
		0,
		0,
		0,
		0,
		1,
		0,
		0,
		0,
		2,
		0,
		0,
		0,
		1,
		GUEST_RUN,
		0,
		11,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		'a',
		0,
		'b',
		0,
		GUEST_STDOUT,
		2,
		2,
		'h',
		'i',
		1,
		GUEST_CREDIT,
		0,
		4,
		2,
		0,
		0,
		0,
		1,
		GUEST_STDIN,
		0,
		0,
		0,
		GUEST_EXIT,
		2,
		4,
		7,
		0,
		0,
		0,
		3,
		0,
		0,
		0,
	};

	return write_seed(folder, "session", turns, sizeof(turns));
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "guest") == 0)
		return !guest_seeds(argv[2]);
	if (argc == 3 && strcmp(argv[1], "record") == 0)
		return !record_seeds(argv[2]);
	if (argc == 3 && strcmp(argv[1], "roce") == 0)
		return !roce_seeds(argv[2]);
	if (argc == 3 && strcmp(argv[1], "cfg") == 0)
		return !cfg_seeds(argv[2]);
	if (argc == 3 && strcmp(argv[1], "manage") == 0)
		return !manage_seeds(argv[2]);
	fprintf(stderr, "usage: corpus record|roce|cfg|manage|guest FOLDER\n");
	return 2;
}
