/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/record/frame.h"
#include "common/wire/record.h"

#define MAX_ITERATIONS (1u << 20)
#define NO_ROW UINT32_MAX
#define OWN_WORD (1u << REC_FLAW_UNEVEN) /* the threshold's own, of what it missed: no other test goes by it */

struct reading {
	const struct fp_fabric *fabric;
	const char *path;
	struct rec_volume *volumes; /* [count] */
	size_t count, cap;
	struct fp_alarm *alarms; /* [nalarms] */
	size_t nalarms, cap_alarms;
	uint32_t row_of[FP_MAX_LEAVES][FP_MAX_LEAVES]; /* by leaf and sender, NO_ROW: nothing came */
	uint32_t nrows, iterations;
	uint64_t monitor_bytes; /* of monitors' records, in frames */
	bool has_monitors;
};

static uint32_t
leaf_of(const struct fp_fabric *fabric, uint32_t node)
{
	return node - fabric->leaves * fabric->hosts_per_leaf;
}

/* What is within the fabric; the rest is not of such a run. */
static int
take_volume(struct reading *reading, const struct rec_volume *rec, struct err *err)
{
	const struct fp_fabric *fabric = reading->fabric;
	uint32_t leaf = leaf_of(fabric, rec->hdr.node), sender = leaf_of(fabric, rec->sender);

	if (leaf >= fabric->leaves || sender >= fabric->leaves || rec->port < fabric->hosts_per_leaf ||
	    rec->port >= fabric->hosts_per_leaf + fabric->spines || rec->iteration >= MAX_ITERATIONS)
		return err_set(err, -EINVAL, "%s: volume of node %u, port %u, sender %u, iteration %u: not of this fabric",
			       reading->path, rec->hdr.node, rec->port, rec->sender, rec->iteration);
	reading->volumes = grow(reading->volumes, &reading->cap, reading->count + 1, sizeof(*reading->volumes), "volumes");
	reading->volumes[reading->count++] = *rec;
	if (rec->iteration >= reading->iterations)
		reading->iterations = rec->iteration + 1;
	reading->row_of[leaf][sender] = 0; /* numbered when all are known */
	return 0;
}

static int
take_alarm(struct reading *reading, const struct rec_volume_alarm *rec, struct err *err)
{
	const struct fp_fabric *fabric = reading->fabric;
	uint32_t leaf = leaf_of(fabric, rec->hdr.node), path = rec->port - fabric->hosts_per_leaf;

	if (leaf >= fabric->leaves || path >= fabric->spines)
		return err_set(err, -EINVAL, "%s: alarm of node %u, port %u: not of this fabric", reading->path,
			       rec->hdr.node, rec->port);
	reading->alarms =
		grow(reading->alarms, &reading->cap_alarms, reading->nalarms + 1, sizeof(*reading->alarms), "alarms");
	reading->alarms[reading->nalarms++] = (struct fp_alarm){
		.iteration = rec->iteration,
		.leaf = leaf,
		.path = path,
		.sender = rec->sender != REC_NONE ? leaf_of(fabric, rec->sender) : FP_NO_LEAF,
		.place = rec->place,
		.drop_ppm = rec->drop_ppm,
		.low_ppm = rec->low_ppm,
		.high_ppm = rec->high_ppm,
	};
	return 0;
}

static int
take_record(struct reading *reading, const struct rec_hdr *rec, struct err *err)
{
	if (rec->type == REC_VOLUME)
		return take_volume(reading, (const struct rec_volume *)rec, err);
	return rec->type == REC_VOLUME_ALARM ? take_alarm(reading, (const struct rec_volume_alarm *)rec, err) : 0;
}

static bool
is_of_monitor(const struct rec_hdr *rec)
{
	return rec->type == REC_VOLUME || rec->type == REC_VOLUME_ALARM || rec->type == REC_VOLUME_FLAW ||
	       rec->type == REC_MONITORED;
}

