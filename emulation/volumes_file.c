/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/volumes_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "common/run_files.h"

#define REMEDY                                                                                                             \
	"give the " RUN_VOLUMES " of a run of this scenario with flowpulse.export = \"counts\", or its " RUN_PREDICTION
#define MAX_ROUND UINT32_MAX
#define MAX_BYTES (UINT64_C(1) << 52)
#define PACKET_BYTES 64.0 /* a mean of whole bytes may be off by less */

/* Where each row of the file is, and of which iteration or run. */
struct place {
	uint64_t round;
	uint32_t line;
};

struct reading {
	const struct volumes_file *file;
	struct volumes_predicted *predicted; /* [count] */
	struct place *places;                /* [count] */
	uint32_t count, cap;
	uint32_t lines;
};

static int
add_row(struct reading *r)
{
	uint32_t cap = r->cap == 0 ? 64 : 2 * r->cap;
	void *predicted, *places;

	if (r->count < r->cap)
		return 0;
	predicted = realloc(r->predicted, cap * sizeof(*r->predicted));
	if (predicted == NULL)
		return -ENOMEM;
	r->predicted = predicted;
	places = realloc(r->places, cap * sizeof(*r->places));
	if (places == NULL)
		return -ENOMEM;
	r->places = places;
	r->cap = cap;
	return 0;
}

static int
read_header(const struct volumes_file *file, const char *text, struct err *err)
{
	if (strcmp(text, "port,sender,iteration,predicted,seen\n") == 0 ||
	    strcmp(text, "port,sender,run,predicted,seen\n") == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s:1: no prediction: the first line of one is \"port,sender,iteration,predicted,seen\"; " REMEDY,
		       file->path);
}

/* @return 0, or -EINVAL with err set */
static int
read_row(struct reading *r, char *text, struct err *err)
{
	const struct volumes_file *file = r->file;
	const struct topo *topo = file->topo;
	struct volumes_predicted *predicted = &r->predicted[r->count];
	struct place *place = &r->places[r->count];
	char *rest, *port = strtok_r(text, ",\n", &rest), *sender = strtok_r(NULL, ",\n", &rest);
	const char *round = strtok_r(NULL, ",\n", &rest), *predicted_text = strtok_r(NULL, ",\n", &rest);
	const char *seen = strtok_r(NULL, ",\n", &rest);

	if (seen == NULL || strtok_r(NULL, ",\n", &rest) != NULL)
		return err_set(err, -EINVAL, "%s:%u: a row is \"port,sender,iteration,predicted,seen\", as in a run's %s",
			       file->path, r->lines, RUN_VOLUMES);
	predicted->port = topo_find_port(topo, port);
	predicted->sender = topo_find(topo, sender);
	if (predicted->port == TOPO_NONE || topo->nodes[topo->ports[predicted->port].node].kind != TOPO_SWITCH ||
	    !tiers_is_uplink(file->tiers, &topo->ports[predicted->port]))
		return err_set(err, -EINVAL, "%s:%u: %s is no port of a switch of this topology to the tier above; " REMEDY,
			       file->path, r->lines, port);
	if (predicted->sender == TOPO_NONE || topo->nodes[predicted->sender].kind != TOPO_SWITCH)
		return err_set(err, -EINVAL, "%s:%u: %s is no switch of this topology; " REMEDY, file->path, r->lines,
			       sender);
	if (!number_parse(predicted_text, 0, MAX_BYTES, &predicted->bytes) ||
	    !number_parse(seen, 0, MAX_BYTES, &predicted->bytes))
		return err_set(err, -EINVAL, "%s:%u: \"%s,%s\" are no counts of bytes", file->path, r->lines,
			       predicted_text, seen);
	if (!number_parse(round, 0, MAX_ROUND, &place->round))
		return err_set(err, -EINVAL, "%s:%u: %s is no number of an iteration or run", file->path, r->lines, round);
	place->line = r->lines;
	r->count++;
	return 0;
}

