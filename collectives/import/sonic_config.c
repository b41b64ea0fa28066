/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/sonic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/units.h"

#define MAX_MTU 65535
#define DEFAULT_LENGTH_M 40 /* of a cable without one, or of 0 m */
#define KEY_BYTES 16384     /* of one: names of many ports */
#define SHOWN_BYTES 96      /* of a text in a message */
#define MAX_CLASS 15        /* of traffic classes; those from SONIC_CLASSES on carry nothing here */
#define MAX_EXPONENT 8      /* of dynamic_th */

struct reader {
	const json_t *config;
	const struct sonic_common *common;
	struct sonic_switch *at;
	struct err *err;
};

/* An entry of a table: "BUFFER_PG" "Ethernet0|3-4". */
struct entry {
	const char *file, *table, *key;
	const json_t *fields;
};

/* @param field  NULL: the entry itself. @return -EINVAL with err set: file, place in the JSON, and what is wrong */
static int fail(const struct reader *r, const struct entry *entry, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int
fail(const struct reader *r, const struct entry *entry, const char *field, const char *fmt, ...)
{
	char text[256], key[SHOWN_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(r->err, -EINVAL, "%s: %s.%s%s%s: %s", entry->file, entry->table,
		       printable_text(entry->key, key, sizeof(key)), field != NULL ? "." : "", field != NULL ? field : "",
		       text);
}

/* A table of the switch, else of all. @param entry  its file and name are set. @return NULL: there is none */
static json_t *
table_of(const struct reader *r, const char *name, struct entry *entry)
{
	json_t *own = json_object_get(r->config, name);

	*entry = (struct entry){ .file = own != NULL ? r->at->path
						     : json_string_value(json_object_get(r->common->origins, name)),
				 .table = name };
	return own != NULL ? own : json_object_get(r->common->tables, name);
}

/* Calls a function for each entry of a table, which may not be there. */
static int
each(const struct reader *r, const char *name, int (*read)(const struct reader *r, const struct entry *entry))
{
	struct entry entry;
	json_t *table = table_of(r, name, &entry), *fields;
	int ret = 0;

	json_object_foreach(table, entry.key, fields) {
		entry.fields = fields;
		if (json_typeof(fields) != JSON_OBJECT)
			return fail(r, &entry, NULL, "an object of fields would be right");
		ret = read(r, &entry);
		if (ret != 0)
			return ret;
	}
	return ret;
}

/* Blanks around the digits, which SONiC's stoul() skips, too. */
static bool
parse_padded(const char *text, uint64_t max, uint64_t *value)
{
	static const char blanks[] = " \t\r\n";
	const char *from = text + strspn(text, blanks);
	size_t length = strcspn(from, blanks);
	char digits[32];

	if (length >= sizeof(digits) || from[length + strspn(from + length, blanks)] != '\0')
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)length, from);
	return number_parse(digits, 0, max, value);
}

/* "123", or 123. @return 1: it is there, 0: it is not, or -EINVAL */
static int
number(const struct reader *r, const struct entry *entry, const char *field, uint64_t max, uint64_t *value)
{
	const json_t *found = json_object_get(entry->fields, field);
	const char *text = json_string_value(found);
	char shown[SHOWN_BYTES];

	if (found == NULL)
		return 0;
	if (json_typeof(found) == JSON_INTEGER && json_integer_value(found) >= 0 &&
	    (uint64_t)json_integer_value(found) <= max) {
		*value = (uint64_t)json_integer_value(found);
		return 1;
	}
	if (text != NULL && parse_padded(text, max, value))
		return 1;
	if (text != NULL)
		return fail(r, entry, field, "found \"%s\"; 0 to %" PRIu64 " would be right",
			    printable_text(text, shown, sizeof(shown)), max);
	return fail(r, entry, field, "a number, 0 to %" PRIu64 ", would be right", max);
}

/* Characters that a scenario's text cannot have. */
static bool
is_odd(const char *text)
{
	char name[PLAIN_NAME_BYTES];

	return strpbrk(text, "\"\\\n") != NULL || plain_find_unprintable(text, name);
}

/* A field's text; "": it is not there. References as "[BUFFER_POOL|name]" are names. */
static int
name_of(const struct reader *r, const struct entry *entry, const char *field, char name[SONIC_NAME])
{
	const json_t *found = json_object_get(entry->fields, field);
	const char *text = json_string_value(found), *bar;
	size_t length;

	name[0] = '\0';
	if (found == NULL)
		return 0;
	if (text == NULL)
		return fail(r, entry, field, "a string would be right");
	length = strlen(text);
	bar = text[0] == '[' ? strchr(text, '|') : NULL;
	if (bar != NULL && text[length - 1] == ']') {
		length = (size_t)(text + length - 1 - (bar + 1));
		text = bar + 1;
	}
	if (length >= SONIC_NAME || is_odd(text))
		return fail(r, entry, field, "at most %d printable characters without quotes would be right",
			    SONIC_NAME - 1);
	snprintf(name, SONIC_NAME, "%.*s", (int)length, text);
	return 0;
}

