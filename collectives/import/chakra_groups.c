/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process groups: { "NAME": [ranks], ... } of a file, as astra-sim has it, or what PyTorch's traces keep in the inputs of
 * a metadata node: [{"pg_name": "NAME", "ranks": [ranks], ...}, ...], no ranks being all of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/chakra.h"
#include "collectives/import/room.h"

const struct chakra_group *
chakra_find_group(const struct chakra *chakra, const char *name)
{
	for (size_t i = 0; i < chakra->ngroups; i++)
		if (strcmp(chakra->groups[i].name, name) == 0)
			return &chakra->groups[i];
	return NULL;
}

static int
read_ranks(const struct chakra *chakra, const char *place, const char *name, const json_t *list, uint32_t *ranks)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		json_int_t rank = json_is_integer(item) ? json_integer_value(item) : -1;

		if (rank < 0 || rank >= (json_int_t)chakra->ranks)
			return err_set(chakra->err, -EINVAL,
				       "%s: group \"%s\": member %zu is no rank of the trace, 0 to %" PRIu32, place, name,
				       i + 1, chakra->ranks - 1);
		ranks[i] = (uint32_t)rank;
		for (size_t before = 0; before < i; before++)
			if (ranks[before] == ranks[i])
				return err_set(chakra->err, -EINVAL, "%s: group \"%s\" has rank %" PRIu32 " twice", place,
					       name, ranks[i]);
	}
	return 0;
}

/* Every rank's trace may tell of a group: they have to agree. */
static int
add_group(struct chakra *chakra, const char *place, const char *name, const json_t *list)
{
	const struct chakra_group *same = chakra_find_group(chakra, name);
	size_t count = json_array_size(list);
	struct chakra_group group = { .nranks = (uint32_t)count };
	int rc;

	if (*name == '\0' || strlen(name) >= sizeof(group.name) || count > chakra->ranks)
		return err_set(chakra->err, -EINVAL, "%s: group \"%.32s\" of %zu ranks; the trace has %" PRIu32, place,
			       name, count, chakra->ranks);
	if (chakra->ngroups == CHAKRA_MAX_GROUPS)
		return err_set(chakra->err, -EINVAL, "%s: more than %d groups", place, CHAKRA_MAX_GROUPS);
	snprintf(group.name, sizeof(group.name), "%s", name);
	group.ranks = calloc(count + 1, sizeof(*group.ranks));
	if (group.ranks == NULL)
		return -ENOMEM;
	rc = read_ranks(chakra, place, name, list, group.ranks);
	if (rc == 0 && same != NULL &&
	    (same->nranks != group.nranks || memcmp(same->ranks, group.ranks, count * sizeof(*group.ranks)) != 0))
		rc = err_set(chakra->err, -EINVAL, "%s: group \"%s\" has other ranks than it had before", place, name);
	if (rc != 0 || same != NULL) {
		free(group.ranks);
		return rc;
	}
	if (!import_room(&chakra->groups, &chakra->group_room, chakra->ngroups, sizeof(*chakra->groups))) {
		free(group.ranks);
		return -ENOMEM;
	}
	chakra->groups[chakra->ngroups++] = group;
	return 0;
}

int
chakra_groups_of_inputs(struct chakra *chakra, const char *values, const char *place)
{
	const char *begins = values != NULL ? strstr(values, "[{") : NULL, *ends = begins, *next;
	json_t *list;
	int rc = 0;

	while (ends != NULL && (next = strstr(ends + 1, "}]")) != NULL)
		ends = next;
	if (begins == NULL || ends == begins)
		return 0;
	list = json_loadb(begins, (size_t)(ends + 2 - begins), JSON_REJECT_DUPLICATES, NULL);
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		const json_t *name = json_object_get(json_array_get(list, i), "pg_name");
		const json_t *ranks = json_object_get(json_array_get(list, i), "ranks");

		/* Without ranks: all of them, which has no need of a group. */
		if (json_is_string(name) && json_array_size(ranks) != 0)
			rc = add_group(chakra, place, json_string_value(name), ranks);
	}
	json_decref(list);
	return rc;
}

int
chakra_read_groups(struct chakra *chakra)
{
	const char *path = chakra->options->groups_path, *name;
	json_error_t error;
	json_t *root, *list;
	size_t length;
	char *text;
	int rc = 0;

	if (path == NULL)
		return 0;
	text = import_read_text(path, &length, chakra->err);
	if (text == NULL)
		return -errno;
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (root == NULL)
		return err_set(chakra->err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	if (!json_is_object(root))
		rc = err_set(chakra->err, -EINVAL, "%s: {\"GROUP\": [RANK, ...], ...} would be right", path);
	json_object_foreach(root, name, list)
	{
		if (rc == 0 && json_array_size(list) == 0)
			rc = err_set(chakra->err, -EINVAL, "%s: group \"%.32s\" has no list of ranks", path, name);
		if (rc == 0)
			rc = add_group(chakra, path, name, list);
	}
	json_decref(root);
	return rc;
}
