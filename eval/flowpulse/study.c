/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/study.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/prng.h"
#include "common/record/frame.h"
#include "common/run_files.h"
#include "common/wire/record.h"
#include "eval/case_result.h"
#include "eval/flowpulse/grid.h"
#include "eval/store.h"
#include "twin/rerun/job.h"

#define RUN_ITERATIONS 200 /* of one run at most: its recording holds every step */
#define FAULTY_PARTS 4     /* the least number of draws of links, where there are iterations for it */

static struct fp_spec
spec_of(const struct fp_study *study, const struct fp_point *point, const char *purpose, uint32_t part)
{
	return (struct fp_spec){ .purpose = purpose,
				 .fabric = point->fabric,
				 .spraying = point->spraying,
				 .prediction = "analytical",
				 .rings = 1,
				 .packets = point->packets * study->scale,
				 .seed = study->seed * FP_MAX_PARTS + part };
}

/* Requests one more run. */
static int
add_part(struct fp_study *study, const struct fp_spec *spec, struct fp_set *set, struct err *err)
{
	uint32_t part = set->nparts++;
	int ret = fp_need(study, spec, &set->parts[part].grid, err);

	set->packets = fp_spec_packets(spec);
	set->parts[part].nfaults = fp_spec_faults(spec, set->parts[part].faults);
	set->is_ready &= set->parts[part].grid != NULL;
	return ret;
}

int
fp_set_clean(struct fp_study *study, const struct fp_point *point, uint32_t iterations, struct fp_set *set, struct err *err)
{
	int ret = 0;

	*set = (struct fp_set){ .point = point, .is_ready = true };
	for (uint32_t done = 0; ret == 0 && done < iterations && set->nparts < FP_MAX_PARTS;) {
		struct fp_spec spec = spec_of(study, point, "clean", set->nparts);

		spec.iterations = iterations - done < RUN_ITERATIONS ? iterations - done : RUN_ITERATIONS;
		done += spec.iterations;
		ret = add_part(study, &spec, set, err);
	}
	return ret;
}

static void
add_known(struct fp_spec *spec, const struct fp_known *known)
{
	struct prng prng;

	prng_init(&prng, spec->seed, known->links);
	for (uint32_t i = 0; i < known->links; i++) {
		uint32_t row = (uint32_t)prng_below(&prng, spec->fabric.leaves);

		spec->links[spec->nlinks++] = (struct fp_link){ .row = row,
								.path = (uint32_t)prng_below(&prng, spec->fabric.spines),
								.is_known = true,
								.drop = known->drop };
	}
}

int
fp_set_faulty(struct fp_study *study, const struct fp_point *point, const char *purpose, const double *drops,
	      uint32_t ndrops, uint32_t trials, const struct fp_known *known, struct fp_set *set, struct err *err)
{
	uint32_t rows = point->fabric.leaves / 2, iterations = (trials * ndrops + rows - 1) / rows;
	uint32_t parts = iterations < FAULTY_PARTS ? iterations : FAULTY_PARTS;
	int ret = 0;

	while ((iterations + parts - 1) / parts > RUN_ITERATIONS)
		parts++;
	*set = (struct fp_set){ .point = point, .is_ready = true };
	for (uint32_t part = 0; ret == 0 && part < parts && part < FP_MAX_PARTS; part++) {
		struct fp_spec spec = spec_of(study, point, purpose, part);

		spec.iterations = (iterations + parts - 1) / parts;
		if (known != NULL)
			add_known(&spec, known);
		fp_spec_add_faults(&spec, drops, ndrops);
		ret = add_part(study, &spec, set, err);
	}
	return ret;
}

int
fp_set_outcomes(const struct fp_set *set, const struct fp_method *method, double drop, struct fp_outcomes *outcomes,
		struct err *err)
{
	int ret = 0;

