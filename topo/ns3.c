/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "ns3": a topology file of HPCC's ns-3 simulator ("nodes switches links", switch ids, links). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/printable.h"
#include "common/units.h"
#include "topo/build.h"
#include "topo/builder.h"
#include "topo/topo.h"

#define MAX_FILE_BYTES (64 << 20)
#define MAX_TOKEN 64

struct ns3_cfg {
	struct cfg_where where;
	const char *file;
};

static const struct cfg_field fields[] = {
	CFG_FIELD("file", CFG_PATH, offsetof(struct ns3_cfg, file),
		  .doc = "Path of the file, relative to the scenario: \"nodes switches links\", the switches' ids, then "
			 "\"src dst rate delay error_rate\" a link"),
};

static const struct cfg_table table = {
	.path = "topology",
	.doc = "A topology file of HPCC's ns-3 simulator. Nodes are named by their ids; what follows the last link is "
	       "ignored, as there.",
	.size = sizeof(struct ns3_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

/* A text split into words, as the simulator reads it: line ends mean nothing, but messages need them. */
struct reader {
	const char *at;
	struct cfg_where where; /* of the word read last */
	int line;
	struct err *err;
};

/* Reads the next word. what names the expected value, for messages. */
static int
read_word(struct reader *reader, const char *what, char word[MAX_TOKEN])
{
	size_t length;

	for (; strchr(" \t\r\n", *reader->at) != NULL && *reader->at != '\0'; reader->at++)
		reader->line += *reader->at == '\n';
	reader->where.line = reader->line;
	for (length = 0; strchr(" \t\r\n", reader->at[length]) == NULL;) /* strcspn() may look at all that is left */
		length++;
	if (length == 0)
		return cfg_fail(&reader->where, NULL, reader->err, "the file ends where %s should stand", what);
	if (length >= MAX_TOKEN)
		return cfg_fail(&reader->where, NULL, reader->err, "found \"%.*s...\"; %s would be right", 32, reader->at,
				what);
	memcpy(word, reader->at, length);
	word[length] = '\0';
	reader->at += length;
	return 0;
}

static int
read_number(struct reader *reader, const char *what, uint32_t limit, uint32_t *number)
{
	char word[MAX_TOKEN];
	uint64_t value;
	int rc = read_word(reader, what, word);

	*number = 0;
	if (rc != 0)
		return rc;
	if (!number_parse(word, 0, limit, &value))
		return cfg_fail(&reader->where, NULL, reader->err, "found \"%s\"; %s, 0 to %u, would be right", word, what,
				limit);
	*number = (uint32_t)value;
	return 0;
}

static int
read_link(struct reader *reader, struct builder *builder)
{
	uint32_t last = builder->topo->nnodes - 1, a, b;
	uint64_t rate_bps, delay_ps;
	struct cfg_where where;
	char word[MAX_TOKEN], *end;
	int rc = read_number(reader, "a node id", last, &a);

	where = reader->where;
	if (rc == 0)
		rc = read_number(reader, "a node id", last, &b);
	if (rc == 0)
		rc = read_word(reader, "a rate, as 100Gbps,", word);
	if (rc == 0 && units_parse_rate(word, &rate_bps) != 0)
		rc = cfg_fail(&reader->where, NULL, reader->err, "found \"%s\"; a rate, as 100Gbps, would be right", word);
	if (rc == 0)
		rc = read_word(reader, "a delay, as 0.002ms,", word);
	if (rc == 0 && units_parse_time(word, &delay_ps) != 0)
		rc = cfg_fail(&reader->where, NULL, reader->err, "found \"%s\"; a delay, as 0.002ms, would be right", word);
	if (rc == 0)
		rc = read_word(reader, "an error rate", word);
	if (rc == 0 && (strtod(word, &end) != 0 || *end != '\0'))
		rc = cfg_fail(&reader->where, NULL, reader->err,
			      "found error rate \"%s\"; 0 would be right: loss is a fault here, not part of the topology",
			      word);
	return rc == 0 ? builder_link(builder, &where, a, b, rate_bps, delay_ps) : rc;
}

/* Makes all nodes: node ids are the file's, and each node that is no switch is a host. */
static int
read_switches(struct reader *reader, uint32_t nodes, uint32_t switches, struct builder *builder)
{
	struct cfg_where *where = calloc(nodes, sizeof(*where)), first = reader->where;
	int rc = where != NULL ? 0 : err_set(reader->err, -ENOMEM, "out of memory for %u nodes", nodes);

	for (uint32_t i = 0; rc == 0 && i < switches; i++) {
		uint32_t id;

		rc = read_number(reader, "a switch's id", nodes - 1, &id);
		if (rc == 0 && where[id].line != 0)
			rc = cfg_fail(&reader->where, NULL, reader->err, "switch %u stands twice in the list of switches",
				      id);
		if (rc == 0)
			where[id] = reader->where;
	}
	for (uint32_t id = 0; rc == 0 && id < nodes; id++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", id);
		rc = builder_node(builder, where[id].line != 0 ? TOPO_SWITCH : TOPO_HOST,
				  where[id].line != 0 ? &where[id] : &first, NULL, name);
	}
	free(where);
	return rc == 0 ? builder_index(builder) : rc;
}

static int
read_topology(const char *text, const char *file, struct builder *builder)
{
	struct reader reader = { .at = plain_begin(text), .where.file = file, .line = 1, .err = builder->err };
	uint32_t nodes, switches, links;
	int rc = read_number(&reader, "the number of nodes", TOPO_MAX_NODES, &nodes);

	if (rc == 0)
		rc = read_number(&reader, "the number of switches", nodes, &switches);
	if (rc == 0)
		rc = read_number(&reader, "the number of links", BUILDER_MAX_LINKS, &links);
	if (rc == 0 && nodes == 0)
		rc = cfg_fail(&reader.where, NULL, reader.err, "a topology without nodes");
	if (rc == 0)
		rc = read_switches(&reader, nodes, switches, builder);
	for (uint32_t i = 0; rc == 0 && i < links; i++)
		rc = read_link(&reader, builder);
	return rc;
}

/* where, key: what named the file, for a message when it cannot be read */
static int
import(const char *path, const struct cfg_where *where, const char *key, struct builder *builder)
{
	struct err why = { 0 };
	size_t length;
	char *text = input_read(path, MAX_FILE_BYTES, &length, &why);
	int rc = 0;

	if (text == NULL)
		return errno == ENOMEM ? err_set(builder->err, -ENOMEM, "%s", why.text)
				       : cfg_fail(where, key, builder->err, "%s", why.text);
	builder->topo->source = strdup(path);
	if (builder->topo->source != NULL)
		rc = read_topology(text, builder->topo->source, builder);
	else
		rc = err_set(builder->err, -ENOMEM, "%s: out of memory", path);
	free(text);
	return rc;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	struct ns3_cfg cfg;
	char *path;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc != 0)
		return rc;
	path = cfg_resolve(tree, cfg.file);
	rc = path != NULL ? import(path, &cfg.where, "file", builder)
			  : err_set(builder->err, -ENOMEM, "%s: out of memory", cfg.file);
	free(path);
	return rc;
}

const struct topo_generator topo_ns3 = { "ns3", &table, NULL, build };

int
topo_import_ns3(const char *path, FILE *to, struct err *err)
{
	struct cfg_where nowhere = { NULL, 0, NULL }, where = { path, 0, NULL };
	struct topo *topo = NULL;
	struct builder builder;
	int rc = builder_init(&builder, &where, err);

	if (rc == 0)
		rc = import(path, &nowhere, NULL, &builder);
	if (rc == 0) {
		topo = builder_finish(&builder);
		rc = topo != NULL ? topo_check(topo, err) : -ENOMEM;
	}
	if (rc == 0)
		topo_show_scenario(topo, to);
	if (rc == 0 && ferror(to))
		rc = err_set(err, -EIO, "writing the topology failed");
	topo_destroy(topo);
	builder_fini(&builder);
	return rc;
}
