/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/run_hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/unix_socket.h"
#include "rxe-hosts/guest/guest.h"
#include "scenario/scenario.h"

/* Paths of the script that builds and finds the kernel: in the source tree of this build, or installed. */
static const char *const scripts[] = {
	ROCELAB_SOURCE "/scripts/rxe-kernel",
	ROCELAB_DATA "/scripts/rxe-kernel",
};

/* Runs the script. @param option  "--cached", or "" to build the missing parts */
static void
ask_kernel(const char *option, char *path, size_t cap)
{
	char command[PATH_MAX + 32];

	path[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(scripts) && path[0] == '\0'; i++) {
		char line[PATH_MAX];
		FILE *script;

		if (access(scripts[i], X_OK) < 0)
			continue;
		snprintf(command, sizeof(command), "'%s' %s", scripts[i], option);
		script = popen(command, "re");
		if (script == NULL)
			continue;
		while (fgets(line, sizeof(line), script) != NULL) /* the last line is the path */
			snprintf(path, cap, "%.*s", (int)strcspn(line, "\n"), line);
		pclose(script);
	}
}

int
guests_find(struct guests_paths *paths, struct err *err)
{
	ask_kernel("--cached", paths->kernel, sizeof(paths->kernel));
	return child_find("rxe-guest-init", "rxe-hosts/guest", paths->init, sizeof(paths->init), err);
}

/* Runs scripts/setup kernel, whose output the user sees. @return its exit status, -1: it is not there */
static int
install_packages(void)
{
	char command[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		if (access(scripts[i], X_OK) < 0)
			continue;
		snprintf(command, sizeof(command), "'%.*s/setup' kernel >&2", (int)(strrchr(scripts[i], '/') - scripts[i]),
			 scripts[i]);
		return system(command);
	}
	return -1;
}

int
guests_install(struct guests_paths *paths, struct err *err)
{
	log_info("preparing guests: missing packages are installed, and their kernel is built once, which takes some "
		 "minutes");
	if (install_packages() != 0)
		return err_set(err, -ENOENT, "the packages were not installed; scripts/setup kernel reports why");
	ask_kernel("", paths->kernel, sizeof(paths->kernel));
	if (paths->kernel[0] != '/' || access(paths->kernel, X_OK) < 0)
		return err_set(err, -ENOENT, "the guests' kernel was not built; scripts/rxe-kernel reports why");
	return 0;
}

/* @return whether a person at a terminal agrees */
static bool
is_agreed(void)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fputs("The kernel of guests is not built yet. Install packages and build it now, which takes some minutes? [y/N] ",
	      stderr);
	return fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/*
 * Offers at a terminal to install a kernel that guests_find() did not find; without a terminal, the kernel is missing.
 * @return 0, or negative errno with err, which has the command: -ENOPKG: there is no kernel
 */
static int
guests_want_kernel(struct guests_paths *paths, struct err *err)
{
	if (paths->kernel[0] != '\0')
		return 0;
	if (is_agreed())
		return guests_install(paths, err);
	return err_set(
		err, -ENOPKG,
		"the kernel that guests boot is not built yet: `rocelab doctor --install` installs what it needs and "
		"builds it, once");
}

#define PREFIX_BITS 8 /* of topo_nic_ip() */
#define MAX_ARGS (2 * SCENARIO_MAX_SETS + 16)

struct run_host {
	uint32_t node;
	struct guest *guest; /* NULL: not booted, or not ours to boot */
	bool booted, reported;
	bool named; /* its process, to the fabric */
};

struct run_hosts {
	struct scenario *scenario;
	const struct scenario_options *options;
	const char *sockets; /* folder of */
	int dir_lock;
	char dir[PATH_MAX], file[PATH_MAX], program[PATH_MAX];
	struct guests_paths paths;
	struct run_host *hosts; /* [count] */
	uint32_t count;
};

static bool
needs_kernel(const struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (sc->hosts[i] != NULL && host_kinds[sc->hosts[i]->kind].builds_kernel)
			return true;
	return false;
}

static int
find_programs(struct run_hosts *hosts, struct err *err)
{
	int ret = guests_find(&hosts->paths, err);

	if (ret == 0)
		ret = child_find("rxe-host", "rxe-hosts", hosts->program, sizeof(hosts->program), err);
	if (ret == 0 && needs_kernel(hosts->scenario))
		ret = guests_want_kernel(&hosts->paths, err);
	return ret;
}