static int
read_rows(struct reading *r, FILE *from, struct err *err)
{
	const char *path = r->file->path;
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	int ret = 0;

	while (ret == 0 && (length = getline(&text, &room, from)) >= 0) {
		r->lines++;
		if (text[length - 1] != '\n')
			ret = err_set(err, -EINVAL, "%s:%u: the line has no end: the file was cut; " REMEDY, path,
				      r->lines);
		else if (r->lines == 1)
			ret = read_header(r->file, text, err);
		else
			ret = add_row(r) == 0 ? read_row(r, text, err) : -ENOMEM;
	}
	free(text);
	if (ret == 0 && ferror(from))
		ret = err_set(err, -EINVAL, "%s:%u: cannot be read on", path, r->lines + 1);
	if (ret == 0 && r->count == 0)
		ret = err_set(err, -EINVAL, "%s:%u: no row: nothing is predicted; " REMEDY, path,
			      r->lines + (r->lines == 0));
	return ret;
}

/* ---- is it whole, and of this scenario? ---- */

static int
by_round(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Does every iteration have as many rows? @return 0, -EINVAL with err set, -ENOMEM */
static int
check_rounds(const struct reading *r, uint32_t *rounds, struct err *err)
{
	struct place *places = malloc(r->count * sizeof(*places));
	uint32_t most = 0;
	int ret = 0;

	if (places == NULL)
		return -ENOMEM;
	memcpy(places, r->places, r->count * sizeof(*places));
	qsort(places, r->count, sizeof(*places), by_round);
	*rounds = 0;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t first = 0, end; first < r->count && ret == 0; first = end) {
			for (end = first; end < r->count && places[end].round == places[first].round; end++)
				;
			*rounds += pass;
			most = end - first > most ? end - first : most;
			if (pass == 1 && end - first < most)
				ret = err_set(err, -EINVAL,
					      "%s:%u: the last of %u rows of iteration %" PRIu64
					      ", where another has %u: the "
					      "file was cut, or not all was exported; " REMEDY,
					      r->file->path, places[end - 1].line, end - first, places[first].round, most);
		}
	free(places);
	return ret;
}

/* @return bytes that a leaf received of another, of all rows @param line  set to that of the last, or of the file */
static uint64_t
sum_seen(const struct reading *r, uint32_t leaf, uint32_t sender, uint32_t *line)
{
	uint64_t bytes = 0;

	*line = r->lines;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct volumes_predicted *predicted = &r->predicted[i];

		if (r->file->topo->ports[predicted->port].node != leaf || predicted->sender != sender)
			continue;
		bytes += predicted->bytes;
		*line = r->places[i].line;
	}
	return bytes;
}

/* Does each leaf receive of each other what the scenario's measured collectives send? @return 0, or -EINVAL with err set */
static int
check_demand(const struct reading *r, uint32_t rounds, struct err *err)
{
	const struct volumes_file *file = r->file;

	for (uint32_t i = 0; i < file->ndemand; i++) {
		const struct volumes_predicted *of = &file->demand[i];
		double demand = 0, seen;
		uint32_t line;

		for (uint32_t k = 0; k < file->ndemand; k++)
			if (file->demand[k].port == of->port && file->demand[k].sender == of->sender)
				demand += (double)file->demand[k].bytes;
		seen = (double)sum_seen(r, of->port, of->sender, &line) / rounds;
		if (fabs(seen - demand) > file->tolerance * demand + PACKET_BYTES)
			return err_set(
				err, -EINVAL,
				"%s:%u: %s receives %.0f B of %s in an iteration here, and %.0f B by this scenario's "
				"measured collectives (flowpulse.tolerance is %g): of another scenario; " REMEDY,
				file->path, line, file->topo->nodes[of->port].name, seen,
				file->topo->nodes[of->sender].name, demand, file->tolerance);
	}
	return 0;
}

int
volumes_file_read(const struct volumes_file *file, FILE *from, struct volumes_predicted **predicted, uint32_t *count,
		  struct err *err)
{
	struct reading r = { .file = file };
	uint32_t rounds = 0;
	int ret = read_rows(&r, from, err);

	if (ret == 0)
		ret = check_rounds(&r, &rounds, err);
	if (ret == 0)
		ret = check_demand(&r, rounds, err);
	free(r.places);
	*predicted = r.predicted;
	*count = r.count;
	return ret;
}
