/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/inside.h"

bool
probe_queue_push(struct probe_agent *agent, struct probe_queue *queue, struct probe_completion completion)
{
	uint64_t ready_ps = completion.stamp_ps + probe_cpu_draw(&agent->cpu);

	if (queue->tail - queue->head == PROBE_COMPLETIONS) {
		agent->counts.dropped++;
		return false;
	}
	completion.ready_ps = ready_ps > queue->last_ready_ps ? ready_ps : queue->last_ready_ps;
	queue->last_ready_ps = completion.ready_ps;
	queue->ring[queue->tail++ % PROBE_COMPLETIONS] = completion;
	return true;
}

uint64_t
probe_queue_timer_ps(const struct probe_queue *queue)
{
	for (uint32_t i = queue->head; i != queue->tail; i++)
		if (queue->ring[i % PROBE_COMPLETIONS].event == PROBE_TIMED)
			return queue->ring[i % PROBE_COMPLETIONS].stamp_ps;
	return TIME_NEVER;
}

const struct probe_completion *
probe_queue_pop(struct probe_queue *queue, uint64_t now_ps)
{
	struct probe_completion *oldest = &queue->ring[queue->head % PROBE_COMPLETIONS];

	if (probe_queue_next_ps(queue) > now_ps)
		return NULL;
	oldest->ready_ps = now_ps;
	queue->head++;
	return oldest;
}
