/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/data.h"
#include "collectives/import/import.h"
#include "collectives/schedule.h"
#include "common/array.h"
#include "common/units.h"
#include "common/wire/poll.h"

#define AT(field) offsetof(struct collective_config, field)

#define CHOICE(id, value_, name_, ...) { .name = name_, .value = id },
static const struct cfg_choice ops[] = { COLL_OPS(CHOICE){ 0 } };
static const struct cfg_choice algorithms[] = { COLL_ALGORITHMS(CHOICE){ 0 } };
static const struct cfg_choice types[] = {
	{ .name = "int32", .value = COLL_INT32 },
	{ .name = "float32", .value = COLL_FLOAT32 },
	{ 0 },
};
static const struct cfg_choice payloads[] = {
	{ .name = "synthetic", .value = PAYLOAD_SYNTHETIC },
	{ .name = "real", .value = PAYLOAD_REAL },
	{ 0 },
};
static const struct cfg_choice qps[] = {
	{ .name = "persistent", .value = QP_PERSISTENT },
	{ .name = "per-step", .value = QP_PER_STEP },
	{ 0 },
};

static const struct cfg_choice phases[] = {
	{ "none", PHASE_NONE, "once in an iteration, after those of other phases" },
	{ "forward", PHASE_FORWARD, "for every micro-batch in every stage" },
	{ "backward", PHASE_BACKWARD, "the same, in the backward pass" },
	{ 0 },
};

/* Keys of every collective. */
#define KEY(...)                                                                                                           \
	{                                                                                                                  \
		__VA_ARGS__                                                                                                \
	}
#define OPERATION_KEYS                                                                                                     \
	KEY("name", CFG_STRING, AT(name), "", 0, 0, NULL,                                                                  \
	    "Its name in reports: letters, digits, '_', '.' and '-', at most 31; default: operation and number."),         \
		KEY("op", CFG_ENUM, AT(op), "allgather", 0, 0, ops, "Operation."),                                         \
		KEY("algorithm", CFG_ENUM, AT(algorithm), "ring", 0, 0, algorithms, "Algorithm."),                         \
		KEY("bytes", CFG_BYTES, AT(bytes), "0", 0, 0, NULL,                                                        \
		    "Size as nccl-tests counts it: the whole vector of a rank. Give this or step_bytes."),                 \
		KEY("step_bytes", CFG_BYTES, AT(step_bytes), "0", 0, 0, NULL, "Bytes that one step of a ring sends."),     \
		KEY("root", CFG_INT, AT(root), "0", 0, COLL_MAX_RANKS - 1, NULL,                                           \
		    "Root rank of its group: source of a broadcast, destination of a reduce."),                            \
		KEY("channels", CFG_INT, AT(channels), "1", 1, 64, NULL,                                                   \
		    "Number of channels: the vector is divided over them; each has its own queue pairs, and all run at "   \
		    "the same time."),                                                                                     \
		KEY("all_nics", CFG_BOOL, AT(all_nics), "false", 0, 0, NULL,                                               \
		    "Channels use the NICs of their rank's host in turn, from the rank's own on; false: all use that "     \
		    "one."),                                                                                               \
		KEY("chunks", CFG_INT, AT(chunks), "0", 0, 4096, NULL,                                                     \
		    "Chunks that pass through a pipeline or tree one after another; 0: the algorithm's number."),          \
		KEY("skew", CFG_FLOAT, AT(skew), "1.0", 1, 1e6, NULL,                                                      \
		    "alltoallv: ratio of the most to the least data that a rank receives; the other "                      \
		    "ranks lie in even steps between, in an order that is random for each job."),                          \
		KEY("back", CFG_BOOL, AT(back), "false", 0, 0, NULL,                                                       \
		    "alltoallv: the reverse exchange of the one with otherwise equal settings."),                          \
		KEY("pairs", CFG_STRINGS, AT(pairs), "", 0, 0, NULL,                                                       \
		    "sendrecv, algorithm linear: pairs of sender and receiver in each group, as [ \"0 1\", \"1 2\" ]."),   \
		KEY("stride", CFG_INT, AT(stride), "1", 1, COLL_MAX_RANKS - 1, NULL,                                       \
		    "Place i of a group is its rank i * stride, modulo its ranks, with which it has no divisor in "        \
		    "common: "                                                                                             \
		    "another order of a ring."),                                                                           \
		KEY("measured", CFG_BOOL, AT(measured), "false", 0, 0, NULL,                                               \
		    "Tag its data packets, so that switches can identify iterations. A job's iterations "                  \
		    "count for all its collectives, and no leaf may receive those of two jobs."),                          \
		KEY("measured_pairs", CFG_STRINGS, AT(measured_pairs), "", 0, 0, NULL,                                     \
		    "measured: only the data between these ranks of the job, as [ \"0 1\", \"1 2\" ]; absent: all."),      \
		KEY("type", CFG_ENUM, AT(type), "int32", 0, 0, types, "Element type."),                                    \
		KEY("payload", CFG_ENUM, AT(payload), "synthetic", 0, 0, payloads,                                         \
		    "Whether messages carry data or only their sizes; the same for all collectives of a run."),            \
		KEY("verify", CFG_BOOL, AT(verify), "true", 0, 0, NULL,                                                    \
		    "Compare every element of the result with the expected one (real payload only)."),                     \
		KEY("sport", CFG_INT, AT(sport), "0", 0, 65535, NULL,                                                      \
		    "UDP source port of its flows of channel 0; channel n adds n. 0: the first free port "                 \
		    "from 49152."),                                                                                        \
		KEY("dport", CFG_INT, AT(dport), "4791", 1, 65535, NULL,                                                   \
		    "UDP destination port of its flows (RoCEv2: 4791)."),                                                  \
		KEY("qp", CFG_ENUM, AT(qp), "persistent", 0, 0, qps,                                                       \
		    "Whether a queue pair keeps its congestion state over the steps or starts each at line rate.")