/* A field that is one of two words. @param is_second  out; *is_second keeps its value where there is none */
static int
either(const struct reader *r, const struct entry *entry, const char *field, const char *first, const char *second,
       bool *is_second)
{
	char word[SONIC_NAME];
	int ret = name_of(r, entry, field, word);

	if (ret != 0 || word[0] == '\0')
		return ret;
	*is_second = strcmp(word, second) == 0;
	if (!*is_second && strcmp(word, first) != 0)
		return fail(r, entry, field, "found \"%s\"; \"%s\" or \"%s\" would be right", word, first, second);
	return 0;
}

/* Names of entries that a scenario repeats. */
static int
check_key(const struct reader *r, const struct entry *entry)
{
	if (entry->key[0] != '\0' && strlen(entry->key) < SONIC_NAME && !is_odd(entry->key))
		return 0;
	return fail(r, entry, NULL, "a name of 1 to %d printable characters without quotes would be right", SONIC_NAME - 1);
}

static struct sonic_port *
find_port(const struct sonic_switch *at, const char *name, size_t length)
{
	for (uint32_t i = 0; i < at->nports; i++)
		if (strlen(at->ports[i].name) == length && strncmp(at->ports[i].name, name, length) == 0)
			return &at->ports[i];
	return NULL;
}

/* Ports. */

static int
read_port(const struct reader *r, const struct entry *entry)
{
	struct sonic_switch *at = r->at;
	struct sonic_port *port;
	uint64_t mbps = 0, mtu = 0;
	int ret = check_key(r, entry);

	if (ret != 0)
		return ret;
	if (at->nports == SONIC_PORTS)
		return fail(r, entry, NULL, "a switch has %d ports at most", SONIC_PORTS);
	if (at->nports == at->ports_cap) {
		uint32_t cap = at->ports_cap != 0 ? 2 * at->ports_cap : 32;
		struct sonic_port *grown = realloc(at->ports, cap * sizeof(*grown));

		if (grown == NULL)
			return err_set(r->err, -ENOMEM, "out of memory for ports of %s", at->path);
		at->ports = grown;
		at->ports_cap = cap;
	}
	port = &at->ports[at->nports];
	memset(port, 0, sizeof(*port));
	snprintf(port->name, sizeof(port->name), "%s", entry->key);
	ret = number(r, entry, "speed", SONIC_MAX_MBPS, &mbps);
	if (ret == 0 || (ret == 1 && mbps == 0))
		return fail(r, entry, "speed", "is missing or 0; Mbps, as \"100000\", would be right");
	ret = ret > 0 ? number(r, entry, "mtu", MAX_MTU, &mtu) : ret;
	port->up = true;
	ret = ret >= 0 ? either(r, entry, "admin_status", "down", "up", &port->up) : ret;
	ret = ret == 0 ? either(r, entry, "pfc_asym", "off", "on", &port->settings.asymmetric) : ret;
	ret = ret == 0 ? name_of(r, entry, "alias", port->alias) : ret;
	ret = ret == 0 ? name_of(r, entry, "asic_port_name", port->asic_port) : ret;
	if (ret < 0)
		return ret;
	port->rate_mbps = mbps;
	memset(port->settings.groups, SONIC_NONE, sizeof(port->settings.groups));
	memset(port->settings.queues, SONIC_NONE, sizeof(port->settings.queues));
	memset(port->settings.wreds, SONIC_NONE, sizeof(port->settings.wreds));
	port->settings.roce_class = SONIC_NONE;
	port->settings.lossless_dscp = SONIC_NONE;
	for (uint8_t c = 0; c < SONIC_CLASSES; c++)
		port->group_of[c] = c;
	port->settings.mtu = (uint16_t)mtu;
	at->nports++;
	return 0;
}

/* "Ethernet8" before "Ethernet16". */
static int
compare_ports(const void *a, const void *b)
{
	return strverscmp(((const struct sonic_port *)a)->name, ((const struct sonic_port *)b)->name);
}

static int
read_neighbor(const struct reader *r, const struct entry *entry)
{
	struct sonic_port *port = find_port(r->at, entry->key, strlen(entry->key));
	int ret;

	if (port == NULL)
		return fail(r, entry, NULL, "no such port in PORT");
	ret = name_of(r, entry, "name", port->peer);
	return ret == 0 ? name_of(r, entry, "port", port->peer_port) : ret;
}

/* A neighbor's kind: "SpineRouter", "Server"; "Asic", of the same device. */
static int
read_kind(const struct reader *r, const struct entry *entry)
{
	char type[SONIC_NAME];
	int ret = name_of(r, entry, "type", type);

	for (uint32_t i = 0; ret == 0 && type[0] != '\0' && i < r->at->nports; i++)
		if (strcmp(r->at->ports[i].peer, entry->key) == 0) {
			r->at->ports[i].leads_to_known = true;
			r->at->ports[i].leads_to_switch = strstr(type, "Router") != NULL || strcmp(type, "Asic") == 0;
		}
	return ret;
}

