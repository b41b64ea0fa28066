/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/hpcc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/import/import.h"
#include "collectives/import/program.h"
#include "common/array.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/units.h"
#include "topo/build.h"
#include "topo/topo.h"

#define HPCC_PATH 512
#define HPCC_VALUE 64
#define HPCC_RATES 16

enum hpcc_cc { HPCC_DCQCN = 1, HPCC_HPCC = 3, HPCC_TIMELY = 7, HPCC_DCTCP = 8, HPCC_PINT = 10 };

/* "RATE VALUE" pairs, as KMIN_MAP has them. */
struct hpcc_map {
	uint64_t rate_bps[HPCC_RATES];
	double value[HPCC_RATES];
	size_t count;
	int line;
};

/* The simulator's defaults where config.txt has no value. */
struct hpcc_config {
	const char *path;
	char topology[HPCC_PATH], flow[HPCC_PATH];
	int64_t qcn, cc, clamp, payload_bytes, ack_packets, fast_recovery, has_win, var_win, mi_thresh, buffer_mb;
	double alpha_us, decrease_us, timer_us, g, stop_s, target;
	char ai[HPCC_VALUE], hai[HPCC_VALUE], min_rate[HPCC_VALUE];
	struct hpcc_map kmin, kmax, pmax;
	int64_t down_us, down_a, down_b; /* down_us 0: no link goes down */
	int down_line;
};

struct hpcc_flow {
	uint32_t src, dst;
	uint32_t prio, dport, sport;
	uint64_t bytes, start_ps;
};

struct hpcc_flows {
	struct hpcc_flow *at;
	size_t count;
	uint64_t first_ps; /* start of the earliest: the scenario counts from there */
};

/* A text split into lines of words; "{ ... }" is a comment, as in the simulator's config_doc.txt. */
struct hpcc_lines {
	char *next;
	const char *path;
	int line;
	char *words[64];
	size_t count;
};

/* config.txt: a key and its values a line. */

enum value_type {
	VALUE_INT,   /* int64_t, from min to max */
	VALUE_FLOAT, /* double, from min to max */
	VALUE_RATE,  /* char [HPCC_VALUE], a rate */
	VALUE_PATH,  /* char [HPCC_PATH] */
	VALUE_MAP,   /* struct hpcc_map */
	VALUE_DOWN,  /* time, node, node */
	VALUE_NONE,  /* not of the network: paths of results, or a parameter of an option that is not chosen */
};

/* One key. Of an integer that is not kept (offset KEPT_NOT), only "right" is served. */
#define KEPT_NOT SIZE_MAX
struct key {
	const char *name;
	enum value_type type;
	size_t offset;
	double min, max;
	const char *unless; /* not kept: what another value would ask for; NULL: it is warned of */
	const char *warning;
};

