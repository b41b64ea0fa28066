/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg.h"
#include "common/minmax.h"
#include "common/outfile.h"
#include "common/units.h"
#include "common/wire/collective.h"

#define SETTING_PARTS 64 /* of one setting */

char *
twin_nic_name(const struct evidence *ev, uint32_t port, char *buf)
{
	const struct ev_node *node = &ev->nodes[ev->ports[port].node];

	if (node->nports > 1)
		snprintf(buf, TWIN_NAME, "%s:%u", node->name, ev->ports[port].index + 1);
	else
		snprintf(buf, TWIN_NAME, "%s", node->name);
	return buf;
}

/* ---- topology ---- */

static void
write_names(const struct evidence *ev, bool hosts, FILE *to)
{
	const char *before = "";

	for (uint32_t n = 0; n < ev->nnodes; n++) {
		if (ev->nodes[n].host != hosts)
			continue;
		fprintf(to, "%s\"%s\"", before, ev->nodes[n].name);
		before = ", ";
	}
}

/* Hosts whose ports share an address are bonds. */
static bool
is_bond(const struct evidence *ev, const struct ev_node *node)
{
	return node->host && node->nports > 1 && ev->ports[node->first_port].ip == ev->ports[node->first_port + 1].ip;
}

static void
write_bonds(const struct evidence *ev, FILE *to)
{
	const char *before = "  bonds = [ ";

	for (uint32_t n = 0; n < ev->nnodes; n++) {
		if (!is_bond(ev, &ev->nodes[n]))
			continue;
		fprintf(to, "%s\"%s\"", before, ev->nodes[n].name);
		before = ", ";
	}
	fputs(before[0] == ',' ? " ];\n" : "", to);
}

/* May a cable be written now: are the ports before its two written? */
static bool
is_next(const struct evidence *ev, const uint32_t *written, uint32_t port)
{
	const struct ev_port *p = &ev->ports[port];

	return p->peer != EV_NONE && written[p->node] == p->index && written[p->peer_node] == ev->ports[p->peer].index;
}

/*
 * Cables in an order that gives every port its number: ports of a node count in the order of its cables.
 * @return 0, or -EINVAL with err: there is no such order, or a port without a cable
 */
static int
write_links(const struct evidence *ev, FILE *to, struct err *err)
{
	uint32_t *written = calloc((size_t)ev->nnodes + 1, sizeof(*written)), left = 0, before;
	char rate[64], delay[64];

	for (uint32_t p = 0; p < ev->nports; p++)
		left++;
	fputs("  links = (", to);
	do {
		before = left;
		for (uint32_t n = 0; n < ev->nnodes && written != NULL; n++) {
			const struct ev_node *node = &ev->nodes[n];
			uint32_t port = node->first_port + written[n];

			while (written[n] < node->nports && is_next(ev, written, port)) {
				const struct ev_port *p = &ev->ports[port];

				fprintf(to, "%s\n    \"%s %s %s %s\"", left == ev->nports ? "" : ",", node->name,
					ev->nodes[p->peer_node].name, units_format_rate(p->rate_bps, rate, sizeof(rate)),
					units_format_time(p->delay_ps, delay, sizeof(delay)));
				written[n]++;
				written[p->peer_node]++;
				left -= 2;
				port++;
			}
		}
	} while (left != before && left != 0);
	free(written);
	fputs("\n  );\n", to);
	return left == 0 ? 0 : err_set(err, -EINVAL, "%u ports have no cable, or no order of cables numbers them so", left);
}

static int
write_topology(const struct evidence *ev, FILE *to, struct err *err)
{
	int ret;

	fputs("topology = {\n  kind = \"explicit\";\n  hosts = [ ", to);
	write_names(ev, true, to);
	fputs(" ];\n  switches = [ ", to);
	write_names(ev, false, to);
	fputs(" ];\n", to);
	write_bonds(ev, to);
	ret = write_links(ev, to, err);
	fputs("};\n\n", to);
	return ret;
}

/* ---- settings ---- */

