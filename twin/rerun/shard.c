/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/shard.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/input_file.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "twin/rerun/results.h"

int
shard_parse(struct shard *shard, char *text, struct err *err)
{
	char *slash = strchr(text, '/');
	const char *rest;
	uint64_t number, count;

	if (slash == NULL)
		return err_set(err, -EINVAL, "--shard %s: give its number and how many there are, as 2/4", text);
	*slash = '\0';
	rest = number_scan(slash + 1, &count);
	if (rest == NULL || *rest != '\0' || count < 1 || count > SHARD_MAX)
		return err_set(err, -EINVAL, "--shard: \"%s\" shards: 1 to %d would be right", slash + 1, SHARD_MAX);
	rest = number_scan(text, &number);
	if (rest == NULL || *rest != '\0' || number < 1 || number > count)
		return err_set(err, -EINVAL, "--shard: number \"%s\" of %u: 1 to %u would be right", text, (unsigned)count,
			       (unsigned)count);
	shard->number = (uint32_t)number - 1;
	shard->count = (uint32_t)count;
	return 0;
}

int
shard_add_folders(struct shard *shard, const char *pattern, struct err *err)
{
	int flags = GLOB_NOCHECK | (shard->folders.gl_pathc != 0 ? GLOB_APPEND : 0);

	return glob(pattern, flags, NULL, &shard->folders) == 0 ? 0
								: err_set(err, -ENOMEM, "out of memory for %s", pattern);
}

void
shard_fini(struct shard *shard)
{
	if (shard_is_merge(shard))
		globfree(&shard->folders);
	*shard = (struct shard){ 0 };
}

char *
shard_folder(const struct shard *shard, const char *dir, char *buf, size_t cap)
{
	if (shard_is_part(shard))
		snprintf(buf, cap, "%s-%u-of-%u", dir, shard->number + 1, shard->count);
	else
		snprintf(buf, cap, "%s", dir);
	return buf;
}

int
shard_check(const struct shard *shard, uint64_t missing, struct err *err)
{
	if (!shard_is_merge(shard) || missing == 0)
		return 0;
	return err_set(
		err, -ENODATA,
		"%llu runs are missing: give the folders of all shards, each complete, and the options that they had",
		(unsigned long long)missing);
}

/* ---- the union of folders ---- */

struct merge {
	const char *from, *to; /* folders */
	const char *const *kept;
};

static bool
ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), end = strlen(ending);

	return length >= end && strcmp(name + length - end, ending) == 0;
}

/* Is a file in the folder itself part of what shards share? */
static bool
is_kept(const struct merge *merge, const char *name)
{
	for (const char *const *kept = merge->kept; kept != NULL && *kept != NULL; kept++)
		if (strcmp(*kept, name) == 0)
			return true;
	return false;
}

static bool
is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* @return 0, or negative errno with err set; -EINVAL: they differ */
static int
compare_files(const char *from, const char *to, struct err *err)
{
	FILE *files[2] = { input_fopen(from, NULL), input_fopen(to, NULL) };
	char data[2][1 << 16];
	size_t got[2] = { 1, 1 };
	bool same = files[0] != NULL && files[1] != NULL;

	while (same && got[0] != 0) {
		for (int i = 0; i < 2; i++)
			got[i] = fread(data[i], 1, sizeof(data[i]), files[i]);
		same = got[0] == got[1] && memcmp(data[0], data[1], got[0]) == 0;
	}
	for (int i = 0; i < 2; i++)
		if (files[i] != NULL)
			fclose(files[i]);
	return same ? 0
		    : err_set(err, -EINVAL,
			      "%s and %s differ: they are of different series, or two shards made the same run; give the "
			      "folders of one series, or another --out",
			      from, to);
}

static int
copy_file(const char *from, const char *to, struct err *err)
{
	FILE *file = input_fopen(from, err);
	struct outfile out;
	char data[1 << 16];
	size_t got;
	int ret;

	if (file == NULL)
		return -errno;
	ret = outfile_open_path(&out, to, err);
	if (ret == 0) {
		while ((got = fread(data, 1, sizeof(data), file)) > 0)
			fwrite(data, 1, got, out.file); /* outfile_close() sees what fails */
		if (ferror(file))
			ret = err_set(err, -EIO, "%s cannot be read", from);
		ret = outfile_close(&out, ret, err);
	}
	fclose(file);
	return ret;
}

/* @param level  1: in the folder itself */
static int
take_file(const struct merge *merge, const char *from, const char *name, int level, struct err *err)
{
	char to[PATH_MAX];

	if (name[0] == '.' || ends_with(name, ".sqlite-journal"))
		return 0; /* not whole; SQLite reads a journal with its file */
	if (snprintf(to, sizeof(to), "%s%s", merge->to, from + strlen(merge->from)) >= (int)sizeof(to))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", merge->to);
	if (ends_with(name, ".sqlite") && strcmp(name, RUN_STORE) != 0) /* of a series, not of a run */
		return results_merge(to, from, err);
	if (level == 1 && !is_kept(merge, name))
		return 0;
	return access(to, F_OK) == 0 ? compare_files(from, to, err) : copy_file(from, to, err);
}

static int
take_folder(const struct merge *merge, const char *from, struct err *err)
{
	char to[PATH_MAX];

	if (snprintf(to, sizeof(to), "%s%s", merge->to, from + strlen(merge->from)) >= (int)sizeof(to))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", merge->to);
	return run_dir_make(to, err);
}

static int
take_all(const struct merge *merge, struct err *err)
{
	char *paths[] = { (char *)(uintptr_t)merge->from, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry = NULL;
	int ret = tree != NULL ? 0 : err_set(err, -errno, "%s: %s", merge->from, strerror(errno));

	while (ret >= 0 && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D)
			ret = take_folder(merge, entry->fts_path, err);
		else if (entry->fts_info == FTS_F)
			ret = take_file(merge, entry->fts_path, entry->fts_name, entry->fts_level, err);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
			ret = err_set(err, -entry->fts_errno, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
	}
	if (tree != NULL)
		fts_close(tree);
	return ret < 0 ? ret : 0;
}

int
shard_merge(const struct shard *shard, const char *dir, const char *const *kept, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; shard_is_merge(shard) && ret == 0 && i < shard->folders.gl_pathc; i++) {
		struct merge merge = { .to = dir, .kept = kept };
		struct run_dir from;

		if (is_same_file(shard->folders.gl_pathv[i], dir))
			continue;
		if (run_dir_open_existing(&from, shard->folders.gl_pathv[i], true, err) < 0)
			return -EINVAL;
		for (size_t end = strlen(from.path); end > 1 && from.path[end - 1] == '/'; end--)
			from.path[end - 1] = '\0';
		merge.from = from.path;
		ret = take_all(&merge, err);
		run_dir_close(&from);
	}
	return ret;
}
