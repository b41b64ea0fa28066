/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing alone: where the flows of every seed go, and where a static placement has them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/outfile.h"
#include "common/progress_line.h"
#include "common/run_dir.h"
#include "eval/case_file.h"
#include "eval/flowtracer/study.h"
#include "eval/flowtracer/traced.h"
#include "scenario/scenario.h"
#include "topo/advise.h"
#include "topo/load.h"

#define SHOW_EVERY 50

/* One seed's network and flows. */
struct seed {
	struct scenario *sc;
	struct topo_load load;
	struct flow *flows; /* [count] those that carry data, or that were traced */
	uint32_t count;
	struct ft_traced traced; /* what flows are of; zero: of the scenario */
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
 * Links that are up all the time, and that were seen if flows were traced. A pinned flow does not leave a cable that is taken down
 * later, so no path is placed on one, and flows begin as they are routed without it.
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

/* What is placed is written as a list of the scenario, which can have one of the name. @return 0, or -EINVAL with err */
static int
check_room(const struct ft_study *study, const struct seed *seed, struct err *err)
{
	const char *list = study->by == ADVISE_PATHS ? "paths" : "source_ports";

	if (study->runs == 0 || !cfg_has(&seed->sc->root.where, list))
		return 0;
	return err_set(err, -EINVAL,
		       "%s: it has a list \"%s\", and what is found would be another: take it out, or search %s",
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

/* What the first seed's flows are expected to come to, and what groups are called. */
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

/* Writes a run's scenario: the one that is studied, and what is placed. It must be what is there, if something is. */
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
	before = case_file_digest(path);
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

/* What is to be run of a seed. */
static int
place(struct ft_study *study, struct seed *seed, uint32_t at, struct err *err)
{
	struct advice advice;
	int ret = advise(&seed->sc->routing, seed->flows, seed->count, study->by, &seed->seen, &advice);

	if (ret != 0)
		err_set(err, ret, "out of memory for the ways of %u flows", seed->count);
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