#define AT(field) offsetof(struct hpcc_config, field)
static const struct key keys[] = {
	{ "ENABLE_QCN", VALUE_INT, AT(qcn), 0, 1, NULL, NULL },
	{ "CC_MODE", VALUE_INT, AT(cc), 0, 10, NULL, NULL },
	{ "CLAMP_TARGET_RATE", VALUE_INT, AT(clamp), 0, 1, NULL, NULL },
	{ "PACKET_PAYLOAD_SIZE", VALUE_INT, AT(payload_bytes), 1, 9000, NULL, NULL },
	{ "L2_ACK_INTERVAL", VALUE_INT, AT(ack_packets), 1, 1024, NULL, NULL },
	{ "FAST_RECOVERY_TIMES", VALUE_INT, AT(fast_recovery), 0, 1000, NULL, NULL },
	{ "HAS_WIN", VALUE_INT, AT(has_win), 0, 1, NULL, NULL },
	{ "VAR_WIN", VALUE_INT, AT(var_win), 0, 1, NULL, NULL },
	{ "MI_THRESH", VALUE_INT, AT(mi_thresh), 0, 1000, NULL, NULL },
	{ "BUFFER_SIZE", VALUE_INT, AT(buffer_mb), 1, 1 << 20, NULL, NULL },
	{ "ALPHA_RESUME_INTERVAL", VALUE_FLOAT, AT(alpha_us), 0.001, 1e9, NULL, NULL },
	{ "RATE_DECREASE_INTERVAL", VALUE_FLOAT, AT(decrease_us), 0.001, 1e9, NULL, NULL },
	{ "RP_TIMER", VALUE_FLOAT, AT(timer_us), 0.001, 1e9, NULL, NULL },
	{ "EWMA_GAIN", VALUE_FLOAT, AT(g), 1e-6, 1, NULL, NULL },
	{ "SIMULATOR_STOP_TIME", VALUE_FLOAT, AT(stop_s), 0, 1e4, NULL, NULL },
	{ "U_TARGET", VALUE_FLOAT, AT(target), 0.01, 1, NULL, NULL },
	{ "RATE_AI", VALUE_RATE, AT(ai), 0, 0, NULL, NULL },
	{ "RATE_HAI", VALUE_RATE, AT(hai), 0, 0, NULL, NULL },
	{ "MIN_RATE", VALUE_RATE, AT(min_rate), 0, 0, NULL, NULL },
	{ "TOPOLOGY_FILE", VALUE_PATH, AT(topology), 0, 0, NULL, NULL },
	{ "FLOW_FILE", VALUE_PATH, AT(flow), 0, 0, NULL, NULL },
	{ "KMIN_MAP", VALUE_MAP, AT(kmin), 0, 1e9, NULL, NULL },
	{ "KMAX_MAP", VALUE_MAP, AT(kmax), 0, 1e9, NULL, NULL },
	{ "PMAX_MAP", VALUE_MAP, AT(pmax), 0, 1, NULL, NULL },
	{ "LINK_DOWN", VALUE_DOWN, AT(down_us), 0, 0, NULL, NULL },
	/* Served for one value alone. */
	{ "L2_BACK_TO_ZERO", VALUE_INT, KEPT_NOT, 0, 0,
	  "a message from its beginning after a loss; ours go back to the lost packet", NULL },
	{ "ERROR_RATE_PER_LINK", VALUE_FLOAT, KEPT_NOT, 0, 0, "loss on every link; write faults of kind loss", NULL },
	{ "FAST_REACT", VALUE_INT, KEPT_NOT, 1, 1, "one reaction a round trip; ours react to every ACK", NULL },
	{ "MULTI_RATE", VALUE_INT, KEPT_NOT, 0, 0, "a rate for each hop; there is one here", NULL },
	{ "SAMPLE_FEEDBACK", VALUE_INT, KEPT_NOT, 0, 0, "telemetry of some packets; ours is of all", NULL },
	{ "RATE_BOUND", VALUE_INT, KEPT_NOT, 1, 1, "no pacing; ours pace", NULL },
	/* Different here, for any value: a warning is printed. */
	{ "USE_DYNAMIC_PFC_THRESHOLD", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "the simulator's switches have a dynamic threshold whatever the value, and so have ours" },
	{ "GLOBAL_T", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "windows and round trips of each pair: all have the longest's here" },
	{ "ACK_HIGH_PRIO", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "ACKs wait behind data there; here they have a separate class" },
	/* Keys without meaning here: */
	{ .name = "TRACE_FILE", .type = VALUE_NONE },
	{ .name = "TRACE_OUTPUT_FILE", .type = VALUE_NONE },
	{ .name = "FCT_OUTPUT_FILE", .type = VALUE_NONE },
	{ .name = "PFC_OUTPUT_FILE", .type = VALUE_NONE },
	{ .name = "ENABLE_TRACE", .type = VALUE_NONE },
	{ .name = "QLEN_MON_FILE", .type = VALUE_NONE },
	{ .name = "QLEN_MON_START", .type = VALUE_NONE },
	{ .name = "QLEN_MON_END", .type = VALUE_NONE },
	{ .name = "L2_CHUNK_SIZE", .type = VALUE_NONE },
	{ .name = "DCTCP_RATE_AI", .type = VALUE_NONE },
	{ .name = "INT_MULTI", .type = VALUE_NONE },
	{ .name = "PINT_LOG_BASE", .type = VALUE_NONE },
	{ .name = "PINT_PROB", .type = VALUE_NONE },
	{ .name = "PAUSE_TIME", .type = VALUE_NONE },
	{ .name = "DATA_RATE", .type = VALUE_NONE },
	{ .name = "LINK_DELAY", .type = VALUE_NONE },
};

/* @return whether there is one more line with words; its words are split off the text */
static bool
hpcc_next_line(struct hpcc_lines *lines)
{
	for (lines->count = 0; *lines->next != '\0' && lines->count == 0;) {
		char *end = lines->next, *rest, *word;
		bool last;

		while (*end != '\0' && *end != '\n') /* strcspn() may look at all that is left, for each line */
			end++;
		last = *end == '\0';
		*end = '\0';
		lines->line++;
		lines->next[strcspn(lines->next, "{")] = '\0';
		for (word = strtok_r(lines->next, " \t\r", &rest); word != NULL && lines->count < ARRAY_LEN(lines->words);
		     word = strtok_r(NULL, " \t\r", &rest))
			lines->words[lines->count++] = word;
		lines->next = end + !last;
	}
	return lines->count != 0;
}

