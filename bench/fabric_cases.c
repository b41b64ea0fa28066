/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/fabric_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/program.h"

#define HEAD(k)                                                                                                            \
	"topology = { kind = \"fat-tree\"; k = " k "; rate = \"100Gbps\"; delay = \"2us\"; };\n"                           \
	"timing = { pipeline = \"0ns\"; };\ndetection = { policy = \"off\"; };\n"

#define INCAST_SENDERS 15
#define INCAST_BYTES 40000000
#define K4_STEP_BYTES 6000000
#define K8_STEP_BYTES 100000
#define LEAF_SPINE_STEP_BYTES 1000000

static void
write_ring(FILE *to, int step_bytes, int percent)
{
	fprintf(to, "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"%d\"; } );\n",
		step_bytes / 100 * percent);
}

static void
write_k4_ring(FILE *to, int percent)
{
	fputs(HEAD("4"), to);
	write_ring(to, K4_STEP_BYTES, percent);
}

static void
write_k4_incast(FILE *to, int percent)
{
	fputs(HEAD("4") "flows = (\n", to);
	for (int i = 1; i <= INCAST_SENDERS; i++)
		fprintf(to, "  { src = \"h%d\"; dst = \"h0\"; sport = %d; bytes = \"%d\"; }%s\n", i, 20000 + i,
			INCAST_BYTES / 100 * percent, i < INCAST_SENDERS ? "," : "");
	fputs(");\n", to);
}

static void
write_k8_ring(FILE *to, int percent)
{
	fputs(HEAD("8"), to);
	write_ring(to, K8_STEP_BYTES, percent);
}

/* 32 leaves of one host and 16 spines; packets may arrive in any order. */
static void
write_leaf_spine_ring(FILE *to, int percent)
{
	fputs("topology = { kind = \"leaf-spine\"; leaves = 32; spines = 16; hosts_per_leaf = 1; rate = \"100Gbps\"; };\n"
	      "detection = { policy = \"off\"; };\nhost = { transport = \"selective\"; };\n",
	      to);
	write_ring(to, LEAF_SPINE_STEP_BYTES, percent);
}

#define BALANCED(kind)                                                                                                     \
	{                                                                                                                  \
		"32x16 ring, " kind, write_leaf_spine_ring, true, "1", "load_balancing.kind=" kind                         \
	}

const struct fabric_case fabric_cases[] = {
	{ "K=4 ring", write_k4_ring, true, "1", NULL },
	{ "K=4 ring", write_k4_ring, false, "1", NULL },
	{ "K=4 ring", write_k4_ring, true, "2", NULL },
	{ "K=4 incast 15->1", write_k4_incast, true, "1", NULL },
	{ "K=4 incast 15->1", write_k4_incast, false, "1", NULL },
	{ "K=4 incast 15->1", write_k4_incast, true, "2", NULL },
	{ "K=8 ring", write_k8_ring, true, "1", NULL },
	{ "K=8 ring", write_k8_ring, false, "1", NULL },
	{ "K=8 ring", write_k8_ring, true, "2", NULL },
	BALANCED("ecmp"),
	BALANCED("random"),
	BALANCED("round-robin"),
	BALANCED("adaptive"),
};

bool
fabric_case_is_meant(const struct fabric_case *c, const char *only)
{
	return only == NULL || strstr(c->name, only) != NULL;
}

/* @return the object in DIR/NAME, or NULL with err set */
static json_t *
load(const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	root = input_json(path, 0, &error);
	if (root == NULL)
		err_set(err, -EPROTO, "%s: %s", path, error.text);
	return root;
}

static int
set_profiles(struct child_args *args, struct err *err)
{
	static const char *const values[] = { "--set", "switch.profile=ns3", "--set", "host.profile=ns3" };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(values); i++)
		ret = child_add(args, values[i], err);
	return ret;
}

#define MESSAGES "%s/messages.txt"

/*
 * Runs a program with its stderr in a file of dir: a case that is refused, or that is warned of at the start of each of its
 * runs, is no message for the user.
 * @return as child_wait(), or negative errno with err set
 */
static int
run_aside(const char *program, const struct child_args *args, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	int kept = dup(STDERR_FILENO), file;
	pid_t pid;

	snprintf(path, sizeof(path), MESSAGES, dir);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(file, STDERR_FILENO);
	pid = child_start(program, args, false, err);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(file);
	return pid < 0 ? pid : child_wait(pid);
}

/* Copies the messages of a failed run to stderr. */
static void
show_messages(const char *dir)
{
	char path[PATH_MAX], text[4096];
	size_t count;
	FILE *from;

	snprintf(path, sizeof(path), MESSAGES, dir);
	from = fopen(path, "re");
	while (from != NULL && (count = fread(text, 1, sizeof(text), from)) > 0)
		fwrite(text, 1, count, stderr);
	if (from != NULL)
		fclose(from);
}

int
fabric_program_probe(struct fabric_program *program, const char *dir, struct err *err)
{
	char path[PATH_MAX + 64];
	struct child_args args = { .argv = { "dpswitch", path, "--out", dir, "--quiet" }, .count = 5 };
	struct outfile out;
	int ret;

	snprintf(path, sizeof(path), "%s/probe.cfg", dir);
	ret = outfile_open_path(&out, path, err);
	if (ret == 0) {
		fputs(HEAD("4"), out.file);
		write_ring(out.file, 100, 100);
		ret = outfile_close(&out, 0, err);
	}
	ret = ret == 0 ? set_profiles(&args, err) : ret;
	ret = ret == 0 ? run_aside(program->path, &args, dir, err) : ret;
	program->has_profiles = ret == 0;
	return ret < 0 ? ret : 0;
}

