/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever another partition of a fabric says, in portions of any size and windows between them, is taken
 * as it can be, or its sender is lost, with a reason; and contents that came are given back. The first byte says which
 * partition hears it, whether payload is real, and how large the portions are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/minmax.h"
#include "emulation/emulation.h"
#include "emulation/partition/partition.h"
#include "emulation/partition/partition_peers.h"
#include "emulation/service.h"

#define FABRIC                                                                                                             \
	"topology = { kind = \"explicit\"; hosts = [ \"h0\", \"h1\" ]; switches = [ \"a\", \"b\" ]; rate = \"1Gbps\"; "    \
	"delay = \"50us\"; links = ( \"h0 a\", \"h1 b\", \"a b\" ); }; timing = { clock = \"real\"; }; "                   \
	"partitions = ( { names = [ \"a\" ]; }, { names = [ \"b\" ]; } ); host = { mtu = 1024; }; "                        \
	"flows = ( { src = \"h0\"; dst = \"h1\"; sport = 20000; bytes = \"10KB\"; } ); "                                   \
	"faults = ( { kind = \"loss\"; port = \"a:2\"; rate = 0.1; } ); "                                                  \
	"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"10KB\"; payload = \"%s\"; } );"

enum first_byte { RECEIVES_SECOND = 1, IS_REAL = 2, PORTION_SHIFT = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made once; [payload is real] */
static struct scenario *scenarios[2];

static void
destroy(void)
{
	for (int i = 0; i < 2; i++)
		scenario_destroy(scenarios[i]);
}

static struct scenario *
the_scenario(bool real)
{
	char path[] = "/tmp/partitions-fuzz-XXXXXX";
	struct scenario_options options = { .path = path };
	struct err err = { "" };
	FILE *file;

	if (scenarios[real] != NULL)
		return scenarios[real];
	if (scenarios[!real] == NULL)
		atexit(destroy);
	file = fdopen(mkstemp(path), "w");
	if (file == NULL || fprintf(file, FABRIC, real ? "real" : "synthetic") < 0 || fclose(file) != 0)
		abort();
	scenarios[real] = scenario_load(&options, &err);
	unlink(path);
	if (scenarios[real] == NULL)
		abort();
	return scenarios[real];
}

/* What hears it: a partition, and in place of the other this. */
struct received_frames {
	struct partitions *partitions;
	struct emulation *emulation;
	struct exporter *exporter;
	int theirs;
	struct window window;
};

static void
open_partition(struct received_frames *h, uint32_t which, bool real)
{
	const struct partition_options options = { .which = which, .count = 2 };
	struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = run_services };
	struct err err = { "" };
	int fds[2];

	h->partitions = partition_create(the_scenario(real), &options, &err);
	if (h->partitions == NULL)
		abort();
	how.partition = partition_here(h->partitions);
	h->emulation = emulation_create(the_scenario(real), &how, &err);
	h->exporter = exporter_create(&the_scenario(real)->exporter, NULL, 0, &err);
	h->partitions->check = record_check_create();
	if (h->emulation == NULL || h->exporter == NULL || h->partitions->check == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ||
	    channel_init(&h->partitions->peers[1 - which].channel, fds[0]) < 0)
		abort();
	h->theirs = fds[1];
	exporter_show(h->exporter, h->partitions->check);
	stream_head_send(h->emulation, h->exporter);
}

static void
close_partition(struct received_frames *h)
{
	boundary_stop(&h->partitions->boundary);
	for (size_t i = 0; i < h->partitions->boundary.segments.cap; i++)
		if (atomic_load(&h->partitions->boundary.segments.slots[i].used))
			abort();
	exporter_destroy(h->exporter);
	emulation_destroy(h->emulation);
	partition_destroy(h->partitions);
	close(h->theirs);
}

/* What has come arrives, and ends where the cable does. */
static void
open_window(struct received_frames *h)
{
	struct fabric *fabric = h->emulation->fabric;
	uint32_t from = 0;
	struct err err = { "" };

	h->window.index++;
	h->window.parity = h->window.index & 1;
	h->window.start_ps = h->window.end_ps;
	h->window.end_ps += fabric->window_ps;
	if (boundary_entering(&h->partitions->boundary, &h->window, &from, &err) < 0)
		partition_lose(h->partitions, from, err.text);
	for (uint32_t i = 0; i < h->partitions->boundary.count; i++) {
		struct link *link = &fabric->links[h->partitions->boundary.crossings[i].port];
		const struct pause_frame *pauses;
		struct pkt *pkts = NULL;
		uint32_t npkts, npauses;

		link_receive(link, h->window.parity);
		npkts = link_arrivals(link, h->window.end_ps, &pkts);
		npauses = link_pauses(link, h->window.end_ps, &pauses);
		for (uint32_t n = 0; n < npkts; n++) {
			struct body body;

			if ((pkts[n].flags & PKT_BYTES) &&
			    !segments_read(&h->partitions->boundary.segments, pkts[n].arg, &body))
				abort();
			body_release(fabric->config.bodies, &pkts[n]);
		}
		link_consume(link, npkts, npauses);
	}
}

/* Contents that are on a cable still. */
static void
drain(struct received_frames *h)
{
	h->window.end_ps = UINT64_MAX / 2;
	for (int i = 0; i < 3; i++)
		open_window(h);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct received_frames h = { 0 };
	size_t portion;

	if (size == 0)
		return 0;
	open_partition(&h, data[0] & RECEIVES_SECOND, data[0] & IS_REAL);
	portion = (size_t)1 << (data[0] >> PORTION_SHIFT) % 16;
	for (size_t at = 1; at < size;) {
		ssize_t sent = send(h.theirs, data + at, min_u64(portion, size - at), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent <= 0)
			break; /* nobody hears it any more */
		at += (size_t)sent;
		partition_take_in(h.partitions);
		open_window(&h);
	}
	if (h.partitions->over && h.partitions->reason == REC_END_PART_LOST && h.partitions->why[0] == '\0')
		abort();
	drain(&h);
	close_partition(&h);
	return 0;
}