/* The settings that the stream announced, as groups. */
static int
write_settings(const struct evidence *ev, FILE *to, struct err *err)
{
	struct cfg *cfg = cfg_load_string("", "records", err);
	char text[SETTING_PARTS * REC_SETTING_TEXT + 1] = "";
	size_t length = 0;
	int ret = cfg != NULL ? 0 : -EINVAL;

	if (ev->settings.count == 0 && ret == 0)
		ret = err_set(err, -EINVAL,
			      "the records lack the configuration of switches and NICs: they are of a version before 18");
	for (uint32_t i = 0; i < ev->settings.count && ret == 0; i++) {
		const struct rec_setting *setting = EV_AT(ev->settings, struct rec_setting, i);
		size_t part = strnlen(setting->text, REC_SETTING_TEXT);

		if (length + part >= sizeof(text))
			ret = err_set(err, -EINVAL, "the records have a setting of more than %zu characters", sizeof(text));
		else
			memcpy(text + length, setting->text, part);
		length += part;
		if (ret < 0 || setting->continued)
			continue;
		text[length] = '\0';
		length = 0;
		ret = cfg_override(cfg, text, err);
	}
	if (ret == 0)
		ret = cfg_print(cfg, NULL, 0, to);
	cfg_destroy(cfg);
	return ret;
}

/* ---- paths ---- */

static void
write_hops(const struct evidence *ev, const char *key, const uint32_t *ports, uint32_t hops, FILE *to)
{
	const char *before = "";
	char name[TWIN_NAME];

	fprintf(to, " %s = [ ", key);
	for (uint32_t h = 0; h < hops; h++) {
		const struct ev_node *node = &ev->nodes[ev->ports[ports[h]].node];

		if (node->host && !is_bond(ev, node))
			continue;
		fprintf(to, "%s\"%s\"", before, evidence_port_name(ev, ports[h], name));
		before = ", ";
	}
	fputs(" ];", to);
}

static void
write_pin(const struct evidence *ev, const struct ev_flow *flow, const char **before, FILE *to)
{
	fprintf(to, "%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; dport = %u;", *before, ev->nodes[flow->src].name,
		ev->nodes[flow->dst].name, flow->tuple.sport, flow->tuple.dport);
	*before = ",";
}

/* Was a flow of these hosts and ports pinned already, at another NIC? */
static bool
is_pinned(const struct evidence *ev, uint32_t flow, bool is_known)
{
	const struct ev_flow *of = &ev->flows[flow];

	for (uint32_t f = 0; f < flow; f++) {
		const struct ev_flow *other = &ev->flows[f];

		if (other->src == of->src && other->dst == of->dst && other->tuple.sport == of->tuple.sport &&
		    other->tuple.dport == of->tuple.dport && other->collective == is_known)
			return true;
	}
	return false;
}

/* When the first link of the twin goes down; UINT64_MAX: none does. */
static uint64_t
cut_ps(const struct twin_model *model)
{
	uint64_t first_ps = UINT64_MAX;

	for (uint32_t i = 0; i < model->nfaults; i++)
		if (strcmp(model->faults[i].kind->fault, TWIN_LINK_DOWN) == 0)
			first_ps = min_u64(first_ps, model->faults[i].start_ps);
	return first_ps;
}

/* When a flow's first step began, of no schedule: 0. */
static uint64_t
began_ps(const struct run *run, uint32_t flow)
{
	uint64_t first_ps = UINT64_MAX;

	for (uint32_t s = 0; s < run->nsteps; s++)
		if (run->steps[s].flow == flow && run->steps[s].started)
			first_ps = min_u64(first_ps, run->steps[s].start_ps);
	return first_ps != UINT64_MAX ? first_ps : 0;
}

/* The times at which ports counted a flow, beside a link that goes down. */
struct rerouted {
	const struct evidence *ev;
	uint32_t flow;
	uint64_t began_ps, cut_ps;
};

static bool
is_announced(const struct rerouted *of, uint32_t port)
{
	const struct ev_flow *flow = &of->ev->flows[of->flow];

	for (uint32_t h = flow->first_hop; h < flow->first_hop + flow->nhops; h++)
		if (of->ev->hops[h] == port)
			return true;
	return false;
}

/* Did a port count packets of the flow in an epoch that ends after a time, and that began after another? */
static bool
was_counted(const struct rerouted *of, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct evidence *ev = of->ev;

	for (uint32_t e = ev->ports[port].first_epoch; e < ev->ports[port].first_epoch + ev->ports[port].nepochs; e++) {
		const struct ev_epoch *epoch = &ev->epochs[e];

		if (epoch->to_ps <= to_ps || max_u64(epoch->from_ps, of->began_ps) < from_ps)
			continue;
		for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++)
			if (ev->flow_of_row[i] == of->flow && EV_AT(ev->flow_rows, struct rec_flow_row, i)->packets != 0)
				return true;
	}
	return false;
}

