/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/telemetry/answer.h"

struct answer
answer_begin(struct telem_port *t, const struct telem_present *present, struct recbuf *records, struct recbuf *spare,
	     uint32_t event, uint64_t now_ps)
{
	uint64_t unreported = t->unreported;
	struct answer answer = { .kept = now_ps >= t->keep_ps };

	answer.records = answer.kept ? records : spare;
	answer.from = answer.records->used_bytes;
	telem_report(t, present, answer.records, event, now_ps);
	if (answer.kept)
		t->keep_ps = now_ps + t->config->retain_ps;
	else
		t->unreported = unreported; /* nobody has heard of the closed epochs */
	return answer;
}

void
answer_end(const struct answer *answer, const struct telem_port *t, struct report_count *count, uint32_t event,
	   uint32_t asked)
{
	uint32_t kept = t->config->retain_ps == 0 ? asked : answer->kept;
	size_t bytes = answer->records->used_bytes - answer->from;

	report_count_add(count, answer->records->data + answer->from, bytes, event, asked, kept);
	if (!answer->kept)
		answer->records->used_bytes = 0;
}