static int
take_frame(struct reading *reading, const struct rec_hdr *hdr, struct err *err)
{
	struct recframe_reader frame;
	const struct rec_hdr *rec;
	uint64_t monitor_bytes = 0, all = 0;
	int more;

	recframe_open(&frame, hdr);
	while ((more = recframe_next(&frame, &rec, err)) > 0) {
		int ret = take_record(reading, rec, err);

		if (ret < 0)
			return ret;
		all += rec->size;
		monitor_bytes += is_of_monitor(rec) ? rec->size : 0;
	}
	/* A frame is shorter than its records: each has its part of it. */
	reading->monitor_bytes += monitor_bytes != 0 ? hdr->size * monitor_bytes / all : 0;
	reading->has_monitors |= monitor_bytes != 0;
	return more;
}

static int
read_all(struct reading *reading, FILE *from, struct err *err)
{
	uint8_t data[UINT16_MAX + 1u] __attribute__((aligned(8)));
	const struct rec_hdr *hdr = (const struct rec_hdr *)data;
	struct rec_stream stream;

	if (fread(&stream, sizeof(stream), 1, from) != 1 || stream.magic != REC_MAGIC || stream.version != REC_VERSION)
		return err_set(err, -EINVAL, "%s is no recording of this version", reading->path);
	while (fread(data, sizeof(*hdr), 1, from) == 1) {
		int ret = 0;

		if (hdr->size < sizeof(*hdr) ||
		    fread(data + sizeof(*hdr), 1, hdr->size - sizeof(*hdr), from) != hdr->size - sizeof(*hdr) ||
		    (hdr->type == REC_FRAME && hdr->size > REC_FRAME_MAX_BYTES))
			return err_set(err, -EINVAL, "%s is damaged", reading->path);
		if (hdr->type == REC_FRAME)
			ret = take_frame(reading, hdr, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void
number_rows(struct reading *reading)
{
	for (uint32_t leaf = 0; leaf < reading->fabric->leaves; leaf++)
		for (uint32_t sender = 0; sender < reading->fabric->leaves; sender++)
			if (reading->row_of[leaf][sender] != NO_ROW)
				reading->row_of[leaf][sender] = reading->nrows++;
}

/* Hands the alarms on. */
static struct fp_grid *
make_grid(struct reading *reading, struct err *err)
{
	const struct fp_fabric *fabric = reading->fabric;
	struct fp_grid *grid;

	if (!reading->has_monitors || reading->nrows > 2 * FP_MAX_LEAVES) {
		err_set(err, -EINVAL, "%s: %s", reading->path, !reading->has_monitors ? "no counts" : "too many senders");
		return NULL;
	}
	grid = fp_grid_create(reading->iterations, reading->nrows, fabric->spines);
	if (grid == NULL) {
		err_set(err, -ENOMEM, "out of memory for the counts of %u iterations", reading->iterations);
		return NULL;
	}
	grid->exported_bytes = reading->monitor_bytes;
	grid->alarms = reading->alarms;
	grid->nalarms = reading->nalarms;
	reading->alarms = NULL;
	for (size_t i = 0; i < reading->count; i++) {
		const struct rec_volume *rec = &reading->volumes[i];
		uint32_t leaf = leaf_of(fabric, rec->hdr.node), sender = leaf_of(fabric, rec->sender);
		uint32_t row = reading->row_of[leaf][sender];

		grid->rows[row] = (struct fp_row){ leaf, sender };
		*fp_cell(grid, rec->iteration, row, rec->port - fabric->hosts_per_leaf) =
			(struct fp_cell){ .bytes = { rec->predicted, rec->seen },
					  .packets = rec->packets,
					  .end_ps = rec->hdr.time_ps,
					  .is_sound = (rec->flaws & ~OWN_WORD) == 0 && rec->learned == 0 };
	}
	return grid;
}

struct fp_grid *
fp_counts_read(const char *path, const struct fp_fabric *fabric, struct err *err)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	FILE *from = fopen(path, "r");
	struct fp_grid *grid = NULL;

	if (reading == NULL || from == NULL) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
	} else {
		reading->fabric = fabric;
		reading->path = path;
		memset(reading->row_of, 0xff, sizeof(reading->row_of)); /* NO_ROW */
		if (read_all(reading, from, err) == 0) {
			number_rows(reading);
			grid = make_grid(reading, err);
		}
		free(reading->volumes);
		free(reading->alarms);
	}
	free(reading);
	if (from != NULL)
		fclose(from);
	return grid;
}