	*outcomes = (struct fp_outcomes){ 0 };
	for (uint32_t i = 0; ret == 0 && i < set->nparts; i++)
		ret = fp_outcomes_add(outcomes, method, set->parts[i].grid, set->parts[i].faults, set->parts[i].nfaults,
				      drop);
	return ret < 0 ? err_set(err, ret, "out of memory") : 0;
}

json_t *
fp_row_begin(const struct fp_set *set)
{
	char fabric[32];

	snprintf(fabric, sizeof(fabric), "%ux%u", set->point->fabric.leaves, set->point->fabric.spines);
	return json_pack("{s:s, s:s, s:I}", "fabric", fabric, "spraying", set->point->spraying, "packets_a_port",
			 (json_int_t)llround(set->packets));
}

void
fp_row_percent(json_t *row, const char *key, uint64_t part, uint64_t of)
{
	json_object_set_new(row, key, of != 0 ? json_real(100.0 * (double)part / (double)of) : json_null());
}

#define MAX_ITERATIONS (1u << 20)
#define NO_ROW UINT32_MAX
#define OWN_WORD (1u << REC_FLAW_UNEVEN) /* the threshold's own, of its misses: no other test uses it */

struct reading {
	const struct fp_fabric *fabric;
	const char *path;
	struct rec_volume *volumes; /* [count] */
	size_t count, cap;
	struct fp_alarm *alarms; /* [nalarms] */
	size_t nalarms, cap_alarms;
	uint32_t row_of[FP_MAX_LEAVES][FP_MAX_LEAVES]; /* by leaf and sender, NO_ROW: nothing arrived */
	uint32_t nrows, iterations;
	uint64_t monitor_bytes; /* of monitors' records, in frames */
	bool has_monitors;
};

static uint32_t
leaf_of(const struct fp_fabric *fabric, uint32_t node)
{
	return node - fabric->leaves * fabric->hosts_per_leaf;
}

/* Limits of the fabric; a value beyond them is not of such a run. */
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
	FILE *from = input_fopen(path, err);
	struct fp_grid *grid = NULL;

	if (reading == NULL) {
		err_set(err, -ENOMEM, "%s: out of memory", path);
	} else if (from != NULL) {
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

/* The runs of a study: the fabric, then its recording to counts; files that are no longer needed are removed. */

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */

struct work {
	struct fp_study *study;
	uint32_t slots[POOL_MAX_JOBS]; /* index of the run */
	uint32_t done, broken;
};

static void
folder_of(const struct work *work, const struct fp_run *run, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%s", work->study->dir, run->name);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;

	for (uint32_t i = 0; i < work->study->nruns; i++) {
		struct fp_run *run = &work->study->runs[i];
		char dir[PATH_MAX], scenario[PATH_MAX + 16];

		if (run->grid != NULL || run->is_begun)
			continue;
		folder_of(work, run, dir);
		snprintf(scenario, sizeof(scenario), "%s/case.cfg", dir);
		run->is_begun = true;
		work->slots[slot] = i;
		return job_start(
			&(struct job_config){
				.scenario = scenario, .fabric = dir, .out = dir, .policy = "off", .cpu = cpu },
			err);
	}
	return 0;
}

/* @return 0, or negative errno with why set: the run is no result */
static int
take_counts(struct work *work, struct fp_run *run, int status, struct err *why)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int ret = job_check(work->study->dir, run->name, status, why);

	if (ret < 0)
		return ret;
	folder_of(work, run, dir);
	snprintf(path, sizeof(path), "%s/" JOB_RECORDS, dir);
	run->grid = fp_counts_read(path, &run->spec.fabric, why);
	if (run->grid == NULL)
		return -ENODATA;
	fp_spec_note_losses(&run->spec, run->grid);
	ret = fp_grid_save(run->grid, dir, "counts.bin", why);
	if (ret == 0)
		ret = run_files_remove(dir, why);
	return ret;
}

