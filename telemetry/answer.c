/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/answer.h"

struct answer
answer_begin(struct telem_port *t, bool whole, const struct telem_present *present, struct recbuf *records,
	     struct recbuf *spare, uint32_t event, uint64_t now_ps)
{
	uint64_t unreported = t->unreported, next_ps = now_ps + t->config->retain_ps;
	struct answer answer = { .kept = now_ps >= (whole ? t->keep_ps : t->keep_state_ps) };

	answer.records = answer.kept ? records : spare;
	answer.from = answer.records->used_bytes;
	if (whole)
		telem_report(t, present, answer.records, event, now_ps);
	else
		telem_report_state(t, present, answer.records, event, now_ps);
	if (!answer.kept)
		t->unreported = unreported; /* nobody has heard of the closed epochs */
	else if (whole)
		t->keep_ps = t->keep_state_ps = next_ps;
	else
		t->keep_state_ps = next_ps; /* what left by the port is still to be told */
	return answer;
}

size_t
answer_end(const struct answer *answer)
{
	struct recbuf *records = answer->records;
	size_t packed_bytes = report_pack(records->data + answer->from, records->used_bytes - answer->from, NULL);

	if (!answer->kept)
		records->used_bytes = 0;
	return packed_bytes;
}
