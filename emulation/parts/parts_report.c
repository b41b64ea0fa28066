/* SPDX-License-Identifier: BSD-3-Clause */
/* What a part knows of its own nodes alone goes to the first, which puts it into its files (emulation/outputs/output_parts.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/plain.h"
#include "emulation/outputs/outputs.h"
#include "emulation/parts/parts_state.h"

#define REPORT_BYTES (64u * 1024 * 1024)
#define CLOCK_ERROR "clock_error_ns"
#define MAX_CLOCK_ERROR_NS 60000000000 /* longer is no round trip waited for */

void
parts_report(struct parts *parts)
{
	json_t *root = output_part(parts->emulation);
	uint64_t clock_ns = parts->emulation->part->ops->clock_error_ns(parts);
	char *text = root != NULL && json_object_set_new(root, CLOCK_ERROR, json_integer((json_int_t)clock_ns)) == 0
			     ? json_dumps(root, JSON_COMPACT)
			     : NULL;
	size_t size;

	json_decref(root);
	if (text == NULL)
		log_fatal("out of memory for a report to part 0");
	size = strlen(text);
	for (size_t at = 0; at < size; at += PARTS_MAX_BODY)
		channel_put(&parts->peers[0].channel, PARTS_REPORT, text + at, min_u64(PARTS_MAX_BODY, size - at), NULL, 0);
	free(text);
}

uint64_t
parts_told_clock_ns(const json_t *told)
{
	return (uint64_t)json_integer_value(json_object_get(told, CLOCK_ERROR));
}

static int
check_clock(const json_t *told, struct err *err)
{
	const json_t *error = json_object_get(told, CLOCK_ERROR);

	if (json_is_integer(error) && json_integer_value(error) >= 0 && json_integer_value(error) <= MAX_CLOCK_ERROR_NS)
		return 0;
	return err_set(err, -EPROTO, "REPORT: " CLOCK_ERROR " is no time of up to a minute");
}

int
parts_report_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct part_peer *peer = &parts->peers[from];

	if (parts->which != 0 || peer->report_bytes + message->size > REPORT_BYTES)
		return err_set(err, -EPROTO, "REPORT of more than %u B", parts->which != 0 ? 0 : REPORT_BYTES);
	peer->report =
		grow(peer->report, &peer->report_cap, peer->report_bytes + message->size, 1, "reports of other parts");
	memcpy(peer->report + peer->report_bytes, message->body, message->size);
	peer->report_bytes += message->size;
	return 0;
}

/* An invariant that does not hold is told at once: the exit code says no more than that one does not. */
static void
look(struct parts *parts, uint32_t from)
{
	const json_t *list = json_object_get(json_object_get(parts->peers[from].told, "run"), "invariants"), *entry;
	char text[256];
	size_t i;

	json_array_foreach(list, i, entry) if (json_is_false(json_object_get(entry, "holds")))
	{
		plain_text(json_string_value(json_object_get(entry, "text")), text, sizeof(text));
		log_error("part %u: an invariant does not hold: %s", from, text);
		parts->peers[from].violates = true;
	}
}

int
parts_done_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct part_peer *peer = &parts->peers[from];
	json_error_t error;

	(void)message;
	if (parts->which != 0 || peer->done)
		return err_set(err, -EPROTO, "DONE is for part 0, once");
	peer->told =
		json_loadb(peer->report != NULL ? peer->report : "", peer->report_bytes, JSON_REJECT_DUPLICATES, &error);
	if (peer->told == NULL)
		return err_set(err, -EPROTO, "REPORT: %s, at byte %d", error.text, error.position);
	if (check_clock(peer->told, err) < 0 ||
	    output_part_check(parts->emulation, parts->part_of, from, peer->told, err) < 0) {
		json_decref(peer->told);
		peer->told = NULL;
		return -EPROTO;
	}
	look(parts, from);
	peer->done = true;
	return 0;
}
