/* SPDX-License-Identifier: BSD-3-Clause */
/* What a part knows of its own nodes alone goes to the first, which puts it into its files (emulation/outputs/output_partition.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "emulation/outputs/outputs.h"
#include "emulation/partition/partition_state.h"

#define REPORT_BYTES (64u * 1024 * 1024)
#define CLOCK_ERROR "clock_error_ns"
#define MAX_CLOCK_ERROR_NS 60000000000 /* longer is no round trip waited for */

void
partition_report(struct partitions *partitions)
{
	json_t *root = output_partition(partitions->emulation);
	uint64_t clock_ns = partitions->emulation->partition->ops->clock_error_ns(partitions);
	char *text = root != NULL && json_object_set_new(root, CLOCK_ERROR, json_integer((json_int_t)clock_ns)) == 0
			     ? json_dumps(root, JSON_COMPACT)
			     : NULL;
	size_t size;

	json_decref(root);
	if (text == NULL)
		log_fatal("out of memory for a report to part 0");
	size = strlen(text);
	for (size_t at = 0; at < size; at += PARTITION_MAX_BODY)
		channel_put(&partitions->peers[0].channel, PARTITION_REPORT, text + at,
			    min_u64(PARTITION_MAX_BODY, size - at), NULL, 0);
	free(text);
}

uint64_t
partition_clock_error_ns(const json_t *reported)
{
	return (uint64_t)json_integer_value(json_object_get(reported, CLOCK_ERROR));
}

static int
check_clock(const json_t *reported, struct err *err)
{
	const json_t *error = json_object_get(reported, CLOCK_ERROR);

	if (json_is_integer(error) && json_integer_value(error) >= 0 && json_integer_value(error) <= MAX_CLOCK_ERROR_NS)
		return 0;
	return err_set(err, -EPROTO, "REPORT: " CLOCK_ERROR " is no time of up to a minute");
}

int
partition_recv_report(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];

	if (partitions->which != 0 || peer->report_bytes + message->size > REPORT_BYTES)
		return err_set(err, -EPROTO, "REPORT of more than %u B", partitions->which != 0 ? 0 : REPORT_BYTES);
	peer->report =
		grow(peer->report, &peer->report_cap, peer->report_bytes + message->size, 1, "reports of other parts");
	memcpy(peer->report + peer->report_bytes, message->body, message->size);
	peer->report_bytes += message->size;
	return 0;
}

/* An invariant that does not hold is told at once: the exit code says no more than that one does not. */
static void
look(struct partitions *partitions, uint32_t from)
{
	const json_t *list = json_object_get(json_object_get(partitions->peers[from].reported, "run"), "invariants"),
		     *entry;
	char text[256];
	size_t i;

	json_array_foreach(list, i, entry) if (json_is_false(json_object_get(entry, "holds")))
	{
		printable_text(json_string_value(json_object_get(entry, "text")), text, sizeof(text));
		log_error("part %u: an invariant does not hold: %s", from, text);
		partitions->peers[from].violates = true;
	}
}

int
partition_recv_done(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_peer *peer = &partitions->peers[from];
	json_error_t error;

	(void)message;
	if (partitions->which != 0 || peer->done)
		return err_set(err, -EPROTO, "DONE is for part 0, once");
	peer->reported =
		json_loadb(peer->report != NULL ? peer->report : "", peer->report_bytes, JSON_REJECT_DUPLICATES, &error);
	if (peer->reported == NULL)
		return err_set(err, -EPROTO, "REPORT: %s, at byte %d", error.text, error.position);
	if (check_clock(peer->reported, err) < 0 ||
	    output_partition_check(partitions->emulation, partitions->partition_of, from, peer->reported, err) < 0) {
		json_decref(peer->reported);
		peer->reported = NULL;
		return -EPROTO;
	}
	look(partitions, from);
	peer->done = true;
	return 0;
}