static int
read_lengths(const struct reader *r, const struct entry *entry)
{
	const char *name;
	json_t *length;

	json_object_foreach((json_t *)(uintptr_t)entry->fields, name, length) {
		struct sonic_port *port = find_port(r->at, name, strlen(name));
		const char *text = json_string_value(length), *end;
		char shown[SHOWN_BYTES];
		uint64_t metres;

		end = text != NULL ? number_scan(text, &metres) : NULL;
		if (end == NULL || strcmp(end, "m") != 0 || metres > SONIC_MAX_LENGTH_M)
			return fail(r, entry, printable_text(name, shown, sizeof(shown)),
				    "a length as \"40m\", up to %dm, would be right", SONIC_MAX_LENGTH_M);
		if (port != NULL)
			port->length_m = (uint32_t)metres;
	}
	return 0;
}

/* Pools and profiles. */

static int
read_pool(const struct reader *r, const struct entry *entry)
{
	struct sonic_pool *pool = &r->at->pools[r->at->npools];
	char type[SONIC_NAME], mode[SONIC_NAME];
	int ret = check_key(r, entry);

	ret = ret == 0 ? name_of(r, entry, "type", type) : ret;
	ret = ret == 0 ? name_of(r, entry, "mode", mode) : ret;
	if (ret != 0)
		return ret;
	if (strcmp(type, "ingress") != 0 && strcmp(type, "egress") != 0 && strcmp(type, "both") != 0)
		return fail(r, entry, "type", "found \"%s\"; \"ingress\" or \"egress\" would be right", type);
	if (strcmp(mode, "dynamic") != 0 && strcmp(mode, "static") != 0)
		return fail(r, entry, "mode", "found \"%s\"; \"dynamic\" or \"static\" would be right", mode);
	if (r->at->npools == SONIC_POOLS)
		return fail(r, entry, NULL, "a switch has %d pools at most", SONIC_POOLS);
	*pool = (struct sonic_pool){ .egress = strcmp(type, "egress") == 0,
				     .is_static = strcmp(mode, "static") == 0,
				     .both = strcmp(type, "both") == 0 };
	snprintf(pool->name, sizeof(pool->name), "%s", entry->key);
	ret = number(r, entry, "size", SONIC_MAX_BUFFER, &pool->size_bytes);
	pool->has_size = ret == 1;
	ret = ret >= 0 ? number(r, entry, "xoff", SONIC_MAX_BUFFER, &pool->xoff_bytes) : ret;
	r->at->npools++;
	return ret < 0 ? ret : 0;
}

/* NVIDIA's switches count the headroom in the size. */
static uint64_t
guaranteed(uint64_t size_bytes, uint64_t xoff_bytes)
{
	return size_bytes >= xoff_bytes ? size_bytes - xoff_bytes : size_bytes;
}

static int
threshold(const struct reader *r, const struct entry *entry, int32_t *exponent)
{
	const json_t *found = json_object_get(entry->fields, "dynamic_th");
	const char *text = json_string_value(found);
	bool negative = text != NULL && text[0] == '-';
	uint64_t value = 0;

	*exponent = 0;
	if (found == NULL)
		return 0;
	if (json_typeof(found) == JSON_INTEGER && json_integer_value(found) >= -127 && json_integer_value(found) <= 127) {
		*exponent = (int32_t)json_integer_value(found);
		return 0;
	}
	if (text == NULL || !number_parse(text + negative, 0, 127, &value))
		return fail(r, entry, "dynamic_th", "a power of 2, \"-8\" to \"8\", would be right");
	*exponent = negative ? -(int32_t)value : (int32_t)value;
	return 0;
}

static int
add_profile(const struct reader *r, const struct entry *entry, const struct sonic_profile *profile)
{
	struct sonic_profile *added;

	if (r->at->nprofiles == SONIC_PROFILES)
		return fail(r, entry, NULL, "a switch has %d profiles at most", SONIC_PROFILES);
	added = &r->at->profiles[r->at->nprofiles++];
	*added = *profile;
	added->dynamic_th = profile->dynamic_th < -MAX_EXPONENT  ? -MAX_EXPONENT
			    : profile->dynamic_th > MAX_EXPONENT ? MAX_EXPONENT
								 : profile->dynamic_th;
	if (added->dynamic_th != profile->dynamic_th)
		log_warning("%s: %s.%s: a threshold of 2^%d; 2^%d, the nearest that a switch has here, is taken",
			    entry->file, entry->table, entry->key, profile->dynamic_th, added->dynamic_th);
	return 0;
}

static uint8_t
find_pool(const struct sonic_switch *at, const char *name)
{
	for (uint32_t i = 0; i < at->npools; i++)
		if (strcmp(at->pools[i].name, name) == 0)
			return (uint8_t)i;
	return SONIC_NONE;
}