static const struct cfg_field collective_fields[] = {
	OPERATION_KEYS,
	CFG_FIELD("ranks", CFG_STRINGS, AT(ranks), .def = "",
		  .doc = "Rank 0, 1, ... as host or host:nic, nic from 1, with ranges as h[0-3,8]; absent: every host of "
			 "the topology at its first NIC."),
	CFG_FIELD("iterations", CFG_INT, AT(iterations), .def = "1", .min = 1, .max = 1000000,
		  .doc = "How many times the operation runs."),
	CFG_FIELD("start", CFG_TIME, AT(start_ps), .def = "0ns", .doc = "When the first iteration starts."),
	CFG_FIELD("gap", CFG_TIME, AT(gap_ps), .def = "0ns", .doc = "Pause of a rank between its iterations."),
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "true",
		  .doc = "false: it keeps its number, ports and hosts, but does not start; the rest runs as if it were "
			 "absent."),
};

const struct cfg_table collective_table = {
	.path = "collectives",
	.doc = "Collective operations that the hosts run; each is a separate job.",
	.list = true,
	.size = sizeof(struct collective_config),
	.fields = collective_fields,
	.nfields = ARRAY_LEN(collective_fields),
};

static const struct cfg_field job_collective_fields[] = {
	OPERATION_KEYS,
	CFG_FIELD("group", CFG_STRING, AT(group), .def = "",
		  .doc = "Dims of the job, as \"tensor\" or \"tensor+data\": every group of ranks along them runs it "
			 "separately, all at the same time; absent: all ranks, or, in a phase, those of a stage."),
	CFG_FIELD("after", CFG_STRINGS, AT(after), .def = "",
		  .doc = "Names of earlier collectives in the list: a rank starts it when it has completed these; absent: "
			 "the previous one; []: at once."),
	CFG_FIELD("compute", CFG_TIME, AT(compute_ps), .def = "0ns",
		  .doc = "Compute time of every participating rank before it; varied by jitter and delays."),
	CFG_FIELD("phase", CFG_ENUM, AT(phase), .def = "none", .choices = phases,
		  .doc = "Its phase in the job's pipeline."),
};

const struct cfg_table job_collective_table = {
	.path = "jobs.collectives",
	.doc = "Collectives of an iteration of the job.",
	.list = true,
	.size = sizeof(struct collective_config),
	.fields = job_collective_fields,
	.nfields = ARRAY_LEN(job_collective_fields),
};

#undef AT
#define AT(field) offsetof(struct background_config, field)

static const struct cfg_choice modes[] = {
	{ .name = "once", .value = BACKGROUND_ONCE },
	{ .name = "repeat", .value = BACKGROUND_REPEAT },
	{ 0 },
};

