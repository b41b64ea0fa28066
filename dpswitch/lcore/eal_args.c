/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/lcore/eal_args.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define HUGEPAGES "/sys/kernel/mm/hugepages"
#define SPACES " \t\n"

static int
add(struct eal_args *args, const char *word, size_t size, struct err *err)
{
	if (args->argc == EAL_ARGS_MAX || args->used + size + 1 > sizeof(args->text))
		return err_set(err, -EINVAL, "--eal: more than %d words, or %d characters", EAL_ARGS_MAX, EAL_TEXT_MAX);
	args->argv[args->argc++] = memcpy(args->text + args->used, word, size);
	args->text[args->used + size] = '\0';
	args->used += (uint32_t)size + 1;
	args->argv[args->argc] = NULL;
	return 0;
}

/* Does the user give one of these options, alone or as "OPTION=.."? Ended by NULL. */
static bool
has(const struct eal_args *args, const char *const *options)
{
	for (; *options != NULL; options++) {
		size_t size = strlen(*options);

		for (int i = 0; i < args->argc; i++)
			if (strncmp(args->argv[i], *options, size) == 0 &&
			    (args->argv[i][size] == '\0' || args->argv[i][size] == '=' || (*options)[1] != '-'))
				return true;
	}
	return false;
}

/* @return MB of hugepages that are free, of the size of which there are most */
static uint64_t
free_hugepages_mb(void)
{
	DIR *dir = opendir(HUGEPAGES);
	uint64_t most_mb = 0;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		unsigned long long kb, pages;
		char path[PATH_MAX];
		FILE *file;

		if (sscanf(entry->d_name, "hugepages-%llukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), HUGEPAGES "/%s/free_hugepages", entry->d_name);
		file = fopen(path, "r");
		if (file != NULL && fscanf(file, "%llu", &pages) == 1 && pages * kb / 1024 > most_mb)
			most_mb = pages * kb / 1024;
		if (file != NULL)
			fclose(file);
	}
	if (dir != NULL)
		closedir(dir);
	return most_mb;
}

/* What the user writes comes first; of ours, what that replaces stays away. */
int
eal_args_make(struct eal_args *args, const struct lcore_config *config, const char *map, struct err *err)
{
	static const char *const memory[] = { "-m", "--socket-mem", NULL }, *const logs[] = { "--log-level", NULL };
	static const char *const pages[] = { "--no-huge", "--in-memory", "--huge-dir", "--huge-unlink", NULL };
	static const char *const pci[] = { "-a", "--allow", "-b", "--block", NULL };
	static const char *const telemetry[] = { "--telemetry", NULL };
	char memory_mb[16];
	int ret;

	*args = (struct eal_args){ .memory_mb = config->memory_mb != 0 ? config->memory_mb : LCORE_MEMORY_MB,
				   .user = config->eal };
	snprintf(memory_mb, sizeof(memory_mb), "%u", args->memory_mb);
	ret = add(args, "dpswitch", strlen("dpswitch"), err);
	for (const char *word = config->eal; ret == 0 && word != NULL && *(word += strspn(word, SPACES)) != '\0';) {
		size_t size = strcspn(word, SPACES);

		ret = add(args, word, size, err);
		word += size;
	}
	args->shares = has(args, telemetry);
	args->huge = !has(args, pages) && getenv(EAL_NO_HUGEPAGES) == NULL && free_hugepages_mb() >= args->memory_mb;
	const struct {
		const char *words[2];
		bool wanted;
	} ours[] = {
		{ { "--lcores", map }, true },
		{ { "-m", memory_mb }, !has(args, memory) },
		{ { "--log-level", "lib.eal:error" }, !has(args, logs) },
		{ { "--in-memory" }, args->huge },
		{ { "--no-huge" }, !has(args, pages) && !args->huge },
		{ { "--no-shconf" }, !args->huge }, /* nobody shares: EAL's folder is gone once it runs */
		{ { "--no-pci" }, !config->pci && !has(args, pci) },
		{ { "--no-telemetry" }, !args->shares },
	};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		for (size_t k = 0; ret == 0 && ours[i].wanted && k < 2 && ours[i].words[k] != NULL; k++)
			ret = add(args, ours[i].words[k], strlen(ours[i].words[k]), err);
	return ret;
}
