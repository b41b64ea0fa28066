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

size_t
answer_end(const struct answer *answer)
{
	struct recbuf *records = answer->records;
	size_t packed_bytes = report_pack(records->data + answer->from, records->used_bytes - answer->from, NULL);

	if (!answer->kept)
		records->used_bytes = 0;
	return packed_bytes;
}
