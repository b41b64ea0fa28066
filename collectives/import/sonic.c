/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/sonic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/import.h"
#include "common/array.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/units.h"

#define PS_PER_M 5000 /* light in glass */
#define NODE_NAME 31
#define MAX_HOSTS 8192
#define HOST_SLOTS (2 * MAX_HOSTS)
#define CNP_CLASS 6 /* of profiles of NICs */
#define HOST_NAMESPACE "localhost"

/* A file, or one of its namespaces; all else "" and false: of no single switch. */
struct source {
	const char *path;
	const char *section; /* the namespace in a file of several; NULL: the whole file */
	char *label;         /* of both, in messages */
	char device[SONIC_NAME], asic[SONIC_NAME];
	bool is_switch, is_one_of; /* one of several ASICs of its device */
};

struct cable {
	const struct sonic_switch *a;
	const char *b; /* switch or host */
	bool is_to_switch;
	uint64_t rate_mbps;
	uint32_t length_m;
};

struct fabric {
	struct sonic_common common;
	struct source *sources; /* [nsources] in the order of files */
	uint32_t nsources, sources_cap;
	struct sonic_switch *switches; /* [nswitches] by name */
	uint32_t nswitches;
	struct cable *cables;
	uint32_t ncables, cables_cap;
	const char **hosts; /* [nhosts] */
	uint32_t nhosts;
	uint16_t *host_slots; /* [HOST_SLOTS] index of a host and 1, where its name's digest says or next to it; 0: none */
	size_t common_bytes;  /* of files that are of no single switch */
	uint8_t data_class, strict;
	char half[768]; /* a cable that one file alone has: the first, and how many there are */
	uint32_t nhalf;
	uint8_t taken; /* bit p: class p has data of RoCE or PFC at some port */
	struct err *err;
};

/* Reading. */

static bool
has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), end = strlen(suffix);

	return length >= end && strcmp(path + length - end, suffix) == 0;
}

/* A file without a hostname: its tables are those of all switches that lack their own. */
static int
add_common(struct fabric *f, const char *path, size_t bytes, json_t *doc)
{
	const char *table;
	json_t *rows;

	sonic_note_left(doc, path, f->common.left);
	f->common_bytes += bytes;
	if (f->common_bytes > SONIC_MAX_BYTES)
		return err_set(
			f->err, -EINVAL,
			"%s: files without DEVICE_METADATA.localhost.hostname have %zu B; at most %u MiB together would "
			"be right",
			path, f->common_bytes, SONIC_MAX_BYTES >> 20);
	json_object_foreach(doc, table, rows) {
		char shown[32];

		if (strcmp(table, "PORT") == 0 || strcmp(table, "DEVICE_NEIGHBOR") == 0)
			return err_set(f->err, -EINVAL,
				       "%s: %s is of one switch: its DEVICE_METADATA.localhost.hostname, 1 to 31 letters, "
				       "would be right beside it",
				       path, table);
		if (json_object_get(f->common.tables, table) != NULL)
			log_warning("%s: %s is left out: %s, which is of no single switch either, has this table, too",
				    path, printable_text(table, shown, sizeof(shown)),
				    json_string_value(json_object_get(f->common.origins, table)));
		else if (json_object_set(f->common.tables, table, rows) != 0 ||
			 json_object_set_new(f->common.origins, table, json_string(path)) != 0)
			return err_set(f->err, -ENOMEM, "out of memory for %s", path);
	}
	return 0;
}

static int
add_source(struct fabric *f, const char *path, const char *section, struct source **added)
{
	struct source *source, *grown;

	if (f->nsources == f->sources_cap) {
		uint32_t cap = f->sources_cap != 0 ? 2 * f->sources_cap : 64;

		grown = realloc(f->sources, cap * sizeof(*grown));
		if (grown == NULL)
			return err_set(f->err, -ENOMEM, "out of memory for %s", path);
		f->sources = grown;
		f->sources_cap = cap;
	}
	source = &f->sources[f->nsources];
	*source = (struct source){ .path = path };
	if (asprintf(&source->label, "%s%s%s", path, section != NULL ? ": " : "", section != NULL ? section : "") < 0)
		return err_set(f->err, -ENOMEM, "out of memory for %s", path);
	source->section = section != NULL ? source->label + strlen(path) + 2 : NULL;
	f->nsources++;
	*added = source;
	return 0;
}

/* @param host  what has the hostname if an ASIC's namespace lacks it */
static void
name_source(const json_t *config, const json_t *host, struct source *source)
{
	const char *device = sonic_metadata(config, "hostname"), *asic = sonic_metadata(config, "asic_name");

	device = device != NULL ? device : sonic_metadata(host, "hostname");
	if (asic == NULL && source->section != NULL && strcmp(source->section, HOST_NAMESPACE) != 0)
		asic = source->section;
	source->is_switch = device != NULL;
	snprintf(source->device, sizeof(source->device), "%s", device != NULL ? device : "");
	snprintf(source->asic, sizeof(source->asic), "%s", asic != NULL ? asic : "");
}

