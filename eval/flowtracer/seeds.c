/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing alone: where the flows of every seed go, and where a static placement has them. */
#include "eval/flowtracer/study.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/fim.h"
#include "common/flow.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "eval/store.h"
#include "scenario/scenario.h"
#include "topo/advise.h"
#include "topo/route.h"
#include "workload/plan.h"

/* Paths of traced flows: a run's verdict.json (flowtracer), or a file of rocelab trace --out. */

struct ft_traced {
	struct flow *flows;       /* [count] whose paths are known to their ends */
	struct route_path *paths; /* [count] */
	uint32_t count;
	uint32_t astray; /* others, that were sprayed or dropped, or did not arrive */
	bool *usable;    /* [topo->nports] links that switches named as of equal cost, or flows take; NULL: unknown */
};

struct reading {
	const char *file;
	const struct topo *topo;
	struct ft_traced *traced;
	size_t index; /* of the flow */
	struct err *err;
};

static int
refuse(const struct reading *r, const char *what)
{
	return err_set(r->err, -EINVAL, "%s: flow %zu: %s", r->file, r->index, what);
}

/* The list of ports is a path of this topology, from a host on. */
static int
read_path(const struct reading *r, const json_t *ports, struct route_path *path)
{
	const json_t *name;
	size_t i;

	path->hops = 0;
	if (!json_is_array(ports) || json_array_size(ports) > ROUTE_MAX_HOPS)
		return refuse(r, "its path is none, or longer than any");
	json_array_foreach(ports, i, name) {
		const char *text = json_string_value(name);
		uint32_t port = text != NULL ? topo_find_port(r->topo, text) : TOPO_NONE;

		if (port == TOPO_NONE && i + 1 == json_array_size(ports) && i != 0)
			return 0; /* of one that ends early, the switch where it does */
		if (port == TOPO_NONE || (i == 0) != (r->topo->nodes[r->topo->ports[port].node].kind == TOPO_HOST) ||
		    (i != 0 && r->topo->ports[path->ports[i - 1]].peer != r->topo->ports[port].node))
			return refuse(r, "its path is none of this topology, from a host by switches");
		path->ports[path->hops++] = port;
	}
	return path->hops != 0 ? 0 : refuse(r, "its path is none");
}

/* "h0->h1/49152>4791", as runs name flows. */
static bool
read_name(const char *name, uint64_t *sport, uint64_t *dport)
{
	const char *at = name != NULL ? strrchr(name, '/') : NULL, *rest = at != NULL ? number_scan(at + 1, sport) : NULL;

	return rest != NULL && *rest == '>' && number_parse(rest + 1, 0, UINT16_MAX, dport) && *sport <= UINT16_MAX;
}

static bool
read_ports(const json_t *flow, uint64_t *sport, uint64_t *dport)
{
	const json_t *from = json_object_get(flow, "sport"), *to = json_object_get(flow, "dport");

	*sport = (uint64_t)json_integer_value(from);
	*dport = (uint64_t)json_integer_value(to);
	return json_is_integer(from) && json_is_integer(to) && *sport <= UINT16_MAX && *dport <= UINT16_MAX;
}

static uint16_t
nic_of(const struct topo *topo, uint32_t node, uint16_t index)
{
	return topo->nodes[node].bonded ? 0 : index;
}

/* Reads a flow; its ends are those of its path. */
static int
read_flow(struct reading *r, const json_t *json, bool verdict)
{
	const char *end = json_string_value(json_object_get(json, verdict ? "result" : "state"));
	struct route_path *path = &r->traced->paths[r->traced->count];
	const struct topo_port *from, *last;
	uint64_t sport, dport;
	int ret = read_path(r, json_object_get(json, verdict ? "ports" : "path"), path);

	if (ret < 0)
		return ret;
	if (end == NULL || !(verdict ? read_name(json_string_value(json_object_get(json, "flow")), &sport, &dport)
				     : read_ports(json, &sport, &dport)))
		return refuse(r, "its ports, or its end state, are not reported");
	from = &r->topo->ports[path->ports[0]];
	last = &r->topo->ports[path->ports[path->hops - 1]];
	if (strcmp(end, verdict ? "egress" : "arrived") != 0 || r->topo->nodes[last->peer].kind != TOPO_HOST) {
		r->traced->astray++;
		return 0;
	}
	if (last->peer == from->node)
		return refuse(r, "its path ends at the host where it begins");
	r->traced->flows[r->traced->count++] = (struct flow){
		.src_node = from->node,
		.dst_node = last->peer,
		.src_nic = from->index,
		.dst_nic = nic_of(r->topo, last->peer, last->peer_index),
		.src_ip = topo_host_ip(r->topo, from->node, from->index),
		.dst_ip = topo_host_ip(r->topo, last->peer, last->peer_index),
		.sport = (uint16_t)sport,
		.dport = (uint16_t)dport,
	};
	return 0;
}