static int
read_profile(const struct reader *r, const struct entry *entry)
{
	struct sonic_profile profile = { .pool = SONIC_NONE };
	char pool[SONIC_NAME];
	int ret = check_key(r, entry);

	ret = ret == 0 ? name_of(r, entry, "pool", pool) : ret;
	if (ret != 0)
		return ret;
	profile.pool = find_pool(r->at, pool);
	if (profile.pool == SONIC_NONE)
		return fail(r, entry, "pool", "found \"%s\"; the name of a BUFFER_POOL would be right", pool);
	snprintf(profile.name, sizeof(profile.name), "%s", entry->key);
	ret = number(r, entry, "size", SONIC_MAX_BUFFER, &profile.size_bytes);
	ret = ret >= 0 ? number(r, entry, "xon", SONIC_MAX_BUFFER, &profile.xon_bytes) : ret;
	ret = ret >= 0 ? number(r, entry, "xon_offset", SONIC_MAX_BUFFER, &profile.xon_offset_bytes) : ret;
	ret = ret >= 0 ? number(r, entry, "xoff", SONIC_MAX_BUFFER, &profile.xoff_bytes) : ret;
	ret = ret >= 0 ? number(r, entry, "static_th", SONIC_MAX_BUFFER, &profile.static_th_bytes) : ret;
	ret = ret >= 0 ? threshold(r, entry, &profile.dynamic_th) : ret;
	if (ret < 0)
		return ret;
	if (json_object_get(entry->fields, "static_th") != NULL && json_object_get(entry->fields, "dynamic_th") != NULL)
		return fail(r, entry, "static_th", "found %" PRIu64 " beside dynamic_th; one threshold would be right",
			    profile.static_th_bytes);
	profile.is_static = json_object_get(entry->fields, "static_th") != NULL ||
			    (json_object_get(entry->fields, "dynamic_th") == NULL && r->at->pools[profile.pool].is_static);
	profile.size_bytes = guaranteed(profile.size_bytes, profile.xoff_bytes);
	return add_profile(r, entry, &profile);
}

/* Rows by port and class: "Ethernet0,Ethernet4|3-4". */

/*
 * What a row gives each of its ports and classes. @param index  a number of the switch's, or SONIC_NONE
 * @return false: another row has given it another
 */
typedef bool (*put_row)(struct sonic_settings *settings, uint8_t class, uint8_t index);

static int
put_rows(const struct reader *r, const struct entry *entry, put_row put, uint8_t index)
{
	bool groups = strcmp(entry->table, "BUFFER_PG") == 0;
	struct sonic_key key = { .from = 0 };
	const char *name = entry->key;

	if (strlen(entry->key) >= KEY_BYTES || !sonic_parse_key(entry->key, &key) ||
	    key.to >= (groups ? SONIC_CLASSES : SONIC_QUEUES))
		return fail(r, entry, NULL, "ports and %s, as \"Ethernet0,Ethernet4|3-4\", would be right",
			    groups ? "priority groups 0 to 7" : "queues 0 to 19");
	while (name < key.bar) {
		size_t length = min_u64(strcspn(name, ","), (uint64_t)(key.bar - name));
		struct sonic_port *port = find_port(r->at, name, length);

		if (port == NULL && entry->file == r->at->path)
			return fail(r, entry, NULL, "no such port in PORT");
		for (uint32_t class = key.from; port != NULL && class <= key.to && class < SONIC_CLASSES; class ++)
			if (!put(&port->settings, (uint8_t) class, index))
				return fail(
					r, entry, NULL,
					"another row of %s has %s and %u, too, with another value: one row would be right",
					entry->table, port->name, class);
		name += length + 1;
	}
	return 0;
}

static bool
put(uint8_t *at, uint8_t index, uint8_t none)
{
	uint8_t before = *at;

	*at = index != none ? index : before;
	return before == none || index == none || before == index;
}

static bool
put_group(struct sonic_settings *settings, uint8_t class, uint8_t index)
{
	return put(&settings->groups[class], index, SONIC_NONE);
}

static bool
put_queue(struct sonic_settings *settings, uint8_t class, uint8_t index)
{
	return put(&settings->queues[class], index, SONIC_NONE);
}

static bool
put_wred(struct sonic_settings *settings, uint8_t class, uint8_t index)
{
	return put(&settings->wreds[class], index, SONIC_NONE);
}

static bool
put_weight(struct sonic_settings *settings, uint8_t class, uint8_t index)
{
	return put(&settings->weights[class], index, 0) && (settings->strict >> class & 1) == 0;
}

static bool
put_strict(struct sonic_settings *settings, uint8_t class, uint8_t index)
{
	(void)index;
	settings->strict |= (uint8_t)(1u << class);
	return settings->weights[class] == 0;
}

/* NVIDIA's switches have a pool of 0 B, of which ports without a cable are. */
static bool
has_no_room(const struct sonic_switch *at, uint8_t profile)
{
	const struct sonic_pool *pool = &at->pools[at->profiles[profile].pool];

	return pool->has_size && pool->size_bytes == 0;
}

/* @param egress  the pools that are right  @param index  SONIC_NONE for "NULL": SONiC computes it from cable and speed */
static int
find_profile(const struct reader *r, const struct entry *entry, bool egress, uint8_t *index)
{
	char name[SONIC_NAME];
	int ret = name_of(r, entry, "profile", name);

	*index = SONIC_NONE;
	if (ret != 0 || strcmp(name, "NULL") == 0 || r->at->npools == 0)
		return ret;
	for (uint32_t i = 0; i < r->at->nprofiles; i++)
		if (strcmp(r->at->profiles[i].name, name) == 0)
			*index = (uint8_t)i;
	if (*index == SONIC_NONE)
		return fail(r, entry, "profile", "found \"%s\"; the name of a BUFFER_PROFILE would be right", name);
	if (egress && r->at->pools[r->at->profiles[*index].pool].both) {
		if (!r->at->has_warned_of_both)
			log_warning("%s: %s.%s.profile: \"%s\" is of a pool for ingress and egress, which bounds groups "
				    "alone here",
				    entry->file, entry->table, entry->key, name);
		r->at->has_warned_of_both = true;
		*index = SONIC_NONE;
		return 0;
	}
	if (r->at->pools[r->at->profiles[*index].pool].egress != egress) {
		sonic_note(&r->at->wrong_side, entry->file, entry->table, entry->key, "profile",
			   json_object_get(entry->fields, "profile"));
		*index = SONIC_NONE;
	} else if (has_no_room(r->at, *index)) {
		*index = SONIC_NONE;
	}
	return 0;
}

