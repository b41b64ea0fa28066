/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/manage_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/array.h"
#include "common/printable.h"
#include "common/record/limits.h"

#define MAX_NS (RECORD_MAX_PS / 1000)
#define MAX_QPN 0xffffff

static const struct field {
	const char *name;
	enum manage_type type;
	uint16_t at, size; /* bytes */
	uint64_t max;
} fields[] = {
#define FIELD(type_, body, member, most)                                                                                   \
	{                                                                                                                  \
		.name = #type_ "." #member, .type = MANAGE_##type_, .at = offsetof(struct body, member),                   \
		.size = sizeof(((struct body *)0)->member), .max = (most)                                                  \
	}
	FIELD(CONNECTED, manage_connected, reserved, 0),
	FIELD(CONNECTED, manage_connected, clock_error_ns, MAX_NS),
	FIELD(CONNECTED, manage_connected, base_rtt_ns, MAX_NS),
	FIELD(CONNECTED, manage_connected, noise_ns, MAX_NS),
	FIELD(PROGRESS, manage_progress, acked_bytes, RECORD_MAX_COUNT),
	FIELD(PROGRESS, manage_progress, working, 1),
	FIELD(PROGRESS, manage_progress, background, 1),
	FIELD(PROGRESS, manage_progress, sending, 1),
	FIELD(PROGRESS, manage_progress, reserved, 0),
	FIELD(QP, manage_qp, qpn, MAX_QPN),
	FIELD(QP, manage_qp, reserved, 0),
	FIELD(STEP, manage_step, open, 1),
	FIELD(STEP, manage_step, bytes, RECORD_MAX_COUNT),
	FIELD(STEP, manage_step, acked_bytes, RECORD_MAX_COUNT),
	FIELD(STEP, manage_step, start_ps, RECORD_MAX_PS),
	FIELD(STEP, manage_step, end_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, started, 1),
	FIELD(ITERATION, manage_iteration, start_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, end_ps, RECORD_MAX_PS),
	FIELD(ITERATION, manage_iteration, wrong, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, naks, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, timeouts, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, notification_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, polling_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, probe_packets, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, notification_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, polling_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, probe_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, cpu_ns, MAX_NS),
	FIELD(RESULT, manage_result, peak_rss_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, unexpected, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, manage_bytes, RECORD_MAX_COUNT),
	FIELD(RESULT, manage_result, failed, 1),
#undef FIELD
};

static uint64_t
value_of(const void *body, const struct field *field)
{
	const uint8_t *at = (const uint8_t *)body + field->at;
	uint32_t narrow;
	uint64_t wide;

	if (field->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static int
check_progress(const struct manage_progress *progress, struct err *err)
{
	if (progress->next_ps <= RECORD_MAX_PS || progress->next_ps == UINT64_MAX)
		return 0;
	return err_set(err, -EINVAL, "PROGRESS.next_ps = %" PRIu64 "; right would be at most %llu, or %" PRIu64 ", none",
		       progress->next_ps, RECORD_MAX_PS, UINT64_MAX);
}

static int
check_qp(const struct manage_qp *qp, struct err *err)
{
	if (qp->bytes <= UINT64_MAX - qp->addr)
		return 0;
	return err_set(err, -EINVAL, "QP.bytes = %" PRIu64 "; right would be what fits behind %#" PRIx64, qp->bytes,
		       qp->addr);
}

static int
check_step(const struct manage_step *step, struct err *err)
{
	if (step->open || step->end_ps >= step->start_ps)
		return 0;
	return err_set(err, -EINVAL, "STEP.end_ps = %" PRIu64 "; right would be %" PRIu64 " at least, when it began",
		       step->end_ps, step->start_ps);
}

static int
check_iteration(const struct manage_iteration *iteration, struct err *err)
{
	if (iteration->end_ps == 0 || (iteration->started && iteration->end_ps >= iteration->start_ps))
		return 0;
	return err_set(err, -EINVAL,
		       "ITERATION.end_ps = %" PRIu64 "; right would be 0, not complete, or %" PRIu64
		       " at least, when it began",
		       iteration->end_ps, iteration->start_ps);
}

static void
make_plain(char *text, size_t size_bytes)
{
	text[size_bytes - 1] = '\0';
	printable_text(text, text, size_bytes);
}

int
manage_check(enum manage_type type, void *body, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].type == type && value_of(body, &fields[i]) > fields[i].max)
			return err_set(err, -EINVAL, "%s = %" PRIu64 "; right would be at most %" PRIu64, fields[i].name,
				       value_of(body, &fields[i]), fields[i].max);
	}
	switch (type) {
	case MANAGE_HELLO:
		make_plain(((struct manage_hello *)body)->device, sizeof(((struct manage_hello *)body)->device));
		return 0;
	case MANAGE_FAILED:
	case MANAGE_QP_ERROR:
		make_plain(((struct manage_failed *)body)->text, MANAGE_TEXT);
		return 0;
	case MANAGE_PROGRESS:
		return check_progress(body, err);
	case MANAGE_QP:
		return check_qp(body, err);
	case MANAGE_STEP:
		return check_step(body, err);
	case MANAGE_ITERATION:
		return check_iteration(body, err);
	default:
		return 0;
	}
}
