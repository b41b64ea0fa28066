/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/plan_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "collectives/import/import.h"
#include "common/array.h"

struct schedule_config {
	struct cfg_where where;
	int kind; /* enum import_kind */
	const char *file, *groups;
	uint64_t local_bps;
	int64_t channels;
};

#define AT(field) offsetof(struct schedule_config, field)
#define CHOICE(id, value_, name_, ...) { .name = name_, .value = id },
static const struct cfg_choice kinds[] = { IMPORT_KINDS(CHOICE){ 0 } };

#define KIND_FIELD                                                                                                         \
	{                                                                                                                  \
		"kind", CFG_ENUM, AT(kind), NULL, 0, 0, kinds, "Format of the file."                                       \
	}
#define FILE_FIELD(what)                                                                                                   \
	{                                                                                                                  \
		"file", CFG_PATH, AT(file), NULL, 0, 0, NULL, "Relative to the scenario: " what "."                        \
	}
#define LOCAL_RATE_FIELD                                                                                                   \
	{                                                                                                                  \
		"local_rate", CFG_RATE, AT(local_bps), "", 0, 0, NULL,                                                     \
			"At which a rank adds and copies; absent: in no time."                                             \
	}
#define GROUPS_FIELD                                                                                                       \
	{                                                                                                                  \
		"groups", CFG_PATH, AT(groups), "", 0, 0, NULL,                                                            \
			"Process groups that the trace does not tell: JSON, { \"NAME\": [ranks], ... }."                   \
	}
#define CHANNELS_FIELD                                                                                                     \
	{                                                                                                                  \
		"channels", CFG_INT, AT(channels), "16", 1, IMPORT_MAX_CHANNELS, NULL,                                     \
			"Queue pairs of two ranks, one a tag; more tags share them."                                       \
	}

/* What any kind may have: to bind it. */
static const struct cfg_field fields[] = { KIND_FIELD, FILE_FIELD("the file"), LOCAL_RATE_FIELD, GROUPS_FIELD,
					   CHANNELS_FIELD };
static const struct cfg_field msccl_fields[] = {
	FILE_FIELD("an MSCCL algorithm (XML); the collective's bytes are its vector"), LOCAL_RATE_FIELD
};
static const struct cfg_field chakra_fields[] = {
	FILE_FIELD(
		"Chakra's execution traces, a folder of NAME.RANK.et or PATH/NAME; the collective's algorithm is that of "
		"theirs"),
	GROUPS_FIELD, CHANNELS_FIELD
};
static const struct cfg_field goal_fields[] = { FILE_FIELD("a GOAL text"), CHANNELS_FIELD };

#define TABLE(path_, fields_)                                                                                              \
	{                                                                                                                  \
		.path = path_, .doc = "A schedule from a file, instead of an operation: docs/import.md.",                  \
		.size = sizeof(struct schedule_config), .fields = fields_, .nfields = ARRAY_LEN(fields_)                   \
	}
static const struct cfg_table table = TABLE("collectives.schedule", fields);
static const struct cfg_table kind_tables[][2] = {
#define KIND_TABLES(id, value, name, symbol)                                                                               \
	[id] = { TABLE("collectives.schedule", symbol##_fields), TABLE("jobs.collectives.schedule", symbol##_fields) },
	IMPORT_KINDS(KIND_TABLES)
};

size_t
plan_file_tables(struct cfg_known *known, size_t cap)
{
	size_t count = 0;

	for (size_t of_job = 0; of_job < 2; of_job++)
		for (size_t kind = 0; kind < ARRAY_LEN(kind_tables); kind++, count++)
			if (count < cap)
				known[count] = (struct cfg_known){ &kind_tables[kind][of_job],
								   import_format((enum import_kind)kind)->kind };
	return count;
}

bool
plan_has_file(const struct collective_config *config)
{
	return cfg_has(&config->where, "schedule");
}

int
plan_file_check(const struct collective_config *config, struct err *err)
{
	/* effective.cfg writes defaults out: they say nothing. */
	if (config->op != COLL_ALLGATHER)
		return cfg_fail(&config->where, "op", err, "the file of schedule says what is done; leave it out");
	if (config->step_bytes != 0)
		return cfg_fail(&config->where, "step_bytes", err,
				"the file of schedule says what a step sends; leave it out");
	return 0;
}

/* What the scenario says beside the file, against the format's row. */
static int
check_format(const struct schedule_config *schedule, const struct collective_config *config, struct err *err)
{
	const struct import_format *format = import_format((enum import_kind)schedule->kind);

	if (format->sized && config->bytes == 0)
		return cfg_fail(&config->where, NULL, err, "%s counts in chunks of a vector: bytes says of how long a one",
				format->kind);
	if (!format->sized && config->bytes != 0)
		return cfg_fail(&config->where, "bytes", err, "%s says lengths itself; leave it out", format->kind);
	if (schedule->kind != IMPORT_CHAKRA && config->algorithm != COLL_RING)
		return cfg_fail(&config->where, "algorithm", err, "the file of schedule is one; leave it out");
	return 0;
}

static int
check_schedule(const struct schedule_config *schedule, const struct collective_config *config,
	       const struct coll_schedule *read, uint32_t ranks, struct err *err)
{
	if (read->ranks != ranks)
		return cfg_fail(&schedule->where, "file", err, "%s is of %u ranks; the collective has %u", schedule->file,
				read->ranks, ranks);
	if (read->op == COLL_CUSTOM && config->payload == PAYLOAD_REAL)
		return cfg_fail(&config->where, "payload", err,
				"%s does not say what its messages hold: \"synthetic\" would be right", schedule->file);
	return 0;
}

static struct coll_schedule *
read_file(const struct cfg *cfg, const struct schedule_config *schedule, const struct collective_config *config,
	  uint32_t elem_bytes, struct err *err)
{
	char *path = cfg_resolve(cfg, schedule->file);
	char *groups = schedule->groups != NULL ? cfg_resolve(cfg, schedule->groups) : NULL;
	struct import_options options = {
		.kind = (enum import_kind)schedule->kind,
		.path = path,
		.count_elems = config->bytes / elem_bytes,
		.elem_bytes = elem_bytes,
		.local_bps = schedule->local_bps,
		.max_channels = (uint32_t)schedule->channels,
		.groups_path = groups,
		.algorithm = (enum coll_algorithm)config->algorithm,
	};
	struct coll_schedule *read = NULL;
	struct err cause = { 0 };

	if (path == NULL || (schedule->groups != NULL && groups == NULL))
		err_set(&cause, -ENOMEM, "%s: out of memory", schedule->file);
	else
		read = import_schedule(&options, &cause);
	if (read == NULL)
		cfg_fail(&schedule->where, "file", err, "%s", cause.text);
	free(path);
	free(groups);
	return read;
}

struct coll_schedule *
plan_file_read(const struct cfg *cfg, const struct collective_config *config, uint32_t ranks, enum coll_type *type,
	       struct err *err)
{
	struct schedule_config schedule;
	struct coll_schedule *read = NULL;
	int rc = cfg_bind_in(cfg, &config->where, &table, &schedule, err);

	if (rc == 0)
		rc = check_format(&schedule, config, err);
	if (rc != 0)
		return NULL;
	if (!import_format((enum import_kind)schedule.kind)->sized)
		*type = COLL_BYTES;
	read = read_file(cfg, &schedule, config, coll_elem_bytes(*type), err);
	if (read != NULL && check_schedule(&schedule, config, read, ranks, err) != 0) {
		coll_schedule_destroy(read);
		read = NULL;
	}
	return read;
}