static int
read_group(const struct reader *r, const struct entry *entry)
{
	uint8_t index;
	int ret = find_profile(r, entry, false, &index);

	return ret == 0 ? put_rows(r, entry, put_group, index) : ret;
}

static int
read_queue_profile(const struct reader *r, const struct entry *entry)
{
	uint8_t index;
	int ret = find_profile(r, entry, true, &index);

	return ret == 0 ? put_rows(r, entry, put_queue, index) : ret;
}

/* ECN, scheduling. */

static int
read_wred(const struct reader *r, const struct entry *entry)
{
	struct sonic_wred *wred = &r->at->wreds[r->at->nwreds];
	uint64_t percent = 100;
	char ecn[SONIC_NAME];
	int ret = check_key(r, entry);

	ret = ret == 0 ? name_of(r, entry, "ecn", ecn) : ret;
	if (ret != 0)
		return ret;
	if (ecn[0] != '\0' && strcmp(ecn, "ecn_none") != 0 && strcmp(ecn, "ecn_all") != 0 &&
	    strncmp(ecn, "ecn_green", 9) != 0 && strncmp(ecn, "ecn_yellow", 10) != 0 && strcmp(ecn, "ecn_red") != 0)
		return fail(r, entry, "ecn", "found \"%s\"; \"ecn_all\", \"ecn_none\" or colors would be right", ecn);
	if (strcmp(ecn, "ecn_all") != 0 && strncmp(ecn, "ecn_green", 9) != 0) {
		log_warning("%s: WRED_PROFILE.%s: ecn \"%s\" drops instead of marking: it is left out", entry->file,
			    entry->key, ecn);
		return 0;
	}
	if (r->at->nwreds == SONIC_WREDS)
		return fail(r, entry, NULL, "a switch has %d WRED profiles at most", SONIC_WREDS);
	memset(wred, 0, sizeof(*wred));
	snprintf(wred->name, sizeof(wred->name), "%s", entry->key);
	ret = number(r, entry, "green_min_threshold", SONIC_MAX_BUFFER, &wred->kmin_bytes);
	ret = ret >= 0 ? number(r, entry, "green_max_threshold", SONIC_MAX_BUFFER, &wred->kmax_bytes) : ret;
	ret = ret >= 0 ? number(r, entry, "green_drop_probability", 100, &percent) : ret;
	if (ret < 0)
		return ret;
	if (wred->kmin_bytes > wred->kmax_bytes)
		return fail(r, entry, "green_min_threshold",
			    "found %" PRIu64 "; at most green_max_threshold, %" PRIu64 ", would be right", wred->kmin_bytes,
			    wred->kmax_bytes);
	wred->pmax = (double)percent / 100;
	r->at->nwreds++;
	return 0;
}

static int
read_scheduler(const struct reader *r, const struct entry *entry, const char *name)
{
	struct entry scheduler;
	const json_t *table = table_of(r, "SCHEDULER", &scheduler);
	uint64_t weight = 1;
	char type[SONIC_NAME];
	int ret;

	scheduler.key = name;
	scheduler.fields = json_object_get(table, name);
	if (scheduler.fields == NULL)
		return fail(r, entry, "scheduler", "found \"%s\"; the name of a SCHEDULER would be right", name);
	ret = name_of(r, &scheduler, "type", type);
	ret = ret == 0 ? number(r, &scheduler, "weight", 255, &weight) : ret;
	if (ret < 0)
		return ret;
	if (type[0] != '\0' && strcmp(type, "STRICT") != 0 && strcmp(type, "DWRR") != 0 && strcmp(type, "WRR") != 0)
		return fail(r, &scheduler, "type", "found \"%s\"; \"DWRR\", \"WRR\" or \"STRICT\" would be right", type);
	if (strcmp(type, "STRICT") == 0)
		return put_rows(r, entry, put_strict, 0);
	if (weight == 0)
		return fail(r, &scheduler, "weight", "found 0; 1 to 255 would be right");
	return put_rows(r, entry, put_weight, (uint8_t)weight);
}