static void
show(const struct work *work)
{
	progress_line("%u of %u runs", work->done, work->study->nwaiting);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	struct fp_run *run = &work->study->runs[work->slots[slot]];
	struct err why = { 0 };

	if (take_counts(work, run, status, &why) == 0) {
		work->done++;
		show(work);
		return 0;
	}
	progress_line("%s", "");
	log_warning("%s/%s failed: %s; see log.txt there", work->study->dir, run->name, why.text);
	if (++work->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->broken);
}

/*
 * Does the requested runs that are missing. @return how many runs broke, -EINTR: interrupted; other negative errno
 * with err set
 */
static int
fp_runs(struct fp_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work *work = calloc(1, sizeof(*work));
	int ret;

	if (work == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	work->study = study;
	show(work);
	ret = pool_run(study->jobs, &ops, work, err);
	progress_line("%s", "");
	if (ret == 0)
		ret = (int)work->broken;
	free(work);
	return ret;
}

#define COUNTS "counts.bin"
#define ROUNDS 8 /* of requests: more than any needs */

const struct fp_experiment *
fp_experiment_find(const char *name)
{
	for (const struct fp_experiment *experiment = fp_experiments; experiment->name != NULL; experiment++)
		if (strcmp(experiment->name, name) == 0)
			return experiment;
	return NULL;
}

static struct fp_run *
find_run(struct fp_study *study, const char *name)
{
	for (uint32_t i = 0; i < study->nruns; i++)
		if (strcmp(study->runs[i].name, name) == 0)
			return &study->runs[i];
	return NULL;
}

/* Makes a run's folder and scenario, and reads its counts, if an earlier command left them. */
static int
begin_run(struct fp_study *study, struct fp_run *run, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	uint64_t before;
	int ret;

	if (snprintf(dir, sizeof(dir), "%s/%s", study->dir, run->name) >= (int)sizeof(dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a name", study->dir);
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	before = case_file_set_aside(path);
	ret = fp_spec_write(&run->spec, dir, err);
	if (ret == 0)
		ret = case_file_check(path, before, err);
	snprintf(path, sizeof(path), "%s/" COUNTS, dir);
	if (ret == 0)
		run->grid = fp_grid_load(path);
	if (run->grid != NULL)
		fp_spec_note_losses(&run->spec, run->grid);
	return ret;
}

static void
note_other(struct fp_study *study, const char *point)
{
	for (uint32_t i = 0; i < study->nothers; i++)
		if (strcmp(study->others[i], point) == 0)
			return;
	if (study->nothers < FP_MAX_POINTS)
		snprintf(study->others[study->nothers++], FP_NAME, "%s", point);
}

static bool
is_wanted(struct fp_study *study, const struct fp_spec *spec)
{
	uint64_t digest = DIGEST_INIT;
	char point[FP_NAME];

	fp_spec_point(spec, point);
	for (const char *p = point; *p != '\0'; p++)
		digest = digest_u64(digest, (uint64_t)*p);
	if (!shard_has(study->shard, digest))
		return false;
	if (study->points == NULL)
		return true;
	if (fnmatch(study->points, point, 0) == 0)
		return true;
	note_other(study, point);
	return false;
}

/* Have all experiments no row, since no point is wanted? @return 0, or -EINVAL with err set */
static int
check_points(const struct fp_study *study, struct err *err)
{
	char list[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < study->nexperiments; i++)
		if (json_array_size(study->rows[i]) != 0)
			return 0;
	for (uint32_t i = 0; i < study->nothers && used < sizeof(list) - FP_NAME; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i != 0 ? ", " : "", study->others[i]);
	return err_set(err, -EINVAL, "--points \"%s\": no row is of such; there are %s%s", study->points, list,
		       used >= sizeof(list) - FP_NAME ? " and more" : "");
}

int
fp_need(struct fp_study *study, const struct fp_spec *spec, const struct fp_grid **grid, struct err *err)
{
	char name[FP_NAME];
	struct fp_run *run;
	int ret = 0;

	*grid = NULL;
	if (!is_wanted(study, spec))
		return 0;
	fp_spec_name(spec, name);
	run = find_run(study, name);
	if (run == NULL && study->nruns == FP_MAX_RUNS)
		return err_set(err, -ENOSPC, "more than %d runs", FP_MAX_RUNS);
	if (run == NULL) {
		run = &study->runs[study->nruns++];
		*run = (struct fp_run){ .spec = *spec };
		memcpy(run->name, name, sizeof(name));
		ret = begin_run(study, run, err);
	}
	study->nwaiting += run->grid == NULL;
	*grid = run->grid;
	return ret;
}

/* Calls all experiments. @return how many runs are missing, or negative errno with err set */
static int
ask(struct fp_study *study, struct err *err)
{
	int ret = 0;

	study->nwaiting = 0;
	for (uint32_t i = 0; ret == 0 && i < study->nexperiments; i++) {
		json_decref(study->rows[i]);
		study->rows[i] = json_array();
		ret = study->experiments[i]->evaluate(study, study->rows[i], err);
	}
	return ret < 0 ? ret : (int)study->nwaiting;
}

int
fp_study_run(struct fp_study *study, struct err *err)
{
	int ret = 0;

	study->runs = calloc(FP_MAX_RUNS, sizeof(*study->runs));
	study->others = calloc(FP_MAX_POINTS, sizeof(*study->others));
	if (study->runs == NULL || study->others == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (int round = 0; round < ROUNDS; round++) {
		ret = ask(study, err);
		if (ret <= 0)
			return ret == 0 && study->points != NULL && !shard_is_part(study->shard) ? check_points(study, err)
												 : ret;
		ret = shard_check(study->shard, study->nwaiting, err);
		if (ret == 0)
			ret = fp_runs(study, err);
		if (ret != 0)
			return ret;
	}
	return err_set(err, -EIO, "some runs left no counts");
}

void
fp_study_fini(struct fp_study *study)
{
	for (uint32_t i = 0; i < study->nruns; i++)
		fp_grid_destroy(study->runs[i].grid);
	for (uint32_t i = 0; i < study->nexperiments; i++)
		json_decref(study->rows[i]);
	free(study->runs);
	free(study->others);
	study->runs = NULL;
	study->others = NULL;
	study->nruns = 0;
}

/* Rows of any experiment, for people and for machines. */

static void
print_value(const json_t *value, char *cell, size_t cap)
{
	if (json_is_string(value))
		snprintf(cell, cap, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(cell, cap, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(cell, cap, "%.4g", json_real_value(value));
	else
		snprintf(cell, cap, "-");
}

static void
print_rows(const json_t *rows, FILE *to)
{
	struct libscols_table *table = scols_new_table();
	const char *key;
	json_t *value, *row;
	size_t i;

	scols_table_set_stream(table, to);
	json_object_foreach(json_array_get(rows, 0), key, value)
		scols_table_new_column(table, key, 0, json_is_string(value) ? 0 : SCOLS_FL_RIGHT);
	json_array_foreach(rows, i, row) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[64];
		size_t column = 0;

		json_object_foreach(row, key, value) {
			print_value(value, cell, sizeof(cell));
			scols_line_set_data(line, column++, cell);
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

void
fp_print(const struct fp_study *study, FILE *to)
{
	for (uint32_t i = 0; i < study->nexperiments; i++) {
		fprintf(to, "%s%s: %s\n", i != 0 ? "\n" : "", study->experiments[i]->name, study->experiments[i]->doc);
		print_rows(study->rows[i], to);
	}
}

json_t *
fp_json(const struct fp_study *study)
{
	json_t *root = json_object();

	for (uint32_t i = 0; i < study->nexperiments; i++)
		json_object_set(root, study->experiments[i]->name, study->rows[i]);
	return root;
}