/* A case's arguments. @param args  with those of any run */
static void
set_case(struct child_args *args, const struct fabric_case *c, const struct fabric_program *program, struct err *err)
{
	if (program->has_profiles)
		set_profiles(args, err);
	if (!c->telemetry) {
		child_add(args, "--set", err);
		child_add(args, "telemetry.enabled=false", err);
	}
	if (c->set != NULL) {
		child_add(args, "--set", err);
		child_add(args, c->set, err);
	}
}

/* @param path  [cap] set to its scenario in dir. @return 0, or negative errno with err set */
static int
write_case(const struct fabric_case *c, int percent, const char *dir, char *path, size_t cap, struct err *err)
{
	struct outfile out;
	int ret;

	snprintf(path, cap, "%s/bench.cfg", dir);
	ret = outfile_open_path(&out, path, err);
	if (ret < 0)
		return ret;
	c->write(out.file, percent);
	return outfile_close(&out, 0, err);
}

int
fabric_case_probe(const struct fabric_case *c, const struct fabric_program *program, const char *dir, bool *known,
		  struct err *err)
{
	char path[PATH_MAX + 64];
	struct child_args args = { .argv = { "dpswitch", path, "--out", dir, "--lcores", c->lcores, "--quiet" },
				   .count = 7 };
	int ret = write_case(c, 1, dir, path, sizeof(path), err);

	set_case(&args, c, program, err);
	ret = ret == 0 ? run_aside(program->path, &args, dir, err) : ret;
	*known = ret != EXIT_USAGE;
	return ret < 0 ? ret : 0;
}

static int
start(const struct fabric_case *c, const char *scenario, const struct fabric_program *program, const char *dir,
      struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", scenario, "--out", dir, "--lcores", c->lcores, "--quiet" },
				   .count = 7 };
	char path[PATH_MAX], text[64];
	int status;

	set_case(&args, c, program, err);
	/* A run.json that a former run left is not this one's. */
	snprintf(path, sizeof(path), "%s/run.json", dir);
	remove(path);
	status = run_aside(program->path, &args, dir, err);
	if (status <= 0)
		return status;
	show_messages(dir);
	return err_set(err, -EIO, "%s: %s %s", c->name, program->path, child_text(status, text, sizeof(text)));
}

/* @param file  that the object is of @return 0, or -EPROTO with err set: it has no such number */
static int
number(const json_t *object, const char *file, const char *key, double *value, struct err *err)
{
	const json_t *found = json_object_get(object, key);

	if (!json_is_number(found))
		return err_set(err, -EPROTO, "%s has no number \"%s\"", file, key);
	*value = json_number_value(found);
	return 0;
}

/* @param file  in words, for messages */
static int
read_run(const json_t *root, const char *file, struct fabric_run *run, struct err *err)
{
	double hops_per_s = 0, buffer_bytes = 0;
	int ret = number(root, file, "hops_per_cpu_s", &hops_per_s, err);

	ret = ret < 0 ? ret : number(root, file, "packet_hops", &run->hops, err);
	ret = ret < 0 ? ret : number(root, file, "fast_path_share", &run->fast_share, err);
	ret = ret < 0 ? ret : number(root, file, "switch_buffer_bytes", &buffer_bytes, err);
	if (ret == 0 && (hops_per_s <= 0 || run->hops <= 0))
		ret = err_set(err, -EPROTO, "%s counts no packet", file);
	run->mhops = hops_per_s / 1e6;
	run->buffer_kib = buffer_bytes / 1024;
	return ret;
}

int
fabric_case_run(const struct fabric_case *c, int percent, const struct fabric_program *program, const char *dir,
		struct fabric_run *run, struct err *err)
{
	char path[PATH_MAX + 64];
	json_t *root;
	int ret = write_case(c, percent, dir, path, sizeof(path), err);

	if (ret == 0)
		ret = start(c, path, program, dir, err);
	if (ret < 0)
		return ret;
	root = load(dir, "run.json", err);
	if (root == NULL)
		return -EPROTO;
	snprintf(path, sizeof(path), "%s: %s: its run.json", c->name, program->path);
	ret = read_run(root, path, run, err);
	json_decref(root);
	return ret;
}

const char *
fabric_cpu(char *text, size_t cap)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[512], name[128] = "";
	int family = 0, model = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL && line[0] != '\n') {
		sscanf(line, "model name : %127[^\n]", name);
		sscanf(line, "cpu family : %d", &family);
		sscanf(line, "model : %d", &model);
	}
	if (file != NULL)
		fclose(file);
	if (name[0] == '\0')
		snprintf(text, cap, "unknown processor");
	else if (family != 0)
		snprintf(text, cap, "%s, family %d, model %d", name, family, model);
	else
		snprintf(text, cap, "%s", name);
	return text;
}

double
fabric_macswap_ns(const char *dpswitch, const char *dir, struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", "--calibration", dir }, .count = 3 };
	pid_t pid = child_start(dpswitch, &args, false, err);
	double ns = -1;
	json_t *root;

	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(err, -EIO, "%s: the calibration failed", dpswitch);
	root = load(dir, "calibration.json", err);
	if (root == NULL)
		return -EPROTO;
	if (number(root, "calibration.json", "macswap_ns", &ns, err) < 0)
		ns = -1;
	json_decref(root);
	return ns;
}