static int
refuse(const struct hpcc_lines *lines, const char *what, struct err *err)
{
	return err_set(err, -EINVAL, "%s:%d: %s: found \"%.32s\"; %s would be right", lines->path, lines->line,
		       lines->words[0], lines->count > 1 ? lines->words[1] : "", what);
}

static bool
read_float(const char *word, double *value)
{
	char *end;

	*value = strtod(word, &end);
	return end != word && *end == '\0' && *value == *value;
}

/* Checks a key of which only some values are served: refuses others, or warns of them. */
static int
check_served(const struct hpcc_lines *lines, const struct key *key, double value, struct err *err)
{
	if (value >= key->min && value <= key->max)
		return 0;
	if (key->unless != NULL)
		return err_set(err, -EINVAL, "%s:%d: %s %.32s asks for %s", lines->path, lines->line, key->name,
			       lines->words[1], key->unless);
	log_warning("%s:%d: %s %.32s: %s", lines->path, lines->line, key->name, lines->words[1], key->warning);
	return 0;
}

static int
read_number(const struct hpcc_lines *lines, const struct key *key, struct hpcc_config *config, struct err *err)
{
	char right[96];
	uint64_t whole;
	double value;

	if (lines->count < 2 || !read_float(lines->words[1], &value) ||
	    (key->type == VALUE_INT && !number_parse(lines->words[1], 0, INT64_MAX, &whole)))
		return refuse(lines, key->type == VALUE_INT ? "a whole number" : "a number", err);
	if (key->offset == KEPT_NOT)
		return check_served(lines, key, value, err);
	if (value < key->min || value > key->max) {
		snprintf(right, sizeof(right), "%g to %g", key->min, key->max);
		return refuse(lines, right, err);
	}
	if (key->type == VALUE_INT)
		*(int64_t *)((char *)config + key->offset) = (int64_t)whole;
	else
		*(double *)((char *)config + key->offset) = value;
	return 0;
}

static int
read_map(const struct hpcc_lines *lines, const struct key *key, struct hpcc_map *map, struct err *err)
{
	uint64_t count;

	if (lines->count < 2 || !number_parse(lines->words[1], 1, HPCC_RATES, &count) || lines->count < 2 + 2 * count)
		return refuse(lines, "a number of pairs, 1 to 16, and as many pairs of rate and value", err);
	map->line = lines->line;
	map->count = (size_t)count;
	for (size_t i = 0; i < count; i++)
		if (!number_parse(lines->words[2 + 2 * i], 1, UINT64_MAX / 2, &map->rate_bps[i]) ||
		    !read_float(lines->words[3 + 2 * i], &map->value[i]) || map->value[i] < key->min ||
		    map->value[i] > key->max)
			return err_set(err, -EINVAL,
				       "%s:%d: %s: pair %zu: found \"%.32s %.32s\"; bit/s and %g to %g would be right",
				       lines->path, lines->line, key->name, i + 1, lines->words[2 + 2 * i],
				       lines->words[3 + 2 * i], key->min, key->max);
	return 0;
}

static int
read_down(const struct hpcc_lines *lines, struct hpcc_config *config, struct err *err)
{
	uint64_t values[3];

	for (size_t i = 0; i < 3; i++)
		if (lines->count < 4 || !number_parse(lines->words[1 + i], 0, INT32_MAX, &values[i]))
			return refuse(lines, "microseconds and two nodes", err);
	config->down_us = (int64_t)values[0];
	config->down_a = (int64_t)values[1];
	config->down_b = (int64_t)values[2];
	config->down_line = lines->line;
	return 0;
}

static int
read_text(const struct hpcc_lines *lines, const struct key *key, struct hpcc_config *config, struct err *err)
{
	size_t cap = key->type == VALUE_PATH ? HPCC_PATH : HPCC_VALUE;
	uint64_t rate_bps;

	if (lines->count < 2 || strlen(lines->words[1]) >= cap ||
	    (key->type == VALUE_RATE && units_parse_rate(lines->words[1], &rate_bps) != 0))
		return refuse(lines, key->type == VALUE_RATE ? "a rate, as 50Mb/s," : "a path", err);
	strcpy((char *)config + key->offset, lines->words[1]);
	return 0;
}