/* An announced port has the flow's packets of before the cut, too; others have none of these. */
static bool
surely_after(const struct rerouted *of, uint32_t port)
{
	return was_counted(of, port, is_announced(of, port) ? of->cut_ps : 0, of->cut_ps);
}

/*
 * Did a port send packets of the flow after the cut? An epoch with both times is of its announced path before; the flow
 * stayed there if no other port of the switch counted it later.
 */
static bool
sent_after(const struct rerouted *of, uint32_t port)
{
	const struct ev_flow *flow = &of->ev->flows[of->flow];
	bool elsewhere = false;

	if (surely_after(of, port))
		return true;
	for (uint32_t s = flow->first_seen; s < flow->first_seen + flow->nseen; s++)
		elsewhere |= of->ev->ports[of->ev->seen[s]].node == of->ev->ports[port].node &&
			     surely_after(of, of->ev->seen[s]);
	return !elsewhere && was_counted(of, port, 0, of->cut_ps);
}

/*
 * A switch that has fewer ports of equal cost left chooses anew for every flow: the ports that counted the flow since
 * then; where none did, the twin's own hash.
 */
static void
write_detour(const struct twin_model *model, uint32_t flow, FILE *to)
{
	const struct evidence *ev = model->ev;
	const struct ev_flow *of = &ev->flows[flow];
	const struct rerouted rerouted = { ev, flow, began_ps(model->run, flow), cut_ps(model) };
	const char *before = " detour = [ ";
	char name[TWIN_NAME];

	if (rerouted.cut_ps == UINT64_MAX)
		return;
	fputs(" rehash = true;", to);
	for (uint32_t s = of->first_seen; s < of->first_seen + of->nseen; s++) {
		if (ev->nodes[ev->ports[ev->seen[s]].node].host || !sent_after(&rerouted, ev->seen[s]))
			continue;
		fprintf(to, "%s\"%s\"", before, evidence_port_name(ev, ev->seen[s], name));
		before = ", ";
	}
	fputs(before[0] == ',' ? " ];" : "", to);
}

/* Announced paths of scheduled flows, and those that foreign ones were seen on. */
static void
write_paths(const struct twin_model *model, FILE *to)
{
	const struct evidence *ev = model->ev;
	const char *before = "";

	fputs("paths = (", to);
	for (uint32_t f = 0; f < ev->nflows; f++) {
		const struct ev_flow *flow = &ev->flows[f];

		if (!flow->collective || flow->nhops + flow->nback == 0 || evidence_is_sprayed(ev, f) ||
		    is_pinned(ev, f, true))
			continue;
		write_pin(ev, flow, &before, to);
		write_hops(ev, "data", &ev->hops[flow->first_hop], flow->nhops, to);
		write_hops(ev, "ack", &ev->hops[flow->first_hop + flow->nhops], flow->nback, to);
		write_detour(model, f, to);
		fputs(" }", to);
	}
	for (uint32_t i = 0; i < model->nflows; i++) {
		const struct twin_flow *flow = &model->flows[i];

		if (flow->hops == 0 || is_pinned(ev, flow->flow, false))
			continue;
		write_pin(ev, &ev->flows[flow->flow], &before, to);
		write_hops(ev, "data", flow->path, flow->hops, to);
		write_detour(model, flow->flow, to);
		fputs(" }", to);
	}
	fputs("\n);\n\n", to);
}

/* ---- jobs ---- */

static const char *const ops[] = { COLL_OPS(ENUM_NAME) };
static const char *const algorithms[] = { COLL_ALGORITHMS(ENUM_NAME) };

static void
write_after(const struct twin_model *model, const struct run_collective *of, FILE *to)
{
	fputs(" after = [ ", to);
	for (uint32_t i = 0; i < of->nafter; i++)
		fprintf(to, "%s\"%s\"", i != 0 ? ", " : "",
			model->run->collectives[model->run->after[of->first_after + i]].name);
	fputs(" ];", to);
}

static void
write_work(const struct twin_model *model, const struct twin_op *work, FILE *to)
{
	const struct run_collective *of = &model->run->collectives[work->collective];

	fprintf(to, "      { name = \"%s\"; op = \"%s\"; algorithm = \"%s\"; bytes = %" PRIu64 "L;", of->name, ops[of->op],
		algorithms[of->algorithm], of->bytes);
	if (work->channels > 1)
		fprintf(to, " channels = %u;", work->channels);
	fprintf(to, " sport = %u; dport = %u;", work->sport, work->dport);
	if (work->compute_ps != 0)
		fprintf(to, " compute = \"%.3fns\";", (double)work->compute_ps / PS_PER_NS);
	write_after(model, of, to);
	fputs(" }", to);
}