static const struct cfg_field background_fields[] = {
	CFG_FIELD("src", CFG_STRING, AT(src), .doc = "Sending host, or host:nic."),
	CFG_FIELD("dst", CFG_STRING, AT(dst), .doc = "Receiving host, or host:nic."),
	CFG_FIELD("sport", CFG_INT, AT(sport), .min = 1, .max = 65535, .doc = "UDP source port."),
	CFG_FIELD("dport", CFG_INT, AT(dport), .def = "4791", .min = 1, .max = 65535,
		  .doc = "UDP destination port (RoCEv2: 4791)."),
	CFG_FIELD("bytes", CFG_BYTES, AT(bytes), .min = 1, .max = 2147483648.0, .doc = "Bytes of a message."),
	CFG_FIELD("start", CFG_TIME, AT(start_ps), .def = "0ns", .doc = "When the first message is posted."),
	CFG_FIELD("prio", CFG_INT, AT(prio), .def = "-1", .min = -1, .max = 7,
		  .doc = "Priority; -1: that of the collectives' data."),
	CFG_FIELD("mode", CFG_ENUM, AT(mode), .def = "once", .choices = modes, .doc = "One message, or one after another."),
	CFG_FIELD("until", CFG_TIME, AT(until_ps), .def = "0ns",
		  .doc = "mode repeat: no message starts at or after this time."),
	CFG_FIELD("depth", CFG_INT, AT(depth), .def = "1", .min = 1, .max = BACKGROUND_MAX_DEPTH,
		  .doc = "mode repeat: messages that are outstanding at a time, as with perftest's --tx-depth."),
	CFG_FIELD("qps", CFG_INT, AT(qps), .def = "1", .min = 1, .max = BACKGROUND_MAX_QPS,
		  .doc = "Queue pairs, each of which sends like this: their source ports are sport and those that follow "
			 "it."),
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "true", .doc = "false: it keeps its number, but sends nothing."),
};

const struct cfg_table background_table = {
	.path = "flows",
	.doc = "Background flows: traffic that the diagnosis does not know in advance. Without collectives, these flows "
	       "are diagnosed.",
	.list = true,
	.size = sizeof(struct background_config),
	.fields = background_fields,
	.nfields = ARRAY_LEN(background_fields),
};

static int plan_file_check(const struct collective_config *config, struct err *err);

/* Switches and hosts know polling and notification packets by their port. */
static int
check_port(const struct cfg_where *where, const char *key, int64_t port, struct err *err)
{
	if (port != POLL_UDP_PORT && port != NOTIFY_UDP_PORT)
		return 0;
	return cfg_fail(where, key, err, "%lld is the UDP port of %s packets: give data flows another one", (long long)port,
			port == POLL_UDP_PORT ? "polling" : "notification");
}

static int
check_ports(const struct cfg_where *where, int64_t sport, int64_t dport, struct err *err)
{
	int rc = check_port(where, "sport", sport, err);

	return rc == 0 ? check_port(where, "dport", dport, err) : rc;
}

/* @return -EINVAL, with the algorithms that step_bytes fits */
static int
refuse_step_bytes(const struct collective_config *config, struct err *err)
{
	char fitting[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < ENUM_COUNT(COLL_ALGORITHMS) && used < sizeof(fitting); i++)
		if (coll_block_steps(i, (enum coll_op)config->op))
			used += (size_t)snprintf(fitting + used, sizeof(fitting) - used, "%s\"%s\"", used != 0 ? ", " : "",
						 coll_algorithm_name(i));
	return cfg_fail(&config->where, "step_bytes", err, "fits algorithm %s only, whose steps are equal; give bytes",
			fitting);
}

int
collective_config_check(const struct collective_config *config, struct err *err)
{
	unsigned long long elem = coll_elem_bytes((enum coll_type)config->type);
	unsigned long long bytes = config->bytes != 0 ? config->bytes : config->step_bytes;

	if (plan_has_file(config)) {
		int rc = plan_file_check(config, err);

		if (rc != 0)
			return rc;
	} else if ((config->bytes == 0) == (config->step_bytes == 0)) {
		return cfg_fail(&config->where, NULL, err,
				"found %s; exactly one of bytes and step_bytes, above 0, would be right",
				config->bytes != 0 ? "both" : "neither");
	}
	if ((config->skew != 1 || config->back) && config->op != COLL_ALLTOALLV)
		return cfg_fail(&config->where, config->skew != 1 ? "skew" : "back", err,
				"is of \"alltoallv\"; the operation is \"%s\"", coll_op_name((enum coll_op)config->op));
	if (config->step_bytes != 0 && !coll_block_steps((enum coll_algorithm)config->algorithm, (enum coll_op)config->op))
		return refuse_step_bytes(config, err);
	if (bytes % elem != 0)
		return cfg_fail(&config->where, config->bytes != 0 ? "bytes" : "step_bytes", err,
				"%llu B is not a whole number of elements of %llu B; %llu B would be", bytes, elem,
				(bytes / elem + 1) * elem);
	return check_ports(&config->where, config->sport, config->dport, err);
}