static int
read_key(const struct hpcc_lines *lines, struct hpcc_config *config, struct err *err)
{
	const struct key *key = NULL;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(keys[i].name, lines->words[0]) == 0)
			key = &keys[i];
	if (key == NULL)
		return err_set(err, -EINVAL, "%s:%d: \"%.48s\" is no key of the simulator", lines->path, lines->line,
			       lines->words[0]);
	switch (key->type) {
	case VALUE_INT:
	case VALUE_FLOAT:
		return read_number(lines, key, config, err);
	case VALUE_RATE:
	case VALUE_PATH:
		return read_text(lines, key, config, err);
	case VALUE_MAP:
		return read_map(lines, key, (struct hpcc_map *)((char *)config + key->offset), err);
	case VALUE_DOWN:
		return read_down(lines, config, err);
	case VALUE_NONE:
	default:
		return 0;
	}
}

static int
check(const struct hpcc_config *config, const char *path, struct err *err)
{
	if (config->cc != 0 && config->cc != HPCC_DCQCN && config->cc != HPCC_HPCC && config->cc != HPCC_TIMELY)
		return err_set(err, -EINVAL,
			       "%s: CC_MODE %" PRId64 " is %s; 1 (DCQCN), 3 (HPCC) and 7 (TIMELY) are here, and 0 for none",
			       path, config->cc,
			       config->cc == HPCC_DCTCP  ? "DCTCP"
			       : config->cc == HPCC_PINT ? "HPCC-PINT"
							 : "no congestion control of the simulator");
	return 0;
}

/* @return 0; -EINVAL or -ENOMEM with err set */
static int
hpcc_read_config(const char *path, struct hpcc_config *config, struct err *err)
{
	struct hpcc_lines lines = { .path = path };
	size_t length;
	char *text;
	int rc = 0;

	*config = (struct hpcc_config){
		.path = path,
		.qcn = 1,
		.cc = HPCC_DCQCN,
		.payload_bytes = 1000,
		.has_win = 1,
		.ack_packets = 1,
		.fast_recovery = 5,
		.mi_thresh = 5,
		.buffer_mb = 16,
		.alpha_us = 55,
		.decrease_us = 4,
		.timer_us = 1500,
		.g = 1.0 / 16,
		.stop_s = 3.01,
		.target = 0.95,
		.ai = "5Mb/s",
		.hai = "50Mb/s",
		.min_rate = "100Mb/s",
	};
	if (path == NULL)
		return 0;
	text = import_read_text(path, &length, err);
	if (text == NULL)
		return -errno;
	for (lines.next = text; rc == 0 && hpcc_next_line(&lines);)
		rc = read_key(&lines, config, err);
	free(text);
	return rc == 0 ? check(config, path, err) : rc;
}

/* flow.txt: how many flows, then "src dst pg dport bytes start" each; what follows the last is ignored, as there. */

#define FIRST_SPORT 10000 /* of a pair, as third.cc counts */
#define MAX_START_S 1e4

/* Whole numbers of a line, in its order. */
static const struct {
	const char *name;
	uint64_t min, max;
} columns[] = {
	{ "source", 0, UINT32_MAX },      { "destination", 0, UINT32_MAX },       { "priority group", 1, 7 },
	{ "destination port", 1, 65535 }, { "bytes", 1, COLL_MAX_MESSAGE_BYTES },
};

static int
read_flow(const struct hpcc_lines *lines, uint32_t nodes, struct hpcc_flow *flow, struct err *err)
{
	uint64_t values[ARRAY_LEN(columns)];
	double start_s;
	char *end;

	if (lines->count < ARRAY_LEN(columns) + 1)
		return err_set(err, -EINVAL, "%s:%d: %zu words; \"src dst pg dport bytes start\" would be right",
			       lines->path, lines->line, lines->count);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		uint64_t max = i < 2 ? nodes - 1 : columns[i].max;

		if (!number_parse(lines->words[i], columns[i].min, max, &values[i]))
			return err_set(err, -EINVAL,
				       "%s:%d: %s: found \"%.32s\"; %" PRIu64 " to %" PRIu64 " would be right", lines->path,
				       lines->line, columns[i].name, lines->words[i], columns[i].min, max);
	}
	start_s = strtod(lines->words[ARRAY_LEN(columns)], &end);
	if (end == lines->words[ARRAY_LEN(columns)] || *end != '\0' || !(start_s >= 0 && start_s <= MAX_START_S))
		return err_set(err, -EINVAL, "%s:%d: start: found \"%.32s\"; seconds, 0 to %g, would be right", lines->path,
			       lines->line, lines->words[ARRAY_LEN(columns)], MAX_START_S);
	if (values[0] == values[1])
		return err_set(err, -EINVAL, "%s:%d: a flow from node %" PRIu64 " to itself", lines->path, lines->line,
			       values[0]);
	*flow = (struct hpcc_flow){
		.src = (uint32_t)values[0],
		.dst = (uint32_t)values[1],
		.prio = (uint32_t)values[2],
		.dport = (uint32_t)values[3],
		.bytes = values[4],
		.start_ps = (uint64_t)llround(start_s * 1e9) * PS_PER_NS,
	};
	return 0;
}