/* A verdict lists the links that flows take, or could have taken. */
static int
read_links(struct reading *r, const json_t *links)
{
	const json_t *link;
	size_t i;

	r->traced->usable = calloc(r->topo->nports + 1u, sizeof(*r->traced->usable));
	if (r->traced->usable == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for links");
	json_array_foreach(links, i, link) {
		const char *name = json_string_value(json_object_get(link, "port"));
		uint32_t port = name != NULL ? topo_find_port(r->topo, name) : TOPO_NONE;

		if (port == TOPO_NONE)
			return err_set(r->err, -EINVAL, "%s: links[%zu] is none of this topology", r->file, i);
		r->traced->usable[port] = true;
	}
	return 0;
}

static int
read_flows(struct reading *r, const json_t *root)
{
	const json_t *verdict = json_object_get(root, "flowtracer"), *flow;
	const json_t *flows = json_object_get(verdict != NULL ? verdict : root, verdict != NULL ? "paths" : "flows");
	size_t count = json_array_size(flows);
	int ret = 0;

	if (!json_is_array(flows))
		return err_set(r->err, -EINVAL,
			       "%s: no flow was traced in that run: set flowtracer.enabled = true, or run rocelab trace "
			       "DIR --out FILE while it is active in real time, then give --traced FILE",
			       r->file);
	r->traced->flows = calloc(count + 1, sizeof(*r->traced->flows));
	r->traced->paths = calloc(count + 1, sizeof(*r->traced->paths));
	if (r->traced->flows == NULL || r->traced->paths == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for %zu flows", count);
	if (verdict != NULL)
		ret = read_links(r, json_object_get(verdict, "links"));
	for (r->index = 0; ret == 0 && r->index < count; r->index++) {
		flow = json_array_get(flows, r->index);
		ret = read_flow(r, flow, verdict != NULL);
	}
	if (ret == 0 && r->traced->count == 0)
		ret = err_set(r->err, -EINVAL, "%s: no flow of it has a single known path to its destination", r->file);
	return ret;
}

/*
 * Files may be of others: everything is checked.
 * @param topo  that they are of
 * @return 0, or negative errno with err set: the file and its fault. ft_traced_fini() in any case
 */
static int
ft_traced_read(const char *file, const struct topo *topo, struct ft_traced *traced, struct err *err)
{
	struct reading r = { .file = file, .topo = topo, .traced = traced, .err = err };
	json_error_t error;
	FILE *from = input_fopen(file, err);
	json_t *root = from != NULL ? json_loadf(from, 0, &error) : NULL;
	int ret;

	*traced = (struct ft_traced){ 0 };
	if (from == NULL)
		return -EINVAL;
	fclose(from);
	if (root == NULL)
		return error.line > 0 ? err_set(err, -EINVAL, "%s:%d: %s", file, error.line, error.text)
				      : err_set(err, -EINVAL, "%s", error.text);
	ret = read_flows(&r, root);
	json_decref(root);
	return ret;
}

static void
ft_traced_fini(struct ft_traced *traced)
{
	free(traced->flows);
	free(traced->paths);
	free(traced->usable);
	*traced = (struct ft_traced){ 0 };
}

#define SHOW_EVERY 50

/* One seed's network and flows. */
struct seed {
	struct scenario *sc;
	struct topo_load load;
	struct flow *flows; /* [count] those that carry data, or that were traced */
	uint32_t count;
	struct ft_traced traced; /* the traced flows that were read; zero: flows are the scenario's */
	bool *down;              /* [topo->nlinks] cables that its faults take down */
	bool *usable;            /* [topo->nports] other links, as far as traced has them */
	struct advise_seen seen;
};

static void
seed_fini(struct seed *seed)
{
	topo_load_fini(&seed->load);
	if (seed->flows != seed->traced.flows)
		free(seed->flows);
	ft_traced_fini(&seed->traced);
	free(seed->down);
	free(seed->usable);
	scenario_destroy(seed->sc);
}

/* Flows as the scenario plans them. */
static int
plan_flows(struct seed *seed, struct err *err)
{
	const struct flow_table *table = &seed->sc->plan->flows;

	seed->flows = calloc(table->count + 1, sizeof(*seed->flows));
	if (seed->flows == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u flows", table->count);
	for (uint32_t f = 0; f < table->count; f++)
		if (table->flows[f].kind == FLOW_COLLECTIVE || table->flows[f].kind == FLOW_BACKGROUND ||
		    table->flows[f].kind == FLOW_TRAFFIC)
			seed->flows[seed->count++] = table->flows[f];
	return 0;
}

/* Flows as they were traced. */
static int
trace_flows(struct seed *seed, struct ft_study *study, struct err *err)
{
	int ret = ft_traced_read(study->traced, seed->sc->topo, &seed->traced, err);

	if (ret < 0)
		return ret;
	seed->flows = seed->traced.flows;
	seed->count = seed->traced.count;
	seed->seen.paths = seed->traced.paths;
	study->astray = seed->traced.astray;
	return 0;
}

/*
 * Links that are up all the time, and that were seen if flows were traced. A pinned flow does not leave a cable that is
 * taken down later, so no path is placed on one, and flows begin as they are routed without it.
 */
static int
find_usable(struct seed *seed, struct ft_study *study, struct err *err)
{
	const struct topo *topo = seed->sc->topo;

	seed->down = calloc(topo->nlinks + 1u, sizeof(*seed->down));
	seed->usable = calloc(topo->nports + 1u, sizeof(*seed->usable));
	if (seed->down == NULL || seed->usable == NULL)
		return err_set(err, -ENOMEM, "out of memory for links");
	study->cables_down = faults_cables_down(&seed->sc->faults, topo, 0, TIME_NEVER, seed->down);
	if (study->cables_down != 0 && route_table_update(seed->sc->routes, seed->down) < 0)
		return err_set(err, -ENOMEM, "out of memory for routes");
	for (uint32_t p = 0; p < topo->nports; p++)
		seed->usable[p] =
			!seed->down[topo->ports[p].link] && (seed->traced.usable == NULL || seed->traced.usable[p]);
	seed->seen.usable = seed->usable;
	return 0;
}

/*
 * The placement is written as a list of the scenario, which may have one of that name already. @return 0, or -EINVAL
 * with err
 */
static int
check_room(const struct ft_study *study, const struct seed *seed, struct err *err)
{
	const char *list = study->by == ADVISE_PATHS ? "paths" : "source_ports";

	if (study->runs == 0 || !cfg_has(&seed->sc->root.where, list))
		return 0;
	return err_set(err, -EINVAL, "%s: it has a list \"%s\", which the result would replace: remove it, or search %s",
		       study->scenario, list, study->by == ADVISE_PATHS ? "source ports" : "paths");
}

static int
seed_init(struct seed *seed, struct ft_study *study, uint64_t number, struct err *err)
{
	char text[24];
	struct scenario_options options = { .path = study->scenario, .seed = text };
	int ret;

	*seed = (struct seed){ 0 };
	snprintf(text, sizeof(text), "%" PRIu64, number);
	seed->sc = scenario_load(&options, err);
	if (seed->sc == NULL)
		return -EINVAL;
	ret = study->traced != NULL ? trace_flows(seed, study, err) : plan_flows(seed, err);
	if (ret == 0 && seed->count == 0)
		ret = err_set(err, -EINVAL, "%s: no flow carries data", study->scenario);
	if (ret == 0)
		ret = check_room(study, seed, err);
	if (ret == 0)
		ret = find_usable(seed, study, err);
	if (ret == 0 && (topo_load_init(&seed->load, seed->sc->topo, seed->usable) != 0 ||
			 topo_load_offer(&seed->load, seed->flows, NULL, seed->count) != 0))
		ret = err_set(err, -ENOMEM, "out of memory for links");
	return ret;
}

/* A group of the study as the fabric numbers it. */
static uint16_t
group_of(uint32_t group)
{
	return group == FT_SWITCHES ? FIM_SWITCHES : group == FT_ALL ? FIM_ALL : (uint16_t)group;
}

static void
keep(struct ft_group *group, const struct fim *fim, uint32_t at)
{
	group->most[FT_ECMP] = fim->most;
	group->links = fim->links > group->links ? fim->links : group->links;
	group->ideal = fim->links != 0 ? fim->ideal : group->ideal;
	group->percent[at] = fim->percent;
}

static void
measure(struct ft_study *study, struct seed *seed, uint32_t at)
{
	struct fim fim;

	for (uint32_t f = 0; f < seed->count; f++) {
		struct route_path path;

		if (seed->seen.paths != NULL)
			path = seed->seen.paths[f];
		else if (route_flow_path(&seed->sc->routing, &seed->flows[f], false, &path) != 0)
			continue;
		topo_load_add(&seed->load, &path, 1);
	}
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		fim = fim_fabric_metric(&seed->load.fabric, group_of(g));
		keep(&study->groups[g], &fim, at);
	}
}

/* The expected results of the first seed's flows, and the groups' names. */
static int
prepare(struct ft_study *study, const struct seed *seed, struct err *err)
{
	study->flows = seed->count;
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		study->groups[g].percent = calloc(study->seeds + 1, sizeof(double));
		study->groups[g].placed = calloc(study->runs + 1, sizeof(double));
		if (study->groups[g].percent == NULL || study->groups[g].placed == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u seeds", study->seeds);
	}
	for (uint16_t g = 0; g < seed->load.fabric.nlayers; g++)
		topo_load_name(&seed->load, g, study->groups[g].name);
	snprintf(study->groups[FT_SWITCHES].name, sizeof(study->groups[0].name), "links of switches");
	snprintf(study->groups[FT_ALL].name, sizeof(study->groups[0].name), "all links");
	return 0;
}

/* An include is looked for from the file that has it: from there up to the root, then down. */
static void
write_include(FILE *to, const char *folder, const char *absolute)
{
	fprintf(to, "// digest of the scenario: %016" PRIx64 "\n@include \"", case_file_digest(absolute));
	for (const char *at = folder; *at != '\0'; at++)
		if (*at == '/' && at[1] != '\0')
			fputs("../", to);
	fprintf(to, "%s\"\n", absolute + 1);
}

/* Writes a run's scenario: the studied one, and the placement. An existing file must be equal to it. */
static int
write_case(const struct ft_study *study, enum ft_placement placement, uint64_t number, const struct seed *seed,
	   const struct advice *advice, struct err *err)
{
	char path[PATH_MAX + 64], absolute[PATH_MAX], folder[PATH_MAX];
	uint64_t before;
	struct outfile to;
	int ret;

	ft_path(study, placement, number, "", path);
	ret = run_dir_make(path, err);
	if (ret < 0)
		return ret;
	if (realpath(path, folder) == NULL || realpath(study->scenario, absolute) == NULL)
		return err_set(err, -errno, "%s: %s", study->scenario, strerror(errno));
	ft_path(study, placement, number, "case.cfg", path);
	before = case_file_set_aside(path);
	ret = outfile_open_path(&to, path, err);
	if (ret != 0)
		return ret;
	write_include(to.file, folder, absolute);
	if (placement == FT_STATIC && study->by == ADVISE_PATHS)
		advice_write_paths(advice, seed->sc->topo, to.file);
	else if (placement == FT_STATIC)
		advice_write_ports(advice, seed->sc->topo, seed->flows, to.file);
	ret = outfile_close(&to, 0, err);
	return ret == 0 ? case_file_check(path, before, err) : ret;
}

static void
keep_placed(struct ft_study *study, struct seed *seed, uint32_t at)
{
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct fim fim = fim_fabric_metric(&seed->load.fabric, group_of(g));

		study->groups[g].placed[at] = fim.percent;
		study->groups[g].most[FT_STATIC] = fim.most;
	}
	study->of[FT_ECMP].percent[at] = study->groups[FT_SWITCHES].percent[at];
	study->of[FT_STATIC].percent[at] = study->groups[FT_SWITCHES].placed[at];
}

/* The runs of a seed. */
static int
place(struct ft_study *study, struct seed *seed, uint32_t at, struct err *err)
{
	struct advice advice;
	int ret = advise(&seed->sc->routing, seed->flows, seed->count, study->by, &seed->seen, &advice);

	if (ret != 0)
		err_set(err, ret, "out of memory for the paths of %u flows", seed->count);
	for (uint32_t p = 0; p < seed->sc->topo->nports; p++)
		seed->load.fabric.links[p].flows = 0;
	for (uint32_t f = 0; ret == 0 && f < seed->count; f++)
		topo_load_add(&seed->load, &advice.paths[f], 1);
	study->moved = 0;
	for (uint32_t f = 0; ret == 0 && f < seed->count; f++)
		study->moved += advice.moved[f];
	study->rounds = advice.rounds;
	keep_placed(study, seed, at);
	for (int p = 0; ret == 0 && p < FT_PLACEMENTS; p++)
		ret = write_case(study, (enum ft_placement)p, study->first + at, seed, &advice, err);
	advice_fini(&advice);
	return ret;
}

int
ft_seeds(struct ft_study *study, struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < study->seeds; i++) {
		struct seed seed;

		ret = seed_init(&seed, study, study->first + i, err);
		if (ret == 0 && i == 0)
			ret = prepare(study, &seed, err);
		if (ret == 0)
			measure(study, &seed, i);
		for (uint32_t g = 0; ret == 0 && i == 0 && g < FT_GROUPS; g++)
			study->groups[g].expected = fim_fabric_expected(&seed.load.fabric, group_of(g));
		if (ret == 0 && i < study->runs)
			ret = place(study, &seed, i, err);
		seed_fini(&seed);
		if ((i + 1) % SHOW_EVERY == 0)
			progress_line("%u of %u seeds", i + 1, study->seeds);
	}
	progress_line("%s", "");
	return ret;
}
