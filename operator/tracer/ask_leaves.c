/* SPDX-License-Identifier: BSD-3-Clause */
/* Where hosts do not tell: their flows by the packets that leaf switches sampled, and the port that these came from (III-B1). */
#include <errno.h>
#include <stdlib.h>

#include "common/sample_flow.h"
#include "operator/tracer/thread.h"

/* A flow by one NIC, and how many samples tell of it. */
struct seen {
	struct swm_flow flow;
	uint32_t samples;
};

/* What is seen of one source. */
struct sightings {
	struct seen *rows; /* [count] */
	size_t count;
};

static int
by_tuple(const struct swm_flow *x, const struct swm_flow *y)
{
	const uint64_t left[] = { x->src_ip, x->dst_ip, x->sport, x->dport, x->protocol };
	const uint64_t right[] = { y->src_ip, y->dst_ip, y->sport, y->dport, y->protocol };

	for (int i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* By flow, and then the NIC of most samples first. */
static int
by_flow(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = by_tuple(&x->flow, &y->flow);

	if (order != 0)
		return order;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return (x->flow.nic > y->flow.nic) - (x->flow.nic < y->flow.nic);
}

/* Of sorted rows the first of each flow stays. @param add  with the samples of the others. @return how many */
static size_t
unique(struct seen *rows, size_t count, bool add)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_tuple(&rows[kept - 1].flow, &rows[i].flow) != 0)
			rows[kept++] = rows[i];
		else if (add)
			rows[kept - 1].samples += rows[i].samples;
	}
	return kept;
}

static bool
is_wanted(const struct swm_sample *sample, const struct swm_filter *filter, uint32_t ip)
{
	return sample->src_ip == ip && sample_is_of_flow(sample) &&
	       (filter->dst_ip == 0 || filter->dst_ip == sample->dst_ip) &&
	       (filter->dport == 0 || filter->dport == sample->dport) &&
	       (filter->protocol == 0 || filter->protocol == sample->protocol);
}

/* Samples of one port become flows of the NIC that it is cabled to. @return 0 or -ENOMEM */
static int
take_samples(struct thread *t, struct sightings *seen, const struct swm_sample *rows, uint32_t count,
	     const struct topo_port *port)
{
	const struct tracer_config *config = t->shared->process->config;
	uint32_t ip = topo_host_ip(config->topo, port->node, port->index);
	struct seen *more = realloc(seen->rows, (seen->count + count + 1) * sizeof(*more));
	size_t first = seen->count;

	if (more == NULL)
		return -ENOMEM;
	seen->rows = more;
	for (uint32_t k = 0; k < count; k++) {
		struct swm_flow flow = { .src_ip = rows[k].src_ip,
					 .dst_ip = rows[k].dst_ip,
					 .sport = rows[k].sport,
					 .dport = rows[k].dport,
					 .protocol = rows[k].protocol,
					 .flags = rows[k].is_rocev2 ? SWM_RDMA : 0,
					 .nic = port->index,
					 .job = SWM_ANY };

		if (is_wanted(&rows[k], &config->filter, ip))
			more[seen->count++] = (struct seen){ .flow = flow, .samples = 1 };
	}
	qsort(&more[first], seen->count - first, sizeof(*more), by_flow);
	seen->count = first + unique(&more[first], seen->count - first, true);
	return 0;
}

/* What a leaf sampled of a host's port. @return 0; negative with err: it does not say, or says what cannot be */
static int
ask_leaf(struct thread *t, const struct topo_port *port, struct sightings *seen, struct err *err)
{
	const struct swm_sampled asked = { .port = port->peer_index };
	struct client *client = thread_connect(t, port->peer);
	const struct swm_samples *list;
	const void *body;
	int ret;

	if (client == NULL)
		return 0; /* it was told why */
	t->messages++;
	ret = client_ask(client, SWM_SAMPLES, &asked, sizeof(asked), "", 0, err);
	if (ret == 0)
		ret = client_reply(client, client->tag, SWM_SAMPLE_LIST, &body, err);
	if (ret < 0)
		return ret;
	list = body;
	if ((size_t)ret < sizeof(*list) || list->count > SWM_MAX_SAMPLES ||
	    (size_t)ret != sizeof(*list) + list->count * sizeof(struct swm_sample))
		return err_set(err, -EPROTO, "its list of samples is none, or has more than %u", SWM_MAX_SAMPLES);
	t->samples += list->count;
	t->pool += list->sample_pool;
	return take_samples(t, seen, (const void *)(list + 1), list->count, port);
}

/* The flows that are seen of a source become its list. */
static void
list_flows(struct thread *t, uint32_t i, struct sightings *seen)
{
	struct tracer_process *process = t->shared->process;

	if (seen->count != 0)
		qsort(seen->rows, seen->count, sizeof(*seen->rows), by_flow);
	seen->count = unique(seen->rows, seen->count, false);
	process->lists[i] = calloc(seen->count + 1, sizeof(*process->lists[i]));
	if (process->lists[i] == NULL) {
		atomic_store(&t->shared->no_memory, true);
		return;
	}
	for (size_t k = 0; k < seen->count; k++)
		process->lists[i][k] = (struct traced){ .flow = seen->rows[k].flow,
							.source = process->config->sources[process->first + i] };
	process->nflows[i] = (uint32_t)seen->count;
}

void
thread_ask_leaves(struct thread *t, uint32_t i)
{
	const struct tracer_process *process = t->shared->process;
	const struct topo *topo = process->config->topo;
	uint32_t node = process->config->sources[process->first + i];
	struct sightings seen = { 0 };

	for (uint16_t nic = 0; nic < topo->nodes[node].nports; nic++) {
		const struct topo_port *port = topo_port_of(topo, node, nic);
		struct err err = { 0 };
		int ret = ask_leaf(t, port, &seen, &err);

		if (ret == -ENOMEM)
			atomic_store(&t->shared->no_memory, true);
		else if (ret < 0)
			thread_give_up(t, port->peer, &err);
		if (ret < 0 || process->config->connections == TRACER_AD_HOC)
			thread_disconnect(t, port->peer);
	}
	list_flows(t, i, &seen);
	free(seen.rows);
}