static int
make_folder(struct run_hosts *hosts, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	struct stat status;
	int ret;

	if (snprintf(path, sizeof(path), "%s/" RUN_GUESTS, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	ret = run_files_remove_guests(dir, err);
	if (ret < 0)
		return ret;
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return err_set(err, -ENOTDIR, "%s: no folder, but something else of that name", path);
	if (realpath(path, hosts->dir) == NULL || realpath(hosts->options->path, hosts->file) == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* The place where hosts of another program find the fabric. */
static void
name_awaited(const struct run_hosts *hosts)
{
	const struct scenario *sc = hosts->scenario;

	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (sc->hosts[i] != NULL && host_kinds[sc->hosts[i]->kind].remote)
			log_info("waiting for host %s: start rxe-host there with --host %s --manage %s/%s.manage",
				 sc->topo->nodes[i].name, sc->topo->nodes[i].name, hosts->sockets, sc->topo->nodes[i].name);
}

int
run_hosts_create(const struct scenario_options *options, struct scenario *scenario, const struct run_dir *dir,
		 const char *sockets, struct run_hosts **out, struct err *err)
{
	struct run_hosts *hosts;
	int ret;

	*out = NULL;
	if (scenario->nexternal == 0) {
		scenario_destroy(scenario);
		return 0;
	}
	hosts = calloc(1, sizeof(*hosts));
	if (hosts != NULL)
		hosts->hosts = calloc(scenario->nexternal, sizeof(*hosts->hosts));
	if (hosts == NULL || hosts->hosts == NULL) {
		free(hosts);
		scenario_destroy(scenario);
		return err_set(err, -ENOMEM, "out of memory for hosts");
	}
	hosts->scenario = scenario;
	hosts->options = options;
	hosts->sockets = sockets;
	hosts->dir_lock = dir->lock;
	for (uint32_t i = 0; i < scenario->topo->nnodes; i++)
		if (scenario->hosts[i] != NULL && host_kinds[scenario->hosts[i]->kind].guest != NULL)
			hosts->hosts[hosts->count++].node = i;
	ret = make_folder(hosts, dir->path, err);
	if (ret == 0)
		name_awaited(hosts);
	if (ret == 0 && hosts->count > 0)
		ret = find_programs(hosts, err);
	if (ret == 0)
		*out = hosts;
	else
		run_hosts_destroy(hosts);
	return ret;
}

void
run_hosts_destroy(struct run_hosts *hosts)
{
	if (hosts == NULL)
		return;
	run_hosts_stop(hosts);
	if (hosts->dir[0] != '\0')
		rmdir(hosts->dir); /* kept where it holds logs */
	scenario_destroy(hosts->scenario);
	free(hosts->hosts);
	free(hosts);
}

/* @return descriptor, -ECONNREFUSED: the fabric does not listen yet, or another negative errno with err set */
static int
connect_manage(const char *path, struct err *err)
{
	struct err why = { 0 };
	int fd = unix_connect(path, "fabric", &why);

	return fd >= 0 || fd == -ECONNREFUSED ? fd : err_set(err, fd, "%s", why.text);
}

/* The command line of a host's program: the scenario as dpswitch reads it. */
static void
host_program(const struct run_hosts *hosts, const char *name, const char **argv)
{
	const struct scenario_options *options = hosts->options;
	size_t n = 0;

	argv[n++] = hosts->program;
	argv[n++] = hosts->file;
	argv[n++] = "--host";
	argv[n++] = name;
	argv[n++] = "--manage";
	argv[n++] = "fd:3";
	for (size_t i = 0; i < options->nsets; i++) {
		argv[n++] = "--set";
		argv[n++] = options->sets[i];
	}
	if (options->seed != NULL) {
		argv[n++] = "--seed";
		argv[n++] = options->seed;
	}
	argv[n] = NULL;
}

static int
boot(struct run_hosts *hosts, struct run_host *host, const char *manage, struct err *err)
{
	const struct scenario *sc = hosts->scenario;
	const char *name = sc->topo->nodes[host->node].name, *argv[MAX_ARGS];
	const struct host_config *of = sc->hosts[host->node];
	const struct host_cable cable = { of, hosts->sockets, name, host->node };
	char nic[96];
	struct guest_config config = {
		.kind = host_kinds[of->kind].guest,
		.name = name,
		.dir = hosts->dir,
		.init = hosts->paths.init,
		.kernel = hosts->paths.kernel,
		.memory_mib = (unsigned)(of->memory_bytes >> 20),
		.nic = nic,
		.ip = htonl(topo_nic_ip(host->node, 0)),
		.prefix_bits = PREFIX_BITS,
		.mtu_bytes = (uint16_t)sc->host_mtu_bytes,
		.argv = argv,
		.hold_fd = hosts->dir_lock,
	};
	int ret;

	host_kinds[of->kind].nic(&cable, nic, sizeof(nic));
	topo_nic_mac(host->node, 0, config.mac);
	host_program(hosts, name, argv);
	config.manage_fd = connect_manage(manage, err);
	if (config.manage_fd < 0)
		return config.manage_fd;
	ret = guest_start(&config, &host->guest, err);
	close(config.manage_fd);
	host->booted = ret == 0;
	return ret;
}

/* The fabric makes it when it is ready for the host, and removes it when it is through. */
static const char *
manage_path(const struct run_hosts *hosts, const struct run_host *host, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s/%s.manage", hosts->sockets, hosts->scenario->topo->nodes[host->node].name);
	return buf;
}

/*
 * Writes a process's number for the fabric, which measures how long the host's processes wait for a processor. The file
 * is removed with the folder.
 */
static void
write_pid(const struct run_hosts *hosts, const struct run_host *host, int32_t pid)
{
	const char *name = hosts->scenario->topo->nodes[host->node].name;
	char path[PATH_MAX], made[PATH_MAX];
	FILE *file;

	snprintf(made, sizeof(made), "%s/%s.pid.new", hosts->sockets, name);
	snprintf(path, sizeof(path), "%s/%s.pid", hosts->sockets, name);
	file = fopen(made, "we");
	if (file == NULL)
		return; /* it is not measured then, and the verdict reports that */
	fprintf(file, "%d\n", (int)pid);
	fclose(file);
	rename(made, path);
}

/* A guest without its program sends nothing any more; the fabric sees the end of the channel. */
static void
watch(struct run_hosts *hosts, struct run_host *host)
{
	const struct guest_status *status = guest_poll(host->guest);
	const char *name = hosts->scenario->topo->nodes[host->node].name;
	char path[PATH_MAX];

	if (status->pid != 0 && !host->named) {
		write_pid(hosts, host, status->pid);
		host->named = true;
	}
	if (status->state < GUEST_EXITED || host->reported)
		return;
	host->reported = true;
	if (access(manage_path(hosts, host, path, sizeof(path)), F_OK) < 0)
		; /* the fabric is through, and its hosts with it */
	else if (status->state == GUEST_ENDED)
		log_warning("host %s ended: %s; see %s/%s.log", name, status->text, hosts->dir, name);
	else if (status->exit_status != 0)
		log_warning("rxe-host on %s ended with status %d; see %s/%s.log", name, status->exit_status, hosts->dir,
			    name);
	guest_ask_stop(host->guest);
}

int
run_hosts_tend(struct run_hosts *hosts, struct err *err)
{
	for (uint32_t i = 0; i < hosts->count; i++) {
		struct run_host *host = &hosts->hosts[i];
		char manage[96];

		if (host->guest != NULL) {
			watch(hosts, host);
			continue;
		}
		if (host->booted)
			continue;
		if (access(manage_path(hosts, host, manage, sizeof(manage)), F_OK) == 0) {
			int ret = boot(hosts, host, manage, err);

			if (ret < 0 && ret != -ECONNREFUSED)
				return ret;
		}
	}
	return 0;
}

void
run_hosts_stop(struct run_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		if (hosts->hosts[i].guest != NULL)
			guest_ask_stop(hosts->hosts[i].guest);
	for (uint32_t i = 0; i < hosts->count; i++) {
		if (hosts->hosts[i].guest != NULL)
			guest_stop(hosts->hosts[i].guest);
		hosts->hosts[i].guest = NULL;
	}
}
