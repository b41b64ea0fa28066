/* SPDX-License-Identifier: BSD-3-Clause */
/* config.txt: a key and its values a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/hpcc_parts.h"
#include "collectives/import/import.h"
#include "common/array.h"
#include "common/log.h"
#include "common/number.h"
#include "common/units.h"

enum value_type {
	VALUE_INT,   /* int64_t, from min to max */
	VALUE_FLOAT, /* double, from min to max */
	VALUE_RATE,  /* char [HPCC_VALUE], a rate */
	VALUE_PATH,  /* char [HPCC_PATH] */
	VALUE_MAP,   /* struct hpcc_map */
	VALUE_DOWN,  /* time, node, node */
	VALUE_NONE,  /* says nothing of the network: where results go, or a parameter of what is not chosen */
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
	/* Done otherwise here, whatever they say: warned of. */
	{ "USE_DYNAMIC_PFC_THRESHOLD", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "the simulator's switches have a dynamic threshold whatever this says, and so have ours" },
	{ "GLOBAL_T", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "windows and round trips of each pair: all have the longest's here" },
	{ "ACK_HIGH_PRIO", VALUE_INT, KEPT_NOT, 1, 1, NULL,
	  "ACKs wait behind data there; here they have a class of their own" },
	/* Without meaning here. */
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

bool
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

/* Of a key of which one value alone is served. */
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
		break;
	}
	return 0;
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

int
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