static bool
is_asic_namespace(const char *name)
{
	size_t digits = strncmp(name, "asic", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

	return digits != 0 && name[4 + digits] == '\0';
}

/* @return whether a document has a configuration per namespace: no table is named like a namespace */
static bool
has_namespaces(const json_t *doc)
{
	const char *name;
	json_t *config;

	json_object_foreach((json_t *)(uintptr_t)doc, name, config)
		if (strcmp(name, HOST_NAMESPACE) == 0 || is_asic_namespace(name))
			return true;
	return false;
}

/*
 * The document of all namespaces of a device (`config save FILE`, `show runningconfiguration all`): each ASIC's is a
 * switch, and the host's, if there is no other.
 */
static int
add_namespaces(struct fabric *f, const char *path, const json_t *doc)
{
	const json_t *host = json_object_get(doc, HOST_NAMESPACE);
	const char *name;
	json_t *config;

	json_object_foreach((json_t *)(uintptr_t)doc, name, config) {
		struct source *source;
		char shown[32];
		int ret;

		if ((strcmp(name, HOST_NAMESPACE) != 0 && !is_asic_namespace(name)) || json_typeof(config) != JSON_OBJECT)
			return err_set(f->err, -EINVAL,
				       "%s: %s: beside namespaces, \"" HOST_NAMESPACE
				       "\" or \"asic0\" with an object of tables would be right",
				       path, printable_text(name, shown, sizeof(shown)));
		if (config == host && json_object_size(doc) > 1)
			continue;
		if (f->nsources >= SONIC_MAX_SWITCHES)
			return err_set(f->err, -EINVAL, "%s: more than %d files and namespaces", path, SONIC_MAX_SWITCHES);
		ret = add_source(f, path, name, &source);
		if (ret != 0)
			return ret;
		name_source(config, host, source);
		if (!source->is_switch)
			return err_set(f->err, -EINVAL,
				       "%s: DEVICE_METADATA.localhost.hostname is missing, also in \"" HOST_NAMESPACE "\"",
				       source->label);
	}
	return 0;
}

/* Two passes, so that one document is in memory at a time: what is of all switches, then the switches. */
static int
read_common(struct fabric *f, const struct sonic_files *files)
{
	int ret = 0;

	f->common.dscp = files->dscp;
	f->common.tables = json_object();
	f->common.origins = json_object();
	if (f->common.tables == NULL || f->common.origins == NULL)
		return err_set(f->err, -ENOMEM, "out of memory");
	for (size_t i = 0; ret == 0 && i < files->count; i++) {
		struct source *source;
		size_t bytes;
		json_t *doc;

		if (has_suffix(files->paths[i], ".ini")) {
			ret = sonic_read_rows(files->paths[i], &f->common, f->err);
			continue;
		}
		doc = sonic_load(files->paths[i], &bytes, f->err);
		if (doc == NULL)
			return -errno;
		if (has_namespaces(doc)) {
			ret = add_namespaces(f, files->paths[i], doc);
		} else if (sonic_metadata(doc, "hostname") != NULL) {
			ret = add_source(f, files->paths[i], NULL, &source);
			if (ret == 0)
				name_source(doc, NULL, source);
		} else {
			ret = add_common(f, files->paths[i], bytes, doc);
		}
		json_decref(doc);
	}
	return ret;
}

/* A device of several ASICs has a file for each, and one of the host's namespace, which switches nothing. */
static void
find_asics(struct fabric *f)
{
	for (uint32_t i = 0; i < f->nsources; i++) {
		struct source *source = &f->sources[i];
		bool others = false;

		for (uint32_t k = 0; k < f->nsources && !others; k++)
			others = k != i && f->sources[k].asic[0] != '\0' &&
				 strcmp(f->sources[k].device, source->device) == 0;
		source->is_one_of = others && source->asic[0] != '\0';
		if (others && !source->is_one_of) {
			source->is_switch = false;
			log_warning("%s: DEVICE_METADATA.localhost has no asic_name, and another file of %s has: of no "
				    "ASIC, it is left out",
				    source->label, source->device);
		}
		f->nswitches += source->is_switch;
	}
}

static int
compare_switches(const void *a, const void *b)
{
	return strverscmp(((const struct sonic_switch *)a)->name, ((const struct sonic_switch *)b)->name);
}

static bool
is_node_name(const char *name)
{
	size_t length = strlen(name);

	return length != 0 && length <= NODE_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

static int
read_switch(struct fabric *f, const json_t *config, const struct source *source, struct sonic_switch *at)
{
	char name[2 * SONIC_NAME];

	at->path = source->label;
	snprintf(name, sizeof(name), "%s%s%s", source->device, source->is_one_of ? "-" : "",
		 source->is_one_of ? source->asic : "");
	memcpy(at->device, source->device, sizeof(at->device));
	memcpy(at->asic, source->asic, sizeof(at->asic));
	if (!is_node_name(name))
		return err_set(f->err, -EINVAL,
			       "%s: DEVICE_METADATA.localhost.hostname%s: 1 to %d letters, digits, '_', '.' and '-' would "
			       "be right",
			       at->path, source->is_one_of ? ", '-' and asic_name together" : "", NODE_NAME);
	snprintf(at->name, sizeof(at->name), "%.*s", NODE_NAME, name);
	return sonic_read_switch(config, &f->common, at, f->err);
}

static int
check_names(const struct fabric *f)
{
	for (uint32_t i = 1; i < f->nswitches; i++)
		if (strcmp(f->switches[i - 1].name, f->switches[i].name) == 0)
			return err_set(
				f->err, -EINVAL,
				"%s: DEVICE_METADATA.localhost.hostname: \"%s\" is also that of %s: another name, or of "
				"several ASICs of one device an asic_name for each, would be right",
				f->switches[i].path, f->switches[i].name, f->switches[i - 1].path);
	return 0;
}

static int
read_switches(struct fabric *f, const struct sonic_files *files)
{
	json_t *doc = NULL;
	uint32_t count = 0;
	int ret = 0;

	if (f->nswitches == 0)
		return err_set(
			f->err, -EINVAL,
			"%s: no file has DEVICE_METADATA.localhost.hostname: a config_db.json for each switch would be "
			"right",
			files->paths[0]);
	if (f->nswitches > SONIC_MAX_SWITCHES)
		return err_set(f->err, -EINVAL, "%" PRIu32 " switches; at most %d would be right", f->nswitches,
			       SONIC_MAX_SWITCHES);
	f->switches = calloc(f->nswitches, sizeof(*f->switches));
	if (f->switches == NULL)
		return err_set(f->err, -ENOMEM, "out of memory for %" PRIu32 " switches", f->nswitches);
	for (uint32_t i = 0; ret == 0 && i < f->nsources; i++) {
		const struct source *source = &f->sources[i];
		size_t bytes;

		if (doc == NULL || source->path != f->sources[i - 1].path) {
			json_decref(doc);
			doc = sonic_load(source->path, &bytes, f->err);
			if (doc == NULL)
				return -errno;
		}
		if (source->is_switch) {
			const json_t *config = source->section != NULL ? json_object_get(doc, source->section) : doc;

			sonic_note_left(config, source->label, f->common.left);
			ret = read_switch(f, config, source, &f->switches[count++]);
		}
	}
	json_decref(doc);
	if (ret != 0)
		return ret;
	qsort(f->switches, f->nswitches, sizeof(*f->switches), compare_switches);
	return check_names(f);
}

static int
read_all(struct fabric *f, const struct sonic_files *files)
{
	int ret = read_common(f, files);

	if (ret == 0)
		find_asics(f);
	return ret == 0 ? read_switches(f, files) : ret;
}

/* Cables. */

static struct sonic_switch *
find_switch(const struct fabric *f, const char *name)
{
	struct sonic_switch key = { .nports = 0 };

	snprintf(key.name, sizeof(key.name), "%s", name);
	return bsearch(&key, f->switches, f->nswitches, sizeof(key), compare_switches);
}

/* A port as neighbors call it: by its name, else by its alias, or, within a device, as its ASIC does. */
static struct sonic_port *
find_port(const struct sonic_switch *at, const char *name)
{
	for (uint32_t i = 0; i < at->nports; i++)
		if (strcmp(at->ports[i].name, name) == 0)
			return &at->ports[i];
	for (uint32_t i = 0; name[0] != '\0' && i < at->nports; i++)
		if (strcmp(at->ports[i].alias, name) == 0 || strcmp(at->ports[i].asic_port, name) == 0)
			return &at->ports[i];
	return NULL;
}

/*
 * The switch that a port leads to: an ASIC of the same device by its own name ("ASIC2", which asic_name has in small
 * letters), another switch by its name, or of a device of several ASICs the one that has the port.
 */
static struct sonic_switch *
peer_of(const struct fabric *f, const struct sonic_switch *at, const struct sonic_port *port)
{
	for (uint32_t i = 0; at->asic[0] != '\0' && i < f->nswitches; i++)
		if (strcmp(f->switches[i].device, at->device) == 0 && strcasecmp(f->switches[i].asic, port->peer) == 0)
			return &f->switches[i];
	for (uint32_t i = 0; i < f->nswitches; i++)
		if (f->switches[i].asic[0] != '\0' && strcmp(f->switches[i].device, port->peer) == 0 &&
		    find_port(&f->switches[i], port->peer_port) != NULL)
			return &f->switches[i];
	return find_switch(f, port->peer);
}

/* An ASIC of a device, of which there may be no file. */
static bool
is_asic(const struct sonic_switch *at, const char *name)
{
	return at->asic[0] != '\0' && strncasecmp(name, "asic", 4) == 0 && name[4] != '\0' &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* @return where a host of this name stands, or would */
static uint16_t *
host_slot(const struct fabric *f, const char *name)
{
	uint64_t digest = DIGEST_INIT;
	uint32_t slot;

	for (const char *c = name; *c != '\0'; c++)
		digest = digest_u64(digest, (unsigned char)*c);
	for (slot = digest % HOST_SLOTS; f->host_slots[slot] != 0; slot = (slot + 1) % HOST_SLOTS)
		if (strcmp(f->hosts[f->host_slots[slot] - 1], name) == 0)
			break;
	return &f->host_slots[slot];
}

/* The host that a neighbor is. @return its name, which lives as long as the fabric; NULL: out of memory, or too many */
static const char *
host_of(struct fabric *f, const char *name)
{
	uint16_t *slot;

	if (f->hosts == NULL)
		f->hosts = calloc(MAX_HOSTS, sizeof(*f->hosts));
	if (f->host_slots == NULL)
		f->host_slots = calloc(HOST_SLOTS, sizeof(*f->host_slots));
	if (f->hosts == NULL || f->host_slots == NULL) {
		err_set(f->err, -ENOMEM, "out of memory for hosts");
		return NULL;
	}
	slot = host_slot(f, name);
	if (*slot != 0)
		return f->hosts[*slot - 1];
	if (f->nhosts == MAX_HOSTS) {
		err_set(f->err, -EINVAL, "%s: more than %d neighbors without a file", name, MAX_HOSTS);
		return NULL;
	}
	f->hosts[f->nhosts++] = name;
	*slot = (uint16_t)f->nhosts;
	return name;
}

static int
add_cable(struct fabric *f, const struct sonic_switch *a, const char *b, bool is_to_switch, const struct sonic_port *port)
{
	if (f->ncables == f->cables_cap) {
		uint32_t cap = f->cables_cap != 0 ? 2 * f->cables_cap : 256;
		struct cable *grown = realloc(f->cables, cap * sizeof(*grown));

		if (grown == NULL)
			return err_set(f->err, -ENOMEM, "out of memory for %" PRIu32 " cables", cap);
		f->cables = grown;
		f->cables_cap = cap;
	}
	f->cables[f->ncables++] = (struct cable){ a, b, is_to_switch, port->rate_mbps, port->length_m };
	return 0;
}

/* The other end of a cable between two switches with files. @return NULL with err set, or with err unset: it is down */
static struct sonic_port *
other_end(const struct fabric *f, const struct sonic_switch *at, const struct sonic_port *port, struct sonic_switch *peer)
{
	struct sonic_port *end = find_port(peer, port->peer_port);

	if (end == NULL)
		err_set(f->err, -EINVAL, "%s: DEVICE_NEIGHBOR.%s.port: found \"%s\"; a PORT of %s would be right", at->path,
			port->name, port->peer_port, peer->path);
	else if (end->peer[0] != '\0' && (peer_of(f, peer, end) != at || find_port(at, end->peer_port) != port))
		err_set(f->err, -EINVAL,
			"%s: DEVICE_NEIGHBOR.%s: the port of %s leads to %s, %s by %s: the same cable in both would be "
			"right",
			at->path, port->name, peer->name, end->peer, end->peer_port, peer->path);
	else if (end->rate_mbps != port->rate_mbps)
		err_set(f->err, -EINVAL,
			"%s: PORT.%s.speed: found %" PRIu64 "; %" PRIu64 ", as its other end has in %s, would be right",
			at->path, port->name, port->rate_mbps, end->rate_mbps, peer->path);
	else
		return end;
	return NULL;
}

/* A cable that the file of one end alone has. */
static void
note_half(struct fabric *f, const struct sonic_switch *at, const struct sonic_port *port, const struct sonic_switch *peer)
{
	if (f->nhalf++ == 0)
		snprintf(f->half, sizeof(f->half),
			 "%.200s: DEVICE_NEIGHBOR.%s: its other end, %s of %s, has none in %.200s", at->path, port->name,
			 port->peer_port, peer->name, peer->path);
}

static int
connect_port(struct fabric *f, struct sonic_switch *at, struct sonic_port *port, uint16_t *used)
{
	struct sonic_switch *peer = peer_of(f, at, port);
	struct sonic_port *end;
	const char *host;
	int ret;

	if (peer == NULL && (port->leads_to_switch || is_asic(at, port->peer))) {
		log_warning("%s: DEVICE_NEIGHBOR.%s: no file is of switch %s: the cable is left out", at->path, port->name,
			    port->peer);
		return 0;
	}
	if (peer == NULL && !is_node_name(port->peer))
		return err_set(f->err, -EINVAL,
			       "%s: DEVICE_NEIGHBOR.%s.name: found \"%s\"; 1 to %d letters, digits, '_', '.' and '-' would "
			       "be right",
			       at->path, port->name, port->peer, NODE_NAME);
	if (peer == NULL) {
		host = host_of(f, port->peer);
		ret = host != NULL ? add_cable(f, at, host, false, port) : -EINVAL;
		port->number = ++used[at - f->switches];
		return ret;
	}
	end = other_end(f, at, port, peer);
	if (end == NULL)
		return -EINVAL;
	if (end == port)
		return err_set(f->err, -EINVAL, "%s: DEVICE_NEIGHBOR.%s: a port that leads to itself", at->path,
			       port->name);
	if (!end->up) {
		log_warning("%s: PORT.%s is up, and its other end, %s of %s, is down: the cable is left out", at->path,
			    port->name, end->name, peer->name);
		return 0;
	}
	if (end->peer[0] == '\0')
		note_half(f, at, port, peer);
	if (end->length_m != port->length_m)
		log_warning("%s: CABLE_LENGTH of %s is %" PRIu32 " m, and %" PRIu32
			    " m at its other end in %s: the longer counts",
			    at->path, port->name, port->length_m, end->length_m, peer->path);
	port->length_m = max_u32(port->length_m, end->length_m);
	ret = add_cable(f, at, peer->name, true, port);
	port->number = ++used[at - f->switches];
	end->number = ++used[peer - f->switches];
	return ret;
}

/* Does any file name neighbors? Else each port that is up has a host. */
static bool
names_neighbors(const struct fabric *f)
{
	for (uint32_t i = 0; i < f->nswitches; i++)
		for (uint32_t p = 0; p < f->switches[i].nports; p++)
			if (f->switches[i].ports[p].peer[0] != '\0')
				return true;
	return false;
}

static void
warn_of_unconnected(const struct sonic_switch *at)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < at->nports; p++)
		count += at->ports[p].up && at->ports[p].number == 0 && at->ports[p].peer[0] == '\0';
	if (count != 0)
		log_warning("%s: no file names neighbors of %u ports that are up: they have no cable", at->path, count);
}

/* Ports with a cable; the first one's settings are the switch's. */
static const struct sonic_port *
first_port(const struct sonic_switch *at)
{
	for (uint32_t i = 0; i < at->nports; i++)
		if (at->ports[i].number != 0)
			return &at->ports[i];
	return NULL;
}

/* Neighbors of several ports that nothing says to be hosts: switches whose file is missing look like that. */
static int
warn_of_unknown(const struct fabric *f)
{
	uint16_t *ports_of = calloc(f->nhosts + 1u, sizeof(*ports_of));
	uint32_t count = 0, most = 0;
	char more[64] = "";

	if (ports_of == NULL)
		return err_set(f->err, -ENOMEM, "out of memory for %" PRIu32 " hosts", f->nhosts);
	for (uint32_t i = 0; i < f->nswitches; i++)
		for (uint32_t p = 0; p < f->switches[i].nports; p++) {
			const struct sonic_port *port = &f->switches[i].ports[p];
			uint16_t host = 0;

			if (f->nhosts != 0 && port->number != 0 && !port->leads_to_known)
				host = *host_slot(f, port->peer);
			count += host != 0 && ++ports_of[host - 1] == 2;
		}
	for (uint32_t h = 1; h < f->nhosts; h++)
		most = ports_of[h] > ports_of[most] ? h : most;
	if (count > 1)
		snprintf(more, sizeof(more), "; so are %" PRIu32 " more", count - 1);
	if (count != 0)
		log_warning(
			"%s, neighbor of %u ports, has no file and no type in DEVICE_NEIGHBOR_METADATA: it is a host with "
			"that number of NICs%s; of a switch, its config_db.json or its type would be right",
			f->hosts[most], ports_of[most], more);
	free(ports_of);
	return 0;
}

/* Nodes as sets that cables join: switches by number, then hosts. @return the set's first member */
static uint32_t
set_of(uint32_t *sets, uint32_t node)
{
	while (sets[node] != node)
		node = sets[node] = sets[sets[node]];
	return node;
}

/* @return a switch with cables that none leads to from the first such switch; NULL: there is none */
static const struct sonic_switch *
find_separate(const struct fabric *f, uint32_t *sets, const struct sonic_switch **first)
{
	for (uint32_t n = 0; n < f->nswitches + f->nhosts; n++)
		sets[n] = n;
	for (uint32_t c = 0; c < f->ncables; c++) {
		const struct cable *cable = &f->cables[c];
		const struct sonic_switch *b = cable->is_to_switch ? find_switch(f, cable->b) : NULL;
		uint32_t to = b != NULL ? (uint32_t)(b - f->switches) : f->nswitches + *host_slot(f, cable->b) - 1;

		sets[set_of(sets, to)] = set_of(sets, (uint32_t)(cable->a - f->switches));
	}
	for (uint32_t i = 0; i < f->nswitches; i++) {
		if (first_port(&f->switches[i]) == NULL)
			continue;
		*first = *first != NULL ? *first : &f->switches[i];
		if (set_of(sets, i) != set_of(sets, (uint32_t)(*first - f->switches)))
			return &f->switches[i];
	}
	return NULL;
}

/* A fabric is one: switches without a cable are left out, and parts that nothing connects are refused. */
static int
check_connected(const struct fabric *f)
{
	uint32_t *sets = calloc((size_t)f->nswitches + f->nhosts, sizeof(*sets));
	const struct sonic_switch *first = NULL, *separate;

	if (sets == NULL)
		return err_set(f->err, -ENOMEM, "out of memory for %" PRIu32 " switches", f->nswitches);
	if (f->nhalf != 0)
		log_warning("%s: the cable is as that file has it; %" PRIu32 " cable%s in the file of one end alone",
			    f->half, f->nhalf, f->nhalf == 1 ? " is" : "s are");
	for (uint32_t i = 0; i < f->nswitches; i++)
		if (first_port(&f->switches[i]) == NULL)
			log_warning("%s: no port of %s has a cable: the switch is left out", f->switches[i].path,
				    f->switches[i].name);
	separate = find_separate(f, sets, &first);
	free(sets);
	if (separate == NULL)
		return 0;
	return err_set(f->err, -EINVAL,
		       "%s: no cable or switch connects %s and %s: the files of the switches between them, or "
		       "DEVICE_NEIGHBOR with the ports that lead there, would be right",
		       separate->path, first->name, separate->name);
}

static int
connect_all(struct fabric *f)
{
	bool named = names_neighbors(f);
	uint16_t *used = calloc(f->nswitches, sizeof(*used));
	int ret = used != NULL ? 0 : err_set(f->err, -ENOMEM, "out of memory for %" PRIu32 " switches", f->nswitches);

	if (!named)
		log_warning("no DEVICE_NEIGHBOR: every port that is up leads to a separate host");
	for (uint32_t i = 0; ret == 0 && i < f->nswitches; i++) {
		struct sonic_switch *at = &f->switches[i];

		for (uint32_t p = 0; ret == 0 && p < at->nports; p++) {
			struct sonic_port *port = &at->ports[p];

			if (!port->up || port->number != 0 || (named && port->peer[0] == '\0'))
				continue;
			if (!named)
				snprintf(port->peer, sizeof(port->peer), "%.*s-%.*s", 16, at->name, 14, port->name);
			ret = connect_port(f, at, port, used);
		}
	}
	for (uint32_t i = 0; ret == 0 && i < f->nswitches; i++)
		warn_of_unconnected(&f->switches[i]);
	for (uint32_t i = 0; ret == 0 && i < f->nswitches; i++)
		if (used[i] > TOPO_MAX_PORTS)
			ret = err_set(f->err, -EINVAL, "%s: more than %d ports with cables", f->switches[i].path,
				      TOPO_MAX_PORTS);
	if (ret == 0 && f->ncables == 0)
		ret = err_set(f->err, -EINVAL,
			      "%s: no port is up and has a neighbor: DEVICE_NEIGHBOR and admin_status \"up\" "
			      "would be right",
			      f->switches[0].path);
	if (ret == 0 && !named && f->nswitches > 1)
		ret = err_set(f->err, -EINVAL,
			      "%s: no file has a DEVICE_NEIGHBOR, and nothing connects %s and %s: DEVICE_NEIGHBOR with the "
			      "ports between them, or one file, would be right",
			      f->switches[0].path, f->switches[0].name, f->switches[1].name);
	free(used);
	ret = ret == 0 ? warn_of_unknown(f) : ret;
	return ret == 0 ? check_connected(f) : ret;
}

/* RoCE data that its DSCP leads to a queue without PFC, where another DSCP leads to one with PFC. */
static void
warn_of_dscp(const struct fabric *f)
{
	for (uint32_t i = 0; i < f->nswitches; i++)
		for (uint32_t p = 0; p < f->switches[i].nports; p++) {
			const struct sonic_port *port = &f->switches[i].ports[p];

			if (port->number == 0 || port->settings.lossless_dscp == SONIC_NONE)
				continue;
			log_warning(
				"%s: PORT_QOS_MAP.%s: DSCP %u, of RoCE data, is in queue %u, which has no PFC, and DSCP "
				"%u is in one that has: if that is RoCE's in this network, --dscp %u would be right",
				f->switches[i].path, port->name, f->common.dscp, port->settings.roce_class,
				port->settings.lossless_dscp, port->settings.lossless_dscp);
			return;
		}
}

/* Chooses the class of data by a majority of ports, and the strict classes of the first port for all. */
static void
choose_classes(struct fabric *f)
{
	uint32_t votes[SONIC_CLASSES] = { 0 }, others = 0, at = 0, from = 0;
	const struct sonic_port *first = NULL, *other = NULL;

	for (uint32_t i = 0; i < f->nswitches; i++)
		for (uint32_t p = 0; p < f->switches[i].nports; p++) {
			const struct sonic_port *port = &f->switches[i].ports[p];
			uint8_t class = port->settings.roce_class, strict = port->settings.strict & 0xfe;

			if (port->number == 0)
				continue;
			f->taken |= port->settings.lossless;
			if (class != SONIC_NONE && class != 0) {
				votes[class]++;
				f->taken |= (uint8_t)(1u << class);
			}
			if (first == NULL) {
				first = port;
				from = i;
				f->strict = strict;
			} else if (strict != f->strict && others++ == 0) {
				other = port;
				at = i;
			}
		}
	if (other != NULL)
		log_warning("%s: %s, the first of %" PRIu32
			    " ports, has other strict queues than the first of all ports, %s of "
			    "%s: it gets those, as switch.strict is of all switches",
			    f->switches[at].path, other->name, others, first->name, f->switches[from].path);
	f->data_class = 3;
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		f->data_class = votes[c] > votes[f->data_class] ? c : f->data_class;
}

/* Writing. */

static void
write_topology(const struct fabric *f, FILE *to)
{
	uint32_t count = 0;

	fprintf(to, "topology = {\n  kind = \"explicit\";\n  hosts = [");
	for (uint32_t i = 0; i < f->nhosts; i++)
		fprintf(to, "%s%s\"%s\"", i != 0 ? "," : "", i % 8 == 0 ? "\n    " : " ", f->hosts[i]);
	fprintf(to, "\n  ];\n  switches = [");
	for (uint32_t i = 0; i < f->nswitches; i++)
		if (first_port(&f->switches[i]) != NULL) {
			fprintf(to, "%s%s\"%s\"", count != 0 ? "," : "", count % 8 == 0 ? "\n    " : " ",
				f->switches[i].name);
			count++;
		}
	fprintf(to, "\n  ];\n  links = (\n");
	for (uint32_t i = 0; i < f->ncables; i++) {
		const struct cable *cable = &f->cables[i];

		fprintf(to, "    \"%s %s %" PRIu64 "Mbps %" PRIu64 "ps\"%s\n", cable->a->name, cable->b, cable->rate_mbps,
			(uint64_t)cable->length_m * PS_PER_M, i + 1 < f->ncables ? "," : "");
	}
	fprintf(to, "  );\n};\n\n");
}

static bool
same_settings(const struct sonic_settings *a, const struct sonic_settings *b)
{
	struct sonic_settings x = *a, y = *b;

	x.mtu = y.mtu = 0;                     /* a port's alone */
	x.lossless_dscp = y.lossless_dscp = 0; /* of a warning */
	return memcmp(&x, &y, sizeof(x)) == 0;
}

static void
write_switches(const struct fabric *f, FILE *to)
{
	const char *comma = "";

	fprintf(to, "switches = (");
	for (uint32_t i = 0; i < f->nswitches; i++) {
		const struct sonic_switch *at = &f->switches[i];
		const struct sonic_port *first = first_port(at);

		if (first == NULL)
			continue;
		fprintf(to, "%s\n  {\n    names = [ \"%s\" ]; // %s\n", comma, at->name, at->path);
		if (at->npools != 0)
			sonic_write_pools(at, to);
		sonic_write_settings(at, &first->settings, f->data_class, to);
		fprintf(to, "  }");
		comma = ",";
	}
	fprintf(to, "\n);\n\n");
}

/* A group of ports of a switch with settings that are not the switch's, or with an MTU. @return ports written */
static void
write_ports_like(const struct fabric *f, const struct sonic_switch *at, uint32_t from, bool *done, const char **comma,
		 FILE *to)
{
	const struct sonic_settings *s = &at->ports[from].settings;
	const char *between = "";

	fprintf(to, "%s\n  {\n    names = [", *comma);
	for (uint32_t p = from; p < at->nports; p++) {
		const struct sonic_port *port = &at->ports[p];

		if (port->number == 0 || done[p] || port->settings.mtu != s->mtu || !same_settings(&port->settings, s))
			continue;
		done[p] = true;
		fprintf(to, "%s \"%s:%u\"", between, at->name, port->number);
		between = ",";
	}
	fprintf(to, " ];\n");
	if (s->mtu != 0)
		fprintf(to, "    mtu = %u;\n", s->mtu);
	if (!same_settings(s, &first_port(at)->settings))
		sonic_write_settings(at, s, f->data_class, to);
	fprintf(to, "  }");
	*comma = ",";
}

static void
write_ports(const struct fabric *f, FILE *to)
{
	const char *comma = "";

	fprintf(to, "ports = (");
	for (uint32_t i = 0; i < f->nswitches; i++) {
		const struct sonic_switch *at = &f->switches[i];
		const struct sonic_port *first = first_port(at);
		bool done[SONIC_PORTS] = { false };

		for (uint32_t p = 0; p < at->nports; p++)
			if (at->ports[p].number != 0 && !done[p] &&
			    (at->ports[p].settings.mtu != 0 || !same_settings(&at->ports[p].settings, &first->settings)))
				write_ports_like(f, at, p, done, &comma, to);
	}
	fprintf(to, "\n);\n\n");
}

/* The class of data; CNPs leave the class that profiles of NICs give them where it is another's. */
static void
write_hosts(const struct fabric *f, FILE *to)
{
	bool others = f->data_class != 3, taken = f->taken >> CNP_CLASS & 1;

	if (!others && !taken)
		return;
	fprintf(to, "host = {");
	if (others)
		fprintf(to, " data_prio = %u;", f->data_class);
	if (taken)
		fprintf(to, " dcqcn = { cnp_prio = 0; };");
	fprintf(to, " };\n\n");
}

/* All switches, and headroom by rate and cable where files have it without pools. */
static void
write_all(const struct fabric *f, FILE *to)
{
	const char *comma = "";
	bool pools = false;

	for (uint32_t i = 0; i < f->nswitches; i++)
		pools |= f->switches[i].npools != 0;
	fprintf(to, "switch = {\n  ecn = { enabled = false; scales = false; }; // by wred alone\n  strict = [");
	for (uint8_t c = 1; c < SONIC_CLASSES; c++)
		if (f->strict >> c & 1) {
			fprintf(to, "%s \"%u\"", comma, c);
			comma = ",";
		}
	fprintf(to, " ];\n");
	for (uint32_t i = 0; !pools && i < f->common.nrows; i++) {
		const struct sonic_row *row = &f->common.rows[i];

		fprintf(to, "%s    \"%" PRIu64 "Mbps %" PRIu32 "m %" PRIu64 "\"%s\n",
			i == 0 ? "  pfc = { headrooms = [\n" : "", row->rate_mbps, row->length_m, row->xoff_bytes,
			i + 1 < f->common.nrows ? "," : "\n  ]; };");
	}
	fprintf(to, "};\n\n");
	write_hosts(f, to);
}

static void
write_scenario(const struct fabric *f, FILE *to)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->nswitches; i++)
		count += first_port(&f->switches[i]) != NULL;
	fprintf(to,
		"// Made by rocelab import sonic: %" PRIu32 " switches, %" PRIu32 " hosts, %" PRIu32
		" cables.\n// Its traffic is an example: give flows, collectives or jobs.\n\n",
		count, f->nhosts, f->ncables);
	write_topology(f, to);
	write_all(f, to);
	write_switches(f, to);
	write_ports(f, to);
	if (f->nhosts > 1)
		fprintf(to, "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"1MB\"; } );\n");
}

int
sonic_import(const struct sonic_files *files, FILE *to, struct err *err)
{
	struct fabric *f = calloc(1, sizeof(*f));
	int ret;

	if (f == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	f->err = err;
	ret = read_all(f, files);
	ret = ret == 0 ? connect_all(f) : ret;
	if (ret == 0) {
		choose_classes(f);
		warn_of_dscp(f);
		sonic_warn_of_left(f->common.left);
		write_scenario(f, to);
	}
	for (uint32_t i = 0; f->switches != NULL && i < f->nswitches; i++)
		sonic_switch_fini(&f->switches[i]);
	for (uint32_t i = 0; i < f->nsources; i++)
		free(f->sources[i].label);
	json_decref(f->common.tables);
	json_decref(f->common.origins);
	free(f->sources);
	free(f->switches);
	free(f->cables);
	free(f->hosts);
	free(f->host_slots);
	free(f);
	return ret;
}
