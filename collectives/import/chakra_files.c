/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectives/import/chakra.h"
#include "common/number.h"

#define ENDING ".et"

/* "NAME.12.et" -> length of "NAME" and 12. @return whether it is one */
static bool
split_name(const char *name, size_t *stem, uint64_t *rank)
{
	size_t length = strlen(name), ending = strlen(ENDING);
	char number[16];
	const char *dot;

	if (length <= ending || strcmp(name + length - ending, ENDING) != 0)
		return false;
	dot = memrchr(name, '.', length - ending);
	if (dot == NULL || dot == name)
		return false;
	if ((size_t)snprintf(number, sizeof(number), "%.*s", (int)(name + length - ending - dot - 1), dot + 1) >=
	    sizeof(number))
		return false;
	*stem = (size_t)(dot - name);
	return number_parse(number, 0, UINT32_MAX, rank);
}

/* The one stem of a folder's traces, or what is before ".RANK.et" of a path. @return malloc'd; NULL with err set */
static char *
find_stem(struct chakra *chakra, DIR *folder)
{
	const struct dirent *entry;
	char *stem = NULL;
	uint64_t rank;
	size_t length;

	while ((entry = readdir(folder)) != NULL) {
		if (!split_name(entry->d_name, &length, &rank))
			continue;
		if (stem == NULL) {
			stem = strndup(entry->d_name, length);
		} else if (strlen(stem) != length || strncmp(stem, entry->d_name, length) != 0) {
			err_set(chakra->err, -EINVAL,
				"%s has traces of \"%s\" and of \"%.*s\": PATH/NAME, without .RANK" ENDING ", says which",
				chakra->options->path, stem, (int)length, entry->d_name);
			free(stem);
			return NULL;
		}
		if (stem == NULL)
			return NULL;
	}
	if (stem == NULL)
		err_set(chakra->err, -EINVAL, "%s has no NAME.RANK" ENDING, chakra->options->path);
	return stem;
}

static int
list_files(struct chakra *chakra, const char *folder, const char *stem)
{
	uint64_t rank;
	size_t length;

	chakra->paths = calloc(COLL_MAX_RANKS + 1, sizeof(*chakra->paths));
	if (chakra->paths == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r <= COLL_MAX_RANKS; r++) {
		struct stat st;
		char *path;

		if (asprintf(&path, "%s%s%s.%" PRIu32 ENDING, folder, *folder != '\0' ? "/" : "", stem, r) < 0)
			return -ENOMEM;
		if (stat(path, &st) != 0) {
			free(path);
			break;
		}
		chakra->paths[r] = path;
		chakra->ranks = r + 1;
	}
	if (chakra->ranks == 0 && split_name(stem, &length, &rank))
		return err_set(chakra->err, -EINVAL,
			       "%s is the trace of one rank; PATH/NAME, without .RANK" ENDING
			       ", or its folder, would be right",
			       chakra->options->path);
	if (chakra->ranks < 2)
		return err_set(chakra->err, -EINVAL, "%s%s%s.%" PRIu32 ENDING " is missing: a trace is of 2 ranks at least",
			       folder, *folder != '\0' ? "/" : "", stem, chakra->ranks);
	if (chakra->ranks > COLL_MAX_RANKS)
		return err_set(chakra->err, -EINVAL, "%s: more than %d ranks", chakra->options->path, COLL_MAX_RANKS);
	return 0;
}

/* A rank behind a gap would be left out silently. */
static int
check_gap(struct chakra *chakra, DIR *folder, const char *stem)
{
	const struct dirent *entry;
	uint64_t rank;
	size_t length;

	rewinddir(folder);
	while ((entry = readdir(folder)) != NULL)
		if (split_name(entry->d_name, &length, &rank) && strlen(stem) == length &&
		    strncmp(stem, entry->d_name, length) == 0 && rank >= chakra->ranks)
			return err_set(chakra->err, -EINVAL, "%s: there is %s, but no %s.%" PRIu32 ENDING,
				       chakra->options->path, entry->d_name, stem, chakra->ranks);
	return 0;
}

int
chakra_find_files(struct chakra *chakra)
{
	const char *path = chakra->options->path, *slash = strrchr(path, '/');
	DIR *folder = opendir(path);
	char *where = NULL, *stem = NULL;
	int rc = -ENOMEM;

	if (folder != NULL) {
		where = strdup(path);
		stem = find_stem(chakra, folder);
	} else {
		where = slash != NULL ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup("");
		stem = strdup(slash != NULL ? slash + 1 : path);
		if (where != NULL)
			folder = opendir(*where != '\0' ? where : ".");
		if (where != NULL && folder == NULL)
			rc = err_set(chakra->err, -errno, "%s: %s", path, strerror(errno));
	}
	if (chakra->err->text[0] != '\0')
		rc = -EINVAL;
	else if (where != NULL && stem != NULL)
		rc = list_files(chakra, where, stem);
	if (rc == 0)
		rc = check_gap(chakra, folder, stem);
	if (folder != NULL)
		closedir(folder);
	free(where);
	free(stem);
	return rc;
}
