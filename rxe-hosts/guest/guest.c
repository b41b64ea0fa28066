/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/guest.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "rxe-hosts/guest/kind.h"
#include "rxe-hosts/guest/supervisor.h"

/* Handles with which a supervisor ends a guest that does not obey, and cleans up. */
#define SUPERVISOR_STOP_MS (GUEST_STOP_MS + 4000)
#define PROBE_NAME "probe"
#define KEPT_FDS 3

struct guest {
	char name[GUEST_MAX_NAME + 1];
	char dir[PATH_MAX];
	pid_t supervisor;
	int report;
	struct guest_status status;
};

static bool
good_name(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("-_.", name[i]) == NULL)
			return false;
	return length > 0 && length <= GUEST_MAX_NAME && name[0] != '.';
}

/* A word of a kernel's command line ends at a blank. */
static int
check_path(const char *what, const char *path, struct err *err)
{
	if (strpbrk(path, " \t\n\"") != NULL)
		return err_set(err, -EINVAL, "%s \"%s\": a guest's kernel takes no blanks and quotes in paths", what, path);
	return 0;
}

static int
check(const struct guest_config *config, struct err *err)
{
	if (guest_kind_find(config->kind, err) == NULL)
		return -EINVAL;
	if (!good_name(config->name))
		return err_set(err, -EINVAL, "guest \"%s\": a name has 1 to %d letters, digits, '-', '_' and '.'",
			       config->name, GUEST_MAX_NAME);
	if (access(config->init, X_OK) < 0)
		return err_set(err, -ENOENT, "%s: %s; ninja builds it", config->init, strerror(errno));
	if (config->nic != NULL && (config->ip == 0 || config->prefix_bits > 32 || config->mtu_bytes < 68))
		return err_set(err, -EINVAL, "guest \"%s\": a NIC needs an address, a prefix of 0 to 32 bits and an MTU",
			       config->name);
	return config->nic != NULL ? check_path("NIC", config->nic, err) : 0;
}

static int
ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Becomes the supervisor in the new process: keeps only the caller's state that it needs. */
static noreturn void
become_supervisor(const struct guest_config *config, int report)
{
	struct guest_config own = *config;
	int keep[] = { own.manage_fd, own.hold_fd, report }, highest = STDERR_FILENO;

	qsort(keep, KEPT_FDS, sizeof(keep[0]), ascending);
	for (size_t i = 0; i < KEPT_FDS; i++) {
		if (keep[i] <= highest)
			continue;
		if (keep[i] > highest + 1)
			close_range((unsigned)highest + 1, (unsigned)keep[i] - 1, 0);
		highest = keep[i];
	}
	close_range((unsigned)highest + 1, UINT_MAX, 0);
	supervisor_run(&own, report);
}

int
guest_start(const struct guest_config *config, struct guest **guest, struct err *err)
{
	char init[PATH_MAX];
	struct guest_config own = *config;
	struct guest *new;
	int ends[2], rc = check(config, err);

	if (rc < 0)
		return rc;
	new = calloc(1, sizeof(*new));
	if (new == NULL || realpath(config->init, init) == NULL || realpath(config->dir, new->dir) == NULL) {
		rc = err_set(err, -errno, "%s, %s: %s", config->dir, config->init, strerror(errno));
		goto fail;
	}
	own.init = init;
	rc = check_path("program", init, err);
	if (rc == 0)
		rc = check_path("folder", new->dir, err);
	if (rc < 0)
		goto fail;
	snprintf(new->name, sizeof(new->name), "%s", config->name);
	new->status = (struct guest_status){ .state = GUEST_BOOTING, .gid_index = UINT32_MAX, .exit_status = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		rc = err_set(err, -errno, "socketpair: %s", strerror(errno));
		goto fail;
	}
	new->report = ends[0];
	new->supervisor = fork();
	if (new->supervisor == 0)
		become_supervisor(&own, ends[1]);
	close(ends[1]);
	if (new->supervisor < 0) {
		rc = err_set(err, -errno, "fork: %s", strerror(errno));
		close(ends[0]);
		goto fail;
	}
	*guest = new;
	return 0;
fail:
	free(new);
	return rc;
}

int
guest_fd(const struct guest *guest)
{
	return guest->report;
}

const struct guest_status *
guest_poll(struct guest *guest)
{
	struct guest_status news;
	ssize_t n;

	while (guest->status.state != GUEST_ENDED) {
		n = recv(guest->report, &news, sizeof(news), MSG_DONTWAIT);
		if (n == sizeof(news)) {
			guest->status = news;
		} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
			guest->status.state = GUEST_ENDED;
			snprintf(guest->status.text, sizeof(guest->status.text), "its supervisor was killed");
		} else {
			break;
		}
	}
	return &guest->status;
}