static void
write_computes(const struct twin_model *model, const struct twin_job *job, FILE *to)
{
	fputs("    delays = (", to);
	for (uint32_t i = job->first_compute; i < job->first_compute + job->ncomputes; i++) {
		const struct twin_compute *compute = &model->computes[i];

		fprintf(to, "%s\n      \"%u %.3fns %s %u\"", i != job->first_compute ? "," : "", compute->rank,
			(double)compute->extra_ps / PS_PER_NS,
			model->run->collectives[model->works[compute->work].collective].name, compute->iteration);
	}
	fputs("\n    );\n", to);
}

static void
write_job(const struct twin_model *model, const struct twin_job *job, FILE *to)
{
	const struct run_job *of = &model->run->jobs[job->job];
	char name[TWIN_NAME];

	fprintf(to, "  {\n    name = \"%s\";\n    ranks = [ ", of->name);
	for (uint32_t r = 0; r < job->ranks; r++)
		fprintf(to, "%s\"%s\"", r != 0 ? ", " : "", twin_nic_name(model->ev, job->ports[r], name));
	fprintf(to, " ];\n    iterations = %u;\n    start = \"%.3fns\";\n    gap = \"%.3fns\";\n", of->niterations,
		(double)job->start_ps / PS_PER_NS, (double)job->gap_ps / PS_PER_NS);
	if (job->ncomputes != 0)
		write_computes(model, job, to);
	fputs("    collectives = (\n", to);
	for (uint32_t w = job->first_work; w < job->first_work + job->nworks; w++) {
		write_work(model, &model->works[w], to);
		fputs(w + 1 < job->first_work + job->nworks ? ",\n" : "\n", to);
	}
	fputs("    );\n  }", to);
}

static void
write_jobs(const struct twin_model *model, FILE *to)
{
	fputs("jobs = (\n", to);
	for (uint32_t j = 0; j < model->njobs; j++) {
		write_job(model, &model->jobs[j], to);
		fputs(j + 1 < model->njobs ? ",\n" : "\n", to);
	}
	fputs(");\n\n", to);
}

/* ---- what disturbs them ---- */

static void
write_flows(const struct twin_model *model, FILE *to)
{
	const struct evidence *ev = model->ev;
	char src[TWIN_NAME], dst[TWIN_NAME];

	fputs("flows = (", to);
	for (uint32_t i = 0; i < model->nflows; i++) {
		const struct twin_flow *flow = &model->flows[i];
		const struct ev_flow *of = &ev->flows[flow->flow];

		fprintf(to,
			"%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; dport = %u; bytes = %" PRIu64
			"L; start = \"%.3fns\"; }",
			i != 0 ? "," : "", twin_nic_name(ev, of->src_port, src), twin_nic_name(ev, of->dst_port, dst),
			of->tuple.sport, of->tuple.dport, flow->bytes, (double)flow->start_ps / PS_PER_NS);
	}
	fputs("\n);\n\n", to);
}

static void
write_faults(const struct twin_model *model, FILE *to)
{
	fputs("faults = (", to);
	for (uint32_t i = 0; i < model->nfaults; i++) {
		const struct twin_fault *fault = &model->faults[i];

		fprintf(to, "%s\n  { kind = \"%s\"; ", i != 0 ? "," : "", fault->kind->fault);
		fault->kind->write(model, fault, to);
		fputs("}", to);
	}
	fputs("\n);\n", to);
}

int
twin_write(const struct twin_model *model, const char *dir, const char *name, struct err *err)
{
	struct outfile out;
	int ret = outfile_open(&out, dir, name, err);

	if (ret < 0)
		return ret;
	fprintf(out.file,
		"// The twin of a run: inferred from its records alone, with another seed.\n"
		"name = \"twin\";\nseed = %" PRIu64 "L;\ndetection = { policy = \"off\"; };\n\n",
		model->seed);
	ret = write_topology(model->ev, out.file, err);
	if (ret == 0)
		ret = write_settings(model->ev, out.file, err);
	fputc('\n', out.file);
	write_paths(model, out.file);
	write_jobs(model, out.file);
	write_flows(model, out.file);
	write_faults(model, out.file);
	return outfile_close(&out, ret, err);
}