int
background_config_check(const struct background_config *config, struct err *err)
{
	if (config->mode == BACKGROUND_REPEAT && config->until_ps <= config->start_ps)
		return cfg_fail(&config->where, "until", err, "%llu ns is not after its start at %llu ns",
				(unsigned long long)(config->until_ps / PS_PER_NS),
				(unsigned long long)(config->start_ps / PS_PER_NS));
	if (config->mode == BACKGROUND_ONCE && config->until_ps != 0)
		return cfg_fail(&config->where, "until", err, "found %llu ns, which needs mode = \"repeat\"",
				(unsigned long long)(config->until_ps / PS_PER_NS));
	if (config->mode == BACKGROUND_ONCE && config->depth != 1)
		return cfg_fail(&config->where, "depth", err, "found %lld, which needs mode = \"repeat\"",
				(long long)config->depth);
	if (config->sport + config->qps - 1 > UINT16_MAX)
		return cfg_fail(&config->where, "qps", err,
				"%lld queue pairs from source port %lld on pass port 65535; sport = "
				"%lld would be right",
				(long long)config->qps, (long long)config->sport,
				(long long)(UINT16_MAX + 1 - config->qps));
	for (int64_t q = 0; q < config->qps; q++) {
		int rc = check_ports(&config->where, config->sport + q, config->dport, err);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Schedules that are in a file: the group "schedule" of a collective. */

struct schedule_config {
	struct cfg_where where;
	int kind; /* enum import_kind */
	const char *file, *groups;
	uint64_t local_bps;
	int64_t channels;
};

#define FILE_AT(field) offsetof(struct schedule_config, field)
#define FORMAT(id, value_, name_, ...) { .name = name_, .value = id },
static const struct cfg_choice kinds[] = { IMPORT_KINDS(FORMAT){ 0 } };

#define KIND_FIELD CFG_FIELD("kind", CFG_ENUM, FILE_AT(kind), .choices = kinds, .doc = "Format of the file.")
#define FILE_FIELD(what) CFG_FIELD("file", CFG_PATH, FILE_AT(file), .doc = "Relative to the scenario: " what ".")
#define LOCAL_RATE_FIELD                                                                                                   \
	CFG_FIELD("local_rate", CFG_RATE, FILE_AT(local_bps), .def = "",                                                   \
		  .doc = "Rate at which a rank reduces and copies; absent: no time.")
#define GROUPS_FIELD                                                                                                       \
	CFG_FIELD("groups", CFG_PATH, FILE_AT(groups), .def = "",                                                          \
		  .doc = "Process groups that the trace lacks: JSON, { \"NAME\": [ranks], ... }.")
#define CHANNELS_FIELD                                                                                                     \
	CFG_FIELD("channels", CFG_INT, FILE_AT(channels), .def = "16", .min = 1, .max = IMPORT_MAX_CHANNELS,               \
		  .doc = "Queue pairs between two ranks, one per tag; further tags share them.")

/* Keys that any kind may have, for binding. */
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

/*
 * Refuses what the group itself states of the schedule, and keys of the collective that a schedule file excludes.
 * @return 0 or -EINVAL with err set: file:line, the value, and the remedy
 */
static int
plan_file_check(const struct collective_config *config, struct err *err)
{
	/* effective.cfg writes defaults out: they do not count as set. */
	if (config->op != COLL_ALLGATHER)
		return cfg_fail(&config->where, "op", err, "the file of schedule has the operations; leave it out");
	if (config->step_bytes != 0)
		return cfg_fail(&config->where, "step_bytes", err,
				"the file of schedule has the size of steps; leave it out");
	return 0;
}

/* Checks the keys beside the file against the format's row. */
static int
check_format(const struct schedule_config *schedule, const struct collective_config *config, struct err *err)
{
	const struct import_format *format = import_format((enum import_kind)schedule->kind);

	if (format->sized && config->bytes == 0)
		return cfg_fail(&config->where, NULL, err, "%s counts in chunks of a vector: give its length with bytes",
				format->kind);
	if (!format->sized && config->bytes != 0)
		return cfg_fail(&config->where, "bytes", err, "%s has the lengths; leave it out", format->kind);
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
				"%s does not define the contents of messages: \"synthetic\" would be right",
				schedule->file);
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

#undef AT
#define AT(field) offsetof(struct work_job_config, field)
static const struct cfg_field job_fields[] = {
	CFG_FIELD("name", CFG_STRING, AT(name),
		  .doc = "Its name in reports: letters, digits, '_', '.' and '-', at most 31."),
	CFG_FIELD("ranks", CFG_STRINGS, AT(ranks), .def = "",
		  .doc = "Rank 0, 1, ... as host or host:nic, nic from 1, with ranges as h[0-3,8]; absent: the hosts that "
			 "placement assigns; without placement, every host of the topology at its first NIC. Jobs may "
			 "share hosts that are named here."),
	CFG_FIELD("iterations", CFG_INT, AT(iterations), .def = "1", .min = 1, .max = 1000000,
		  .doc = "Number of iterations; each runs all its collectives."),
	CFG_FIELD("start", CFG_TIME, AT(start_ps), .def = "0ns", .doc = "When the first iteration starts."),
	CFG_FIELD("gap", CFG_TIME, AT(gap_ps), .def = "0ns", .doc = "Pause of a rank between its iterations."),
	CFG_FIELD("compute", CFG_TIME, AT(compute_ps), .def = "0ns",
		  .doc = "Compute time of every rank at the start of an iteration, before its collectives."),
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "true",
		  .doc = "false: it keeps its number, hosts and ports, but does not start; the rest runs as if it were "
			 "absent."),
	CFG_FIELD("measured", CFG_BOOL, AT(measured), .def = "false",
		  .doc = "Sets measured for all its collectives, and for its pipeline's messages."),
};
#undef AT

const struct cfg_table job_table = {
	.path = "jobs",
	.doc = "Jobs: ranks on hosts that run several collectives, in order or in parallel, iteration by iteration. A rank "
	       "starts its next iteration when it has completed all its collectives of the current one.",
	.list = true,
	.size = sizeof(struct work_job_config),
	.fields = job_fields,
	.nfields = ARRAY_LEN(job_fields),
};

static const struct cfg_choice schedules[] = {
	{ "1f1b", PIPELINE_1F1B,
	  "as many micro-batches in flight as there are later stages, then one backward per forward (PipeDream-flush; "
	  "Narayanan et al., SC 2021, section 2.2)" },
	{ "gpipe", PIPELINE_GPIPE, "all forward, then all backward (Huang et al., NeurIPS 2019)" },
	{ 0 },
};

#define AT(field) offsetof(struct pipeline_config, field)
static const struct cfg_field pipeline_fields[] = {
	CFG_FIELD("dim", CFG_STRING, AT(dim), .def = "pipeline",
		  .doc = "The dimension of the job whose places are the stages."),
	CFG_FIELD("micro_batches", CFG_INT, AT(micro_batches), .min = 1, .max = 1024,
		  .doc = "Micro-batches of an iteration."),
	CFG_FIELD("order", CFG_ENUM, AT(order), .def = "1f1b", .choices = schedules, .doc = "Schedule of a stage."),
	CFG_FIELD("bytes", CFG_BYTES, AT(bytes), .min = 4, .max = 2147483648.0,
		  .doc = "Size of the activations that a rank sends to the next stage, and of the gradients to the "
			 "previous one, per micro-batch."),
};
#undef AT

const struct cfg_table pipeline_table = {
	.path = "jobs.pipeline",
	.doc = "Pipeline parallelism. Every stage runs the job's collectives of phase forward, then sends activations to "
	       "the "
	       "next stage; those of phase backward, then sends gradients to the stage before; so for every micro-batch, "
	       "and "
	       "those without a phase afterwards.",
	.size = sizeof(struct pipeline_config),
	.fields = pipeline_fields,
	.nfields = ARRAY_LEN(pipeline_fields),
};

/* The turns of a pipeline. */

struct pipeline_turn
pipeline_turn(enum pipeline_schedule schedule, uint32_t stages, uint32_t stage, uint32_t micro_batches, uint32_t i)
{
	uint32_t ahead = stages - stage - 1 < micro_batches ? stages - stage - 1 : micro_batches;
	uint32_t steady = 2 * (micro_batches - ahead); /* turns of the alternating part */

	if (schedule == PIPELINE_GPIPE)
		return (struct pipeline_turn){ i % micro_batches, i >= micro_batches };
	if (i < ahead)
		return (struct pipeline_turn){ i, false };
	if (i < ahead + steady)
		return (struct pipeline_turn){ (i - ahead) % 2 == 0 ? ahead + (i - ahead) / 2 : (i - ahead) / 2,
					       (i - ahead) % 2 != 0 };
	return (struct pipeline_turn){ i - micro_batches, true };
}