static int
compare_pairs(const void *a, const void *b, void *at)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct hpcc_flow *x = (struct hpcc_flow *)at + i, *y = (struct hpcc_flow *)at + j;

	int order = ORDER(x->src, y->src);

	if (order == 0)
		order = ORDER(x->dst, y->dst);
	return order != 0 ? order : ORDER(i, j);
}

/* Numbers the source ports of each pair's flows, from FIRST_SPORT on. @return 0, -ENOMEM or -EINVAL */
static int
number_ports(const char *path, struct hpcc_flows *flows, struct err *err)
{
	uint32_t *order = malloc((flows->count + 1) * sizeof(*order)), port = FIRST_SPORT, last = FIRST_SPORT;

	if (order == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu flows", flows->count);
	for (uint32_t i = 0; i < flows->count; i++)
		order[i] = i;
	qsort_r(order, flows->count, sizeof(*order), compare_pairs, flows->at);
	for (size_t i = 0; i < flows->count; i++) {
		struct hpcc_flow *flow = &flows->at[order[i]];
		const struct hpcc_flow *before = i > 0 ? &flows->at[order[i - 1]] : NULL;

		port = before != NULL && before->src == flow->src && before->dst == flow->dst ? port + 1 : FIRST_SPORT;
		flow->sport = port;
		last = max_u32(last, port);
	}
	free(order);
	return last > 65535 ? err_set(err, -EINVAL, "%s: more flows of one pair than it has ports", path) : 0;
}

static int
read_lines(struct hpcc_lines *lines, uint32_t nodes, struct hpcc_flows *flows, struct err *err)
{
	uint64_t count;
	size_t room = 0; /* which grows with the lines, not with the number that the first of them promises */
	int rc = 0;

	if (!hpcc_next_line(lines) || !number_parse(lines->words[0], 1, HPCC_MAX_FLOWS, &count))
		return err_set(err, -EINVAL, "%s:%d: found \"%.32s\"; the number of flows, 1 to %d, would be right",
			       lines->path, lines->count != 0 ? lines->line : 1, lines->count != 0 ? lines->words[0] : "",
			       HPCC_MAX_FLOWS);
	while (flows->count < count && rc == 0) {
		if (!hpcc_next_line(lines))
			return err_set(err, -EINVAL, "%s:%d: the file ends behind %zu flows of %" PRIu64, lines->path,
				       lines->line, flows->count, count);
		if (!import_room(&flows->at, &room, flows->count, sizeof(*flows->at)))
			return err_set(err, -ENOMEM, "out of memory for %zu flows", flows->count);
		rc = read_flow(lines, nodes, &flows->at[flows->count], err);
		if (rc == 0 && flows->at[flows->count].start_ps < flows->first_ps)
			flows->first_ps = flows->at[flows->count].start_ps;
		flows->count += rc == 0;
	}
	return rc == 0 ? number_ports(lines->path, flows, err) : rc;
}

/* @param nodes  of the topology. @return the same; flows->at is the caller's to free */
static int
hpcc_read_flows(const char *path, uint32_t nodes, struct hpcc_flows *flows, struct err *err)
{
	struct hpcc_lines lines = { .path = path };
	size_t length;
	int rc;
	char *text = import_read_text(path, &length, err);

	*flows = (struct hpcc_flows){ .first_ps = UINT64_MAX };
	if (text == NULL)
		return -errno;
	lines.next = text;
	rc = read_lines(&lines, nodes, flows, err);
	free(text);
	return rc;
}

/* The scenario. */

#define TIME_BYTES 32
/* Constants of the simulator: headers, ACKs, and the time at which links go down (third.cc). */
#define DATA_OVERHEAD 48
#define ACK_BYTES 60
#define DOWN_FROM_PS (2 * PS_PER_S)

struct hpcc {
	struct hpcc_config config;
	struct hpcc_flows flows;
	struct cfg *cfg;
	struct topo *topo;
	char topology[HPCC_PATH * 2], flow[HPCC_PATH * 2];
	struct err *err;
};

/* @param found  set to the file's path  @return whether it can be read */
static bool
is_there(char *found, int folder_len, const char *folder, const char *below, const char *name)
{
	int len = snprintf(found, HPCC_PATH * 2, "%.*s%s/%s", folder_len, folder, below, name);

	return len < HPCC_PATH * 2 && access(found, R_OK) == 0;
}

/*
 * The simulator is started in the folder above config.txt's ("mix/topology.txt"): a file is looked for there, then beside
 * config.txt, then by its name alone beside it.
 */
static int
find_file(const struct hpcc *h, const char *named, const char *key, char found[HPCC_PATH * 2])
{
	const char *path = h->config.path, *slash = strrchr(path, '/'), *base = strrchr(named, '/');
	int folder = slash != NULL ? (int)(slash - path) : 1;
	const char *at = slash != NULL ? path : ".";

	if (*named == '\0')
		return err_set(h->err, -EINVAL, "%s names no %s", path, key);
	snprintf(found, HPCC_PATH * 2, "%s", named);
	if (*named == '/')
		return 0;
	base = base != NULL ? base + 1 : named;
	if (is_there(found, folder, at, "/..", named) || is_there(found, folder, at, "", named) ||
	    is_there(found, folder, at, "", base))
		return 0;
	return err_set(h->err, -EINVAL, "%s: %s \"%s\" is neither beside it nor in the folder above", path, key, named);
}

static int
find_files(struct hpcc *h, const struct hpcc_files *files)
{
	int rc = 0;

	if (files->topology != NULL)
		snprintf(h->topology, sizeof(h->topology), "%s", files->topology);
	else if (files->config != NULL)
		rc = find_file(h, h->config.topology, "TOPOLOGY_FILE", h->topology);
	if (rc == 0 && files->flow != NULL)
		snprintf(h->flow, sizeof(h->flow), "%s", files->flow);
	else if (rc == 0 && files->config != NULL)
		rc = find_file(h, h->config.flow, "FLOW_FILE", h->flow);
	if (rc == 0 && (*h->topology == '\0' || *h->flow == '\0'))
		rc = err_set(h->err, -EINVAL, "without a config.txt both the topology's file and the flows' are wanted");
	return rc;
}

static int
build_topology(struct hpcc *h)
{
	char text[HPCC_PATH * 2 + 64], absolute[HPCC_PATH * 2], found[PLAIN_NAME_BYTES];
	char *real = realpath(h->topology, NULL);

	if (real == NULL)
		return err_set(h->err, -EINVAL, "%s: %s", h->topology, strerror(errno));
	snprintf(absolute, sizeof(absolute), "%s", real);
	free(real);
	if (strpbrk(absolute, "\"\\") != NULL || plain_find_unprintable(absolute, found))
		return err_set(h->err, -EINVAL,
			       "%s: a path of printable characters without quotes and backslashes would be right",
			       h->topology);
	snprintf(text, sizeof(text), "topology = { kind = \"ns3\"; file = \"%s\"; };\n", absolute);
	h->cfg = cfg_load_string(text, h->topology, h->err);
	return h->cfg != NULL ? topo_build(h->cfg, &h->topo, h->err) : -errno;
}

static int
check_flows(const struct hpcc *h)
{
	for (size_t i = 0; i < h->flows.count; i++) {
		const struct hpcc_flow *flow = &h->flows.at[i];
		uint32_t ends[] = { flow->src, flow->dst };

		for (size_t e = 0; e < 2; e++)
			if (h->topo->nodes[ends[e]].kind != TOPO_HOST)
				return err_set(h->err, -EINVAL, "%s: flow %zu: node %" PRIu32 " is a switch", h->flow,
					       i + 1, ends[e]);
	}
	return 0;
}

static const char *
time_text(uint64_t time_ps, char buf[TIME_BYTES])
{
	return units_format_time(time_ps, buf, TIME_BYTES);
}

static const char *
micros(double us, char buf[TIME_BYTES])
{
	return time_text((uint64_t)(us * (double)PS_PER_US + 0.5), buf);
}

static void
write_cc(const struct hpcc_config *c, FILE *to)
{
	char a[TIME_BYTES], d[TIME_BYTES], t[TIME_BYTES];

	if (c->cc == HPCC_DCQCN)
		fprintf(to,
			"  cc = \"dcqcn\";\n"
			"  dcqcn = { g = %.9g; alpha_interval = \"%s\"; decrease_interval = \"%s\"; increase_timer = "
			"\"%s\";\n"
			"            ai = \"%s\"; hai = \"%s\"; min_rate = \"%s\"; fast_recovery = %" PRId64 ";\n"
			"            clamp_target = %s; echo = \"ack\"; };\n",
			c->g, micros(c->alpha_us, a), micros(c->decrease_us, d), micros(c->timer_us, t), c->ai, c->hai,
			c->min_rate, c->fast_recovery, c->clamp ? "true" : "false");
	else if (c->cc == HPCC_HPCC)
		fprintf(to, "  cc = \"hpcc\";\n  hpcc = { eta = %.9g; max_stage = %" PRId64 "; min_rate = \"%s\"; };\n",
			c->target, c->mi_thresh, c->min_rate);
	else if (c->cc == HPCC_TIMELY)
		fprintf(to, "  cc = \"timely\";\n  timely = { delta = \"%s\"; min_rate = \"%s\"; };\n", c->ai, c->min_rate);
	else
		fprintf(to, "  cc = \"none\";\n");
}

static void
write_host(const struct hpcc_config *c, FILE *to)
{
	fprintf(to,
		"host = {\n  mtu = %" PRId64
		"; data_overhead = %d; ack_bytes = %d; control_bytes = %d; ack_every = %" PRId64 ";\n"
		"  window = \"%s\"; window_scales_with_rate = %s;\n"
		"  timeout = \"0ps\"; // the simulator's senders never time out\n",
		c->payload_bytes, DATA_OVERHEAD, ACK_BYTES, ACK_BYTES, c->ack_packets, c->has_win ? "bdp" : "none",
		c->var_win ? "true" : "false");
	write_cc(c, to);
	fprintf(to, "};\n\n");
}

/* A map gives each rate its thresholds; ours scale with the rate: the pairs have to. @return that of the highest rate */
static int
scaled(const struct hpcc *h, const struct hpcc_map *map, const char *key, bool scales, uint64_t *rate_bps, double *value)
{
	size_t top = 0;

	for (size_t i = 1; i < map->count; i++)
		top = map->rate_bps[i] > map->rate_bps[top] ? i : top;
	*rate_bps = map->rate_bps[top];
	*value = map->value[top];
	for (size_t i = 0; i < map->count; i++) {
		double factor = scales ? (double)map->rate_bps[i] / (double)map->rate_bps[top] : 1;
		double off = map->value[i] - map->value[top] * factor;

		if (off > 0.01 * map->value[top] || off < -0.01 * map->value[top])
			return err_set(h->err, -EINVAL, "%s:%d: %s: values that %s the rates; ours do", h->config.path,
				       map->line, key, scales ? "do not go with" : "differ between");
	}
	return 0;
}

static int
write_switch(const struct hpcc *h, FILE *to)
{
	const struct hpcc_config *c = &h->config;
	uint64_t rate_bps[3] = { 0 };
	double kmin, kmax, pmax;
	bool classes[8] = { false };
	const char *comma = "";
	int rc;

	for (size_t i = 0; i < h->flows.count; i++)
		classes[h->flows.at[i].prio] = true;
	fprintf(to, "switch = {\n  buffer = \"%" PRId64 "MiB\";\n  pfc = { priorities = [ ", c->buffer_mb);
	for (int prio = 1; prio < 8; prio++)
		if (classes[prio]) {
			fprintf(to, "%s\"%d\"", comma, prio);
			comma = ", ";
		}
	fprintf(to, " ]; };\n");
	if (!c->qcn || c->kmin.count == 0 || c->kmax.count == 0 || c->pmax.count == 0) {
		fprintf(to, "  ecn = { enabled = false; };\n};\n\n");
		return 0;
	}
	rc = scaled(h, &c->kmin, "KMIN_MAP", true, &rate_bps[0], &kmin);
	if (rc == 0)
		rc = scaled(h, &c->kmax, "KMAX_MAP", true, &rate_bps[1], &kmax);
	if (rc == 0)
		rc = scaled(h, &c->pmax, "PMAX_MAP", false, &rate_bps[2], &pmax);
	if (rc != 0)
		return rc;
	if (rate_bps[0] != rate_bps[1])
		return err_set(h->err, -EINVAL, "%s:%d: KMAX_MAP has other rates than KMIN_MAP", c->path, c->kmax.line);
	fprintf(to, "  ecn = { rate = \"%" PRIu64 "bps\"; kmin = \"%.0fB\"; kmax = \"%.0fB\"; pmax = %.9g; };\n};\n\n",
		rate_bps[0], kmin * 1000, kmax * 1000, pmax);
	return 0;
}

static void
write_flows(const struct hpcc *h, FILE *to)
{
	char start[TIME_BYTES];

	fprintf(to, "flows = (\n");
	for (size_t i = 0; i < h->flows.count; i++) {
		const struct hpcc_flow *f = &h->flows.at[i];

		fprintf(to,
			"  { src = \"%" PRIu32 "\"; dst = \"%" PRIu32 "\"; sport = %" PRIu32 "; dport = %" PRIu32
			"; bytes = %" PRIu64 "L; start = \"%s\"; prio = %" PRIu32 "; }%s\n",
			f->src, f->dst, f->sport, f->dport, f->bytes, time_text(f->start_ps - h->flows.first_ps, start),
			f->prio, i + 1 < h->flows.count ? "," : "");
	}
	fprintf(to, ");\n");
}

/* The port of a that leads to b. */
static int
write_fault(const struct hpcc *h, FILE *to)
{
	const struct hpcc_config *c = &h->config;
	uint64_t at_ps = DOWN_FROM_PS + (uint64_t)c->down_us * PS_PER_US;
	char start[TIME_BYTES], name[64];

	if (c->down_us == 0)
		return 0;
	for (uint32_t p = 0; p < h->topo->nports; p++) {
		const struct topo_port *port = &h->topo->ports[p];

		if (port->node != (uint64_t)c->down_a || port->peer != (uint64_t)c->down_b)
			continue;
		at_ps = at_ps > h->flows.first_ps ? at_ps - h->flows.first_ps : 0;
		fprintf(to, "\nfaults = ( { kind = \"link-down\"; port = \"%s\"; start = \"%s\"; } );\n",
			topo_port_name(h->topo, p, name), time_text(at_ps, start));
		return 0;
	}
	return err_set(h->err, -EINVAL, "%s:%d: LINK_DOWN: there is no link between %" PRId64 " and %" PRId64, c->path,
		       c->down_line, c->down_a, c->down_b);
}

/* @return whether times can be floored to 1 ns: even the shortest frame takes as long on the fastest link */
static bool
rounds(const struct topo *topo)
{
	for (uint32_t p = 0; p < topo->nports; p++)
		if (units_serialize_ps(DATA_OVERHEAD + 1, topo->ports[p].rate_bps, 0) < PS_PER_NS)
			return false;
	return true;
}

static void
write_head(const struct hpcc *h, FILE *to)
{
	uint64_t stop_ps = (uint64_t)(h->config.stop_s * (double)PS_PER_S + 0.5);
	char first[TIME_BYTES], stop[TIME_BYTES];

	fprintf(to,
		"// Made by rocelab import hpcc. Times count from the first flow, which starts at %s there; frames and "
		"buffers\n"
		"// are the simulator's, and its rounding to 1 ns where links are slow enough for that.\n\n",
		time_text(h->flows.first_ps, first));
	topo_show_scenario(h->topo, to);
	fprintf(to, "\ntiming = { quantum = \"%s\"; pipeline = \"0ns\"; };\n", rounds(h->topo) ? "1ns" : "0ps");
	if (stop_ps > h->flows.first_ps)
		fprintf(to, "limits = { virtual_time = \"%s\"; };\n", time_text(stop_ps - h->flows.first_ps, stop));
	fprintf(to, "\n");
}

static int
write_scenario(const struct hpcc *h, FILE *to)
{
	int rc;

	if (h->config.cc == HPCC_HPCC)
		log_warning("%s: RATE_AI is a rate, and host.hpcc.wai bytes a step: it stays at its default",
			    h->config.path);
	write_head(h, to);
	write_host(&h->config, to);
	rc = write_switch(h, to);
	if (rc == 0)
		write_flows(h, to);
	if (rc == 0)
		rc = write_fault(h, to);
	if (rc == 0 && ferror(to))
		rc = err_set(h->err, -EIO, "writing the scenario failed");
	return rc;
}

int
hpcc_import(const struct hpcc_files *files, FILE *to, struct err *err)
{
	struct hpcc h = { .err = err };
	int rc = hpcc_read_config(files->config, &h.config, err);

	if (rc == 0)
		rc = find_files(&h, files);
	if (rc == 0)
		rc = build_topology(&h);
	if (rc == 0)
		rc = hpcc_read_flows(h.flow, h.topo->nnodes, &h.flows, err);
	if (rc == 0)
		rc = check_flows(&h);
	if (rc == 0)
		rc = write_scenario(&h, to);
	free(h.flows.at);
	topo_destroy(h.topo);
	cfg_destroy(h.cfg);
	return rc;
}