static int
read_queue(const struct reader *r, const struct entry *entry)
{
	char wred[SONIC_NAME], scheduler[SONIC_NAME];
	struct entry profile;
	const json_t *profiles = table_of(r, "WRED_PROFILE", &profile);
	int ret = name_of(r, entry, "wred_profile", wred);

	if (ret == 0 && wred[0] != '\0' && json_object_get(profiles, wred) == NULL)
		return fail(r, entry, "wred_profile", "found \"%s\"; the name of a WRED_PROFILE would be right", wred);

	ret = ret == 0 ? name_of(r, entry, "scheduler", scheduler) : ret;
	for (uint32_t i = 0; ret == 0 && wred[0] != '\0' && i < r->at->nwreds; i++)
		if (strcmp(r->at->wreds[i].name, wred) == 0)
			ret = put_rows(r, entry, put_wred, (uint8_t)i);
	return ret == 0 && scheduler[0] != '\0' ? read_scheduler(r, entry, scheduler) : ret;
}

/* Class maps and PFC. */

/* Numbers up to max_key, each to a number. */
static int
check_map(const struct reader *r, const struct entry *entry, uint64_t max_key)
{
	const char *name;
	json_t *found;
	int ret = 0;

	json_object_foreach((json_t *)(uintptr_t)entry->fields, name, found) {
		char shown[SHOWN_BYTES];
		uint64_t key, value;

		if (!number_parse(name, 0, max_key, &key))
			return fail(r, entry, printable_text(name, shown, sizeof(shown)), "0 to %" PRIu64 " would be right",
				    max_key);
		ret = number(r, entry, name, MAX_CLASS, &value);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int
check_dscp_map(const struct reader *r, const struct entry *entry)
{
	return check_map(r, entry, 63);
}

static int
check_class_map(const struct reader *r, const struct entry *entry)
{
	return check_map(r, entry, MAX_CLASS);
}

/* Looks a number up in the map that a field names. @return 0 or -EINVAL; *value stays as it is without such a map */
static int
look_up(const struct reader *r, const struct entry *entry, const char *field, const char *table_name, uint64_t key,
	uint64_t *value)
{
	struct entry map;
	const json_t *table = table_of(r, table_name, &map);
	char name[SONIC_NAME], digits[24];
	int ret = name_of(r, entry, field, name);

	if (ret != 0 || name[0] == '\0')
		return ret;
	map.key = name;
	map.fields = json_object_get(table, name);
	if (map.fields == NULL)
		return fail(r, entry, field, "found \"%s\"; the name of a %s would be right", name, table_name);
	snprintf(digits, sizeof(digits), "%" PRIu64, key);
	ret = number(r, &map, digits, MAX_CLASS, value);
	return ret < 0 ? ret : 0;
}

/* Queues and priority groups of traffic classes: SONiC numbers them apart. A class here has its queue's number. */
static int
read_groups_of(const struct reader *r, const struct entry *entry, struct sonic_port *port)
{
	for (uint64_t tc = SONIC_CLASSES; tc-- > 0;) {
		uint64_t queue = tc, group = tc;
		int ret = look_up(r, entry, "tc_to_queue_map", "TC_TO_QUEUE_MAP", tc, &queue);

		ret = ret == 0 ? look_up(r, entry, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", tc, &group) : ret;
		if (ret != 0)
			return ret;
		if (queue < SONIC_CLASSES && group < SONIC_CLASSES)
			port->group_of[queue] = (uint8_t)group;
	}
	return 0;
}

/* What has the map of DSCPs of a port: its own row, else that of all ports. @param global  filled in */
static const struct entry *
entry_of_dscps(const struct reader *r, const struct entry *entry, struct entry *global)
{
	const json_t *table = table_of(r, "PORT_QOS_MAP", global);

	global->key = "global";
	global->fields = json_object_get(table, "global");
	return json_object_get(entry->fields, "dscp_to_tc_map") != NULL ? entry : global;
}

/* The queue of a DSCP at a port. */
static int
look_up_queue(const struct reader *r, const struct entry *entry, uint32_t dscp, uint64_t *queue)
{
	uint64_t tc = 0;
	struct entry global;
	int ret = look_up(r, entry_of_dscps(r, entry, &global), "dscp_to_tc_map", "DSCP_TO_TC_MAP", dscp, &tc);

	*queue = tc;
	return ret == 0 ? look_up(r, entry, "tc_to_queue_map", "TC_TO_QUEUE_MAP", tc, queue) : ret;
}

/* The lowest DSCP that leads to a class with PFC at a port where that of RoCE data does not. */
static int
find_lossless_dscp(const struct reader *r, const struct entry *entry, struct sonic_settings *settings)
{
	int ret = 0;

	for (uint8_t dscp = 0; ret == 0 && settings->lossless_dscp == SONIC_NONE && dscp < 64; dscp++) {
		uint64_t queue = 0;

		ret = look_up_queue(r, entry, dscp, &queue);
		if (ret == 0 && queue < SONIC_CLASSES && (settings->lossless >> queue & 1) != 0)
			settings->lossless_dscp = dscp;
	}
	return ret;
}

/* "3,4" */
static int
read_classes(const struct reader *r, const struct entry *entry, uint8_t *classes)
{
	char text[SONIC_NAME], *rest = text, *word;
	int ret = name_of(r, entry, "pfc_enable", text);

	while (ret == 0 && (word = strsep(&rest, ",")) != NULL) {
		uint64_t class;

		if (word[0] == '\0')
			continue;
		if (!number_parse(word, 0, SONIC_CLASSES - 1, &class))
			return fail(r, entry, "pfc_enable", "classes 0 to 7, as \"3,4\", would be right");
		if (class == 0)
			log_warning("%s: PORT_QOS_MAP.%s.pfc_enable: class 0 carries control here, without PFC",
				    entry->file, entry->key);
		*classes |= (uint8_t)(1u << class & ~1u);
	}
	return ret;
}

static int
read_maps_of(const struct reader *r, const struct entry *entry, struct sonic_port *port)
{
	struct entry global;
	uint64_t queue;
	int ret = read_classes(r, entry, &port->settings.lossless);

	ret = ret == 0 ? read_groups_of(r, entry, port) : ret;
	if (ret != 0 || json_object_get(entry_of_dscps(r, entry, &global)->fields, "dscp_to_tc_map") == NULL)
		return ret;
	ret = look_up_queue(r, entry, r->common->dscp, &queue);
	if (ret != 0)
		return ret;
	if (queue >= SONIC_CLASSES)
		return fail(r, entry, "tc_to_queue_map", "DSCP %u is in queue %" PRIu64 "; 0 to 7 would be right",
			    r->common->dscp, queue);
	port->settings.roce_class = (uint8_t)queue;
	return (port->settings.lossless >> queue & 1) == 0 ? find_lossless_dscp(r, entry, &port->settings) : 0;
}

static int
read_maps(const struct reader *r, const struct entry *entry)
{
	const char *name = entry->key;
	int ret = 0;

	if (strcmp(name, "global") == 0)
		return 0;
	while (ret == 0 && *name != '\0') {
		size_t length = strcspn(name, ",");
		struct sonic_port *port = find_port(r->at, name, length);

		if (port != NULL)
			ret = read_maps_of(r, entry, port);
		else if (entry->file == r->at->path)
			return fail(r, entry, NULL, "no such port in PORT");
		name += length + (name[length] == ',');
	}
	return ret;
}

/* Ports without a row of their own have the map of all ports. */
static int
read_global_map(const struct reader *r)
{
	struct entry global, none = { .fields = NULL };
	int ret = 0;

	if (json_object_get(entry_of_dscps(r, &none, &global)->fields, "dscp_to_tc_map") == NULL)
		return 0;
	for (uint32_t i = 0; ret == 0 && i < r->at->nports; i++)
		if (r->at->ports[i].settings.roce_class == SONIC_NONE)
			ret = read_maps_of(r, &global, &r->at->ports[i]);
	return ret;
}

static int
read_watchdog(const struct reader *r, const struct entry *entry)
{
	struct sonic_port *port = find_port(r->at, entry->key, strlen(entry->key));
	struct sonic_watchdog watchdog = { .enabled = true };
	uint64_t detection = 200, restoration = 200;
	char action[SONIC_NAME];
	int ret;

	if (port == NULL && strcmp(entry->key, "GLOBAL") != 0 && entry->file == r->at->path)
		return fail(r, entry, NULL, "no such port in PORT");
	if (port == NULL)
		return 0;
	ret = name_of(r, entry, "action", action);
	ret = ret == 0 ? number(r, entry, "detection_time", 1000000, &detection) : ret;
	ret = ret >= 0 ? number(r, entry, "restoration_time", 1000000, &restoration) : ret;
	if (ret < 0)
		return ret;
	if (detection == 0)
		return fail(r, entry, "detection_time", "found 0; milliseconds from 1 on would be right");
	if (action[0] != '\0' && strcmp(action, "drop") != 0 && strcmp(action, "forward") != 0 &&
	    strcmp(action, "alert") != 0)
		return fail(r, entry, "action", "found \"%s\"; \"drop\", \"forward\" or \"alert\" would be right", action);
	snprintf(watchdog.action, sizeof(watchdog.action), "%.7s", action[0] != '\0' ? action : "drop");
	watchdog.detection_ms = (uint32_t)detection;
	watchdog.restoration_ms = (uint32_t)max_u64(restoration, 1);
	port->settings.watchdog = watchdog;
	return 0;
}

/* The threshold of a row is what the pool's mode says: buffermgrd writes it as dynamic_th or static_th. */
static int
put_threshold(const struct reader *r, const struct entry *entry, const struct sonic_row *row, struct sonic_profile *profile)
{
	bool is_static = r->at->pools[profile->pool].is_static;

	if (is_static ? row->threshold < 0 : row->threshold < -127 || row->threshold > 127)
		return fail(r, entry, NULL,
			    "its row of pg_profile_lookup.ini has threshold %" PRId64
			    "; of the %s ingress_lossless_pool %s would be right",
			    row->threshold, is_static ? "static" : "dynamic",
			    is_static ? "bytes" : "a power of 2, -8 to 8,");
	profile->is_static = is_static;
	profile->static_th_bytes = is_static ? (uint64_t)row->threshold : 0;
	profile->dynamic_th = is_static ? 0 : (int32_t)row->threshold;
	return 0;
}

/*
 * The profile that SONiC makes of a row, for a port whose class has PFC and no profile of its own.
 * @param index  out; SONIC_NONE: there is no row
 */
static int
make_profile(const struct reader *r, const struct sonic_port *port, uint8_t *index)
{
	const struct sonic_row *row = NULL;
	struct sonic_profile profile = { .pool = find_pool(r->at, "ingress_lossless_pool") };
	struct entry entry = { .file = r->at->path, .table = "PORT", .key = port->name };
	int ret;

	*index = SONIC_NONE;
	for (uint32_t i = 0; i < r->common->nrows; i++)
		if (r->common->rows[i].rate_mbps == port->rate_mbps && r->common->rows[i].length_m == port->length_m)
			row = &r->common->rows[i];
	if (row == NULL)
		return 0;
	if (profile.pool == SONIC_NONE)
		return fail(r, &entry, NULL, "a BUFFER_POOL ingress_lossless_pool would be right: rows are of it");
	snprintf(profile.name, sizeof(profile.name), "pg_lossless_%" PRIu64 "_%um_profile", row->rate_mbps, row->length_m);
	for (uint32_t i = 0; i < r->at->nprofiles; i++)
		if (strcmp(r->at->profiles[i].name, profile.name) == 0) {
			*index = (uint8_t)i;
			return 0;
		}
	profile.size_bytes = guaranteed(row->size_bytes, row->xoff_bytes);
	profile.xon_bytes = row->xon_bytes;
	profile.xon_offset_bytes = row->xon_offset_bytes;
	profile.xoff_bytes = row->xoff_bytes;
	ret = put_threshold(r, &entry, row, &profile);
	if (ret != 0)
		return ret;
	*index = (uint8_t)r->at->nprofiles;
	return add_profile(r, &entry, &profile);
}

/* SONiC's buffermgrd gives a port no headroom without a row: it pauses nobody. */
static int
complete_groups(const struct reader *r)
{
	char first[2 * SONIC_NAME] = "", more[64] = "";
	uint32_t without = 0;
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < r->at->nports; i++) {
		struct sonic_port *port = &r->at->ports[i];

		for (uint8_t class = 1; ret == 0 && class < SONIC_CLASSES; class ++) {
			uint8_t *group = &port->settings.groups[class];

			if (!port->up || (port->settings.lossless >> class & 1) == 0 || *group != SONIC_NONE)
				continue;
			ret = make_profile(r, port, group);
			if (ret != 0 || *group != SONIC_NONE)
				continue;
			port->settings.lossless &= (uint8_t) ~(1u << class);
			if (without++ == 0)
				snprintf(first, sizeof(first), "%s: class %u (row \"%" PRIu64 " %um\")", port->name, class,
					 port->rate_mbps, port->length_m);
		}
	}
	if (without > 1)
		snprintf(more, sizeof(more), "; so it is at %" PRIu32 " more ports and classes", without - 1);
	if (without != 0)
		log_warning("%s: PORT.%s has PFC and no BUFFER_PG profile, and no pg_profile_lookup.ini has its row: "
			    "SONiC gives it no headroom, and it has no PFC here; a row or a profile would be right%s",
			    r->at->path, first, more);
	return ret;
}

int
sonic_read_switch(const json_t *config, const struct sonic_common *common, struct sonic_switch *at, struct err *err)
{
	static const struct {
		const char *table;
		int (*read)(const struct reader *r, const struct entry *entry);
	} tables[] = {
		{ "DEVICE_NEIGHBOR", read_neighbor },
		{ "DEVICE_NEIGHBOR_METADATA", read_kind },
		{ "CABLE_LENGTH", read_lengths },
		{ "BUFFER_POOL", read_pool },
		{ "BUFFER_PROFILE", read_profile },
		{ "BUFFER_PG", read_group },
		{ "BUFFER_QUEUE", read_queue_profile },
		{ "WRED_PROFILE", read_wred },
		{ "DSCP_TO_TC_MAP", check_dscp_map },
		{ "TC_TO_QUEUE_MAP", check_class_map },
		{ "TC_TO_PRIORITY_GROUP_MAP", check_class_map },
		{ "QUEUE", read_queue },
		{ "PORT_QOS_MAP", read_maps },
		{ "PFC_WD", read_watchdog },
	};
	const struct reader r = { .config = config, .common = common, .at = at, .err = err };
	int ret = each(&r, "PORT", read_port);

	if (ret == 0 && at->nports == 0)
		ret = err_set(err, -EINVAL, "%s: no table PORT: a config_db.json, which has it, would be right", at->path);
	if (ret == 0)
		qsort(at->ports, at->nports, sizeof(*at->ports), compare_ports);
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(tables); i++)
		ret = each(&r, tables[i].table, tables[i].read);
	ret = ret == 0 ? read_global_map(&r) : ret;
	if (ret != 0)
		return ret;
	for (uint32_t p = 0; p < at->nports; p++)
		at->ports[p].length_m = at->ports[p].length_m != 0 ? at->ports[p].length_m : DEFAULT_LENGTH_M;
	sonic_drop_pools_without_size(at);
	if (at->npools == 0)
		return 0;
	sonic_sort_groups(at);
	sonic_warn_of(&at->wrong_side, "a pool's profiles are of its side, of ingress for groups and of egress for queues");
	ret = complete_groups(&r);
	sonic_separate_headroom(at);
	return ret;
}

void
sonic_switch_fini(struct sonic_switch *at)
{
	free(at->ports);
	at->ports = NULL;
}