int
guest_wait(struct guest *guest, enum guest_state state, unsigned timeout_ms, struct err *err)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + timeout_ms * 1000000ULL;

	while (guest_poll(guest)->state < state) {
		struct pollfd fd = { .fd = guest->report, .events = POLLIN };

		now_ns = clock_now_ns();
		if (now_ns >= end_ns)
			return err_set(err, -ETIMEDOUT, "guest %s: not ready after %u ms", guest->name, timeout_ms);
		if (poll(&fd, 1, (int)((end_ns - now_ns) / 1000000 + 1)) < 0 && errno != EINTR)
			return err_set(err, -errno, "guest %s: %s", guest->name, strerror(errno));
	}
	if (guest->status.state == GUEST_ENDED && state != GUEST_ENDED)
		return err_set(err, -ECONNRESET, "guest %s: %s", guest->name, guest->status.text);
	return 0;
}

void
guest_ask_stop(struct guest *guest)
{
	shutdown(guest->report, SHUT_WR);
}

void
guest_stop(struct guest *guest)
{
	guest_ask_stop(guest);
	guest_wait(guest, GUEST_ENDED, SUPERVISOR_STOP_MS, NULL);
	/* The supervisor has nothing left to do. */
	kill(guest->supervisor, SIGKILL);
	while (waitpid(guest->supervisor, NULL, 0) < 0 && errno == EINTR)
		continue;
	supervisor_files_remove(guest->dir, guest->name);
	close(guest->report);
	free(guest);
}

int
guest_probe(const struct guest_config *config, unsigned timeout_ms, struct err *err)
{
	static const char *const argv[] = { "rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "lo", NULL };
	struct guest_config probe = { .kind = config->kind,
				      .name = PROBE_NAME,
				      .dir = config->dir,
				      .init = config->init,
				      .kernel = config->kernel,
				      .argv = argv,
				      .manage_fd = -1,
				      .hold_fd = config->hold_fd };
	char log[PATH_MAX], last_line[256];
	struct guest *guest;
	int rc = guest_start(&probe, &guest, err);

	if (rc < 0)
		return rc;
	rc = guest_wait(guest, GUEST_EXITED, timeout_ms, err);
	if (rc == 0 && guest->status.exit_status != 0) {
		snprintf(log, sizeof(log), "%s/" PROBE_NAME ".log", config->dir);
		supervisor_last_line(log, last_line, sizeof(last_line));
		rc = err_set(err, -ENODEV, "no soft-RoCE in it, `rdma link add` fails: %s", last_line);
	}
	guest_stop(guest);
	return rc;
}

/* The kinds of guests. */

static const struct guest_kind *const kinds[] = { &guest_kind_uml, &guest_kind_qemu, &guest_kind_netns };

#define NKINDS ARRAY_LEN(kinds)

const struct guest_kind *
guest_kind_find(const char *name, struct err *err)
{
	for (size_t i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	err_set(err, -EINVAL, "no kind of guest \"%s\": there are uml, qemu and netns", name);
	return NULL;
}

int
guest_word(struct guest_words *words, struct err *err, const char *fmt, ...)
{
	size_t left = sizeof(words->text) - words->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(words->text + words->used, left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= left || words->count == GUEST_MAX_WORDS)
		return err_set(err, -E2BIG, "the guest's command line has more than %zu bytes or %d words",
			       sizeof(words->text), GUEST_MAX_WORDS);
	words->word[words->count++] = words->text + words->used;
	words->word[words->count] = NULL;
	words->used += (size_t)n + 1;
	return 0;
}

static int
nic_parameters(const struct guest_boot *boot, struct guest_words *words, struct err *err)
{
	const struct guest_config *config = boot->config;
	const uint8_t *mac = config->mac;
	char ip[INET_ADDRSTRLEN];
	int rc;

	inet_ntop(AF_INET, &config->ip, ip, sizeof(ip));
	rc = guest_word(words, err, "ROCELAB_ADDRESS=%s/%d", ip, config->prefix_bits);
	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_MAC=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
				mac[4], mac[5]);
	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_MTU=%d", config->mtu_bytes);
	return rc;
}

int
guest_parameters(const struct guest_boot *boot, const char *command, const char *manage, struct guest_words *words,
		 struct err *err)
{
	int rc = guest_word(words, err, "ROCELAB_NAME=%s", boot->config->name);

	if (rc == 0)
		rc = guest_word(words, err, "ROCELAB_COMMAND=%s", command);
	if (rc == 0 && boot->manage_fd >= 0)
		rc = guest_word(words, err, "ROCELAB_MANAGE=%s", manage);
	if (rc == 0 && boot->config->nic != NULL)
		rc = nic_parameters(boot, words, err);
	return rc;
}
