/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/outfile.h"
#include "rxe-hosts/guest/kind.h"

/*
 * The reaper of a guest's process group: it ends the group when the supervisor was killed and cannot. A death signal
 * reaches only the supervisor's own child. Processes that user-mode Linux has forked by then may be stopped under
 * ptrace, with the guest's connections open, and their peers would wait for ever.
 *
 * The guest leads the group, as user-mode Linux would make itself a session of its own if it led none. The reaper is in
 * the group, and a child of the supervisor, which is a subreaper: the guest has no unknown child.
 */

#define BOOT_NS (120 * 1000000000ULL) /* sixteen at once on two busy cores take a tenth of it */
#define STOP_NS (GUEST_STOP_MS * 1000000ULL)
#define REAP_NS 2000000000ULL
#define REAP_POLL_NS 2000000ULL

struct supervisor {
	const struct guest_config *config;
	const struct guest_kind *kind;
	struct supervisor_files files;
	struct guest_boot boot;
	int report, signals;
	pid_t pid; /* the process that runs the guest; leads its process group */
	int alive; /* closed by any end of this process: the reaper waits for it */
	bool ended, stopping;
	bool asked;     /* it ends at the caller's request */
	int raw_status; /* of waitpid(), once ended */
	uint64_t deadline_ns;
	struct sessions sessions;
	struct guest_status status;
	struct err err;
};

static int supervisor_files_init(struct supervisor_files *files, const struct guest_config *config, struct err *err);
static void supervisor_files_fini(struct supervisor_files *files);
static int reaper_start(int alive);

static void
send_state(struct supervisor *supervisor, enum guest_state state)
{
	supervisor->status.state = state;
	/* A caller that is gone needs no news: the end of the connection stops the guest. */
	if (send(supervisor->report, &supervisor->status, sizeof(supervisor->status), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		supervisor->asked = true;
}

/* Makes this new process the guest: does not return. */
static noreturn void
become(struct supervisor *supervisor, struct guest_words *args, struct guest_words *env, pid_t parent, int alive)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t none;
	int rc;

	/* For a supervisor that is killed together with the reaper. A kernel that boots ignores SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	close(supervisor->alive);
	rc = reaper_start(alive);
	if (rc < 0)
		err_set(&supervisor->err, rc, "its reaper: %s", strerror(-rc));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	/* UML would count the random gap behind its data as memory that it has. */
	personality(ADDR_NO_RANDOMIZE);
	dup2(supervisor->files.log, STDOUT_FILENO);
	fcntl(supervisor->boot.command_fd, F_SETFD, 0);
	if (supervisor->boot.manage_fd >= 0)
		fcntl(supervisor->boot.manage_fd, F_SETFD, 0);
	for (size_t i = 0; i < env->count; i++)
		putenv(env->word[i]);
	if (rc == 0 && getppid() == parent &&
	    (supervisor->kind->enter == NULL || supervisor->kind->enter(&supervisor->boot, &supervisor->err) == 0))
		execv(args->word[0], args->word);
	dprintf(STDERR_FILENO, "%s: %s\n", args->word[0],
		supervisor->err.text[0] != '\0' ? supervisor->err.text : strerror(errno));
	_exit(127);
}

static int
start(struct supervisor *supervisor)
{
	static struct guest_words args, env;
	int ends[2], alive[2], rc;
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(&supervisor->err, -errno, "socketpair: %s", strerror(errno));
	fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
	supervisor->sessions.guest = ends[0];
	supervisor->boot = (struct guest_boot){ .config = supervisor->config,
						.private_dir = supervisor->files.private_dir,
						.guest_dir = supervisor->files.guest_dir,
						.command_fd = ends[1],
						.manage_fd = supervisor->config->manage_fd };
	rc = supervisor->kind->command(&supervisor->boot, &args, &env, &supervisor->err);
	if (rc == 0 && pipe2(alive, O_CLOEXEC) < 0)
		rc = err_set(&supervisor->err, -errno, "pipe: %s", strerror(errno));
	if (rc == 0) {
		supervisor->alive = alive[1];
		supervisor->pid = fork();
		if (supervisor->pid == 0)
			become(supervisor, &args, &env, self, alive[0]);
		rc = supervisor->pid > 0 ? 0 : err_set(&supervisor->err, -errno, "fork: %s", strerror(errno));
		close(alive[0]);
	}
	close(ends[1]);
	if (supervisor->config->manage_fd >= 0)
		close(supervisor->config->manage_fd);
	return rc;
}

static void
ask_stop(struct supervisor *supervisor)
{
	if (supervisor->stopping)
		return;
	supervisor->stopping = true;
	supervisor->deadline_ns = clock_now_ns() + STOP_NS;
	if (!supervisor->sessions.hello || sessions_power_off(&supervisor->sessions) < 0)
		kill(supervisor->pid, SIGTERM); /* it does not listen yet */
}

/* Reports changes of the guest's status. */
static void
follow(struct supervisor *supervisor)
{
	struct sessions *sessions = &supervisor->sessions;
	int rc = 0;

	if (supervisor->status.state == GUEST_BOOTING && sessions->hello) {
		if (sessions->up.error != 0) {
			err_set(&supervisor->err, -(int)sessions->up.error, "%s", sessions->up_text);
			ask_stop(supervisor);
			return;
		}
		if (supervisor->config->argv != NULL)
			rc = sessions_start_program(sessions, supervisor->config->argv, supervisor->config->manage_fd >= 0);
		if (rc < 0)
			err_set(&supervisor->err, rc, "its program's arguments do not fit: %s", strerror(-rc));
		supervisor->deadline_ns = UINT64_MAX;
		supervisor->status.gid_index = sessions->up.gid_index;
		supervisor->status.pid = supervisor->pid;
		send_state(supervisor, GUEST_UP);
	}
	if (supervisor->status.state == GUEST_UP && sessions->program_ended) {
		supervisor->status.exit_status = sessions->program_status;
		send_state(supervisor, GUEST_EXITED);
	}
}

/* Reaps the guest and the orphans that it left to us; supervisor->ended is set at the guest's end. */
static void
reap(struct supervisor *supervisor)
{
	pid_t pid;
	int raw;

	while ((pid = waitpid(-1, &raw, WNOHANG | __WALL)) > 0)
		if (pid == supervisor->pid) {
			supervisor->ended = true;
			supervisor->raw_status = raw;
		}
}

/* The guest is about to end, or beyond talking to. */
static void
lose_channel(struct supervisor *supervisor)
{
	close(supervisor->sessions.guest);
	supervisor->sessions.guest = -1;
	if (!supervisor->stopping)
		supervisor->deadline_ns = clock_now_ns() + STOP_NS;
	supervisor->stopping = true;
}

/* Waits once and handles the events. */
static void
turn(struct supervisor *supervisor)
{
	struct pollfd fds[2 + SESSIONS_MAX_FDS];
	struct signalfd_siginfo info;
	uint64_t now_ns = clock_now_ns(), left_ns = supervisor->deadline_ns > now_ns ? supervisor->deadline_ns - now_ns : 0;
	int wait_ms = supervisor->deadline_ns == UINT64_MAX ? -1 : (int)(left_ns / 1000000 + 1);

	fds[0] = (struct pollfd){ .fd = supervisor->stopping ? -1 : supervisor->report, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = supervisor->signals, .events = POLLIN };
	sessions_poll(&supervisor->sessions, fds + 2);
	if (poll(fds, ARRAY_LEN(fds), wait_ms) < 0)
		return;
	while (read(supervisor->signals, &info, sizeof(info)) > 0)
		supervisor->asked |= info.ssi_signo == SIGTERM;
	supervisor->asked |= fds[0].revents != 0;
	if (supervisor->asked)
		ask_stop(supervisor);
	reap(supervisor);
	if (sessions_move(&supervisor->sessions, fds + 2) < 0)
		lose_channel(supervisor);
	follow(supervisor);
}

/* Ends the remaining processes of the guest. */
static void
kill_rest(struct supervisor *supervisor)
{
	uint64_t end_ns = clock_now_ns() + REAP_NS;

	while (clock_now_ns() < end_ns) {
		kill(-supervisor->pid, SIGKILL);
		reap(supervisor);
		if (supervisor->ended && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD)
			return;
		clock_sleep_until_ns(clock_now_ns() + REAP_POLL_NS);
	}
}

/* Puts into words why the guest is gone. */
static void
explain(struct supervisor *supervisor, bool timed_out)
{
	char last[256];
	int raw = supervisor->raw_status;

	if (supervisor->err.text[0] == '\0' && !supervisor->asked) {
		supervisor_last_line(supervisor->files.log_path, last, sizeof(last));
		if (timed_out && !supervisor->sessions.hello)
			err_set(&supervisor->err, -ETIMEDOUT, "it did not start in %llu s; last in %s: %s",
				BOOT_NS / 1000000000ULL, supervisor->files.log_path, last);
		else if (WIFSIGNALED(raw))
			err_set(&supervisor->err, -ECHILD, "it was killed by signal %d (%s); last in %s: %s", WTERMSIG(raw),
				strsignal(WTERMSIG(raw)), supervisor->files.log_path, last);
		else
			err_set(&supervisor->err, -ECHILD, "it ended by itself, status %d; last in %s: %s",
				WEXITSTATUS(raw), supervisor->files.log_path, last);
	}
	snprintf(supervisor->status.text, sizeof(supervisor->status.text), "%s", supervisor->err.text);
}

static void
live(struct supervisor *supervisor)
{
	bool timed_out = false;

	supervisor->deadline_ns = clock_now_ns() + BOOT_NS;
	while (!supervisor->ended && !timed_out) {
		turn(supervisor);
		timed_out = clock_now_ns() >= supervisor->deadline_ns;
	}
	kill_rest(supervisor);
	explain(supervisor, timed_out);
}

static int
watch_signals(void)
{
	sigset_t wanted;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	return signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* A reader of the caller's output must not wait for the guest's end. */
static void
leave_streams(const struct supervisor *supervisor)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(supervisor->files.log, STDERR_FILENO);
	close(null);
}

noreturn void
supervisor_run(const struct guest_config *config, int report)
{
	static struct supervisor supervisor; /* too large for a stack */
	int rc;

	setsid();
	prctl(PR_SET_NAME, "supervise-guest");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervisor.config = config;
	supervisor.report = report;
	supervisor.status = (struct guest_status){ .state = GUEST_BOOTING, .gid_index = UINT32_MAX, .exit_status = -1 };
	supervisor.signals = watch_signals();
	supervisor.kind = guest_kind_find(config->kind, &supervisor.err);
	rc = supervisor.kind != NULL && supervisor.signals >= 0
		     ? supervisor_files_init(&supervisor.files, config, &supervisor.err)
		     : -EINVAL;
	if (rc == 0) {
		leave_streams(&supervisor);
		supervisor.sessions.listener = supervisor.files.listener;
		supervisor.sessions.log = supervisor.files.log;
		rc = start(&supervisor);
	}
	if (rc == 0)
		live(&supervisor);
	else
		snprintf(supervisor.status.text, sizeof(supervisor.status.text), "%s", supervisor.err.text);
	sessions_fini(&supervisor.sessions);
	supervisor_files_fini(&supervisor.files);
	send_state(&supervisor, GUEST_ENDED);
	_exit(0);
}

/* The files of a guest. */

#define MAX_OPEN_FOLDERS 8
#define BACKLOG 8

static int
path_in(char *path, size_t cap, const char *dir, const char *name, const char *suffix, struct err *err)
{
	int n = snprintf(path, cap, "%s/%s%s", dir, name, suffix);

	return n < (int)cap ? 0 : err_set(err, -ENAMETOOLONG, "%s: too long a path for the guests' files", dir);
}

static FILE *
create_in(const struct supervisor_files *files, const char *name, struct err *err)
{
	char path[PATH_MAX];
	FILE *file;

	if (path_in(path, sizeof(path), files->private_dir, name, "", err) < 0)
		return NULL;
	file = fopen(path, "we");
	if (file == NULL)
		err_set(err, -errno, "%s: %s", path, strerror(errno));
	return file;
}

/* A copy: a guest sees files of the server's /proc as empty. */
static int
write_cpuinfo(const struct supervisor_files *files, struct err *err)
{
	FILE *from = fopen("/proc/cpuinfo", "re"), *to = create_in(files, "cpuinfo", err);
	char line[4096];

	while (from != NULL && to != NULL && fgets(line, sizeof(line), from) != NULL)
		fputs(line, to);
	if (from != NULL)
		fclose(from);
	if (to != NULL && fclose(to) == 0)
		return 0;
	return err_set(err, -EIO, "%s/cpuinfo: cannot be written: %s", files->private_dir, strerror(errno));
}

/* The path of a socket has room for 107 characters: it is bound through its folder's descriptor. */
static int
open_socket(struct supervisor_files *files, const char *dir, const char *name, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;

	files->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s.sock", folder, name);
	if (folder < 0 || files->listener < 0 || (unlink(files->socket_path) < 0 && errno != ENOENT) ||
	    bind(files->listener, (const struct sockaddr *)&at, sizeof(at)) < 0 || chmod(files->socket_path, 0600) < 0 ||
	    listen(files->listener, BACKLOG) < 0)
		rc = err_set(err, -errno, "%s: %s", files->socket_path, strerror(errno));
	if (folder >= 0)
		close(folder);
	return rc;
}

/*
 * Makes the private folder with the file that the guest reads from it (cpuinfo), an empty log and the socket; replaces
 * the files of an earlier guest of that name.
 * @return 0, or negative errno with err set; in either case supervisor_files_fini() removes the files
 */
static int
supervisor_files_init(struct supervisor_files *files, const struct guest_config *config, struct err *err)
{
	int rc;

	*files = (struct supervisor_files){ .log = -1, .listener = -1 };
	rc = path_in(files->private_dir, sizeof(files->private_dir), config->dir, config->name, "", err);
	if (rc == 0)
		rc = path_in(files->log_path, sizeof(files->log_path), config->dir, config->name, ".log", err);
	if (rc == 0)
		rc = path_in(files->socket_path, sizeof(files->socket_path), config->dir, config->name, ".sock", err);
	if (rc < 0)
		return rc;
	supervisor_files_remove(config->dir, config->name);
	if (mkdir(files->private_dir, 0700) < 0 || realpath(files->private_dir, files->guest_dir) == NULL)
		return err_set(err, -errno, "%s: %s", files->private_dir, strerror(errno));
	files->log = outfile_stream(files->log_path, err);
	if (files->log < 0)
		return files->log;
	fcntl(files->log, F_SETFL, O_WRONLY | O_APPEND); /* a guest's kernel and its program both write there */
	rc = write_cpuinfo(files, err);
	return rc == 0 ? open_socket(files, config->dir, config->name, err) : rc;
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static void
remove_all(const char *private_dir, const char *socket_path)
{
	if (private_dir[0] != '\0')
		nftw(private_dir, remove_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
	if (socket_path[0] != '\0')
		unlink(socket_path);
}

/* Closes all, and removes all but the log. */
static void
supervisor_files_fini(struct supervisor_files *files)
{
	if (files->log >= 0)
		close(files->log);
	if (files->listener >= 0)
		close(files->listener);
	remove_all(files->private_dir, files->socket_path);
}

void
supervisor_files_remove(const char *dir, const char *name)
{
	char private_dir[PATH_MAX], socket_path[PATH_MAX];

	if (path_in(private_dir, sizeof(private_dir), dir, name, "", NULL) == 0 &&
	    path_in(socket_path, sizeof(socket_path), dir, name, ".sock", NULL) == 0)
		remove_all(private_dir, socket_path);
}

void
supervisor_last_line(const char *log_path, char *line, size_t cap)
{
	FILE *log = fopen(log_path, "re");
	char read_line[512];

	snprintf(line, cap, "(nothing)");
	while (log != NULL && fgets(read_line, sizeof(read_line), log) != NULL) {
		read_line[strcspn(read_line, "\r\n")] = '\0';
		if (read_line[0] != '\0')
			snprintf(line, cap, "%s", read_line);
	}
	if (log != NULL)
		fclose(log);
}

/* The reaper: ends a guest's process group if the supervisor is killed. */

/* Holds nothing but the pipe: any other descriptor kept here would keep its connection alive. */
static noreturn void
watch(int alive)
{
	sigset_t all;
	char none;

	prctl(PR_SET_NAME, "reap-guest");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(alive, STDIN_FILENO);
	close_range(STDOUT_FILENO, UINT_MAX, 0);
	while (read(STDIN_FILENO, &none, 1) > 0)
		continue;
	kill(0, SIGKILL);
	_exit(0);
}

/*
 * In the process that becomes the guest, once it leads its group: forks the reaper. When the other end of a pipe is
 * closed everywhere, the whole group is killed at once.
 * @param alive  the end that is read
 * @return 0, or -errno
 */
static int
reaper_start(int alive)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			watch(alive);
		_exit(pid > 0 ? 0 : errno);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

/* A guest that is slow to read blocks its senders; it does not fill the supervisor's memory. */
#define GUEST_BACKLOG_BYTES (4 * GUEST_WINDOW_BYTES)

void
sessions_poll(struct sessions *sessions, struct pollfd fds[SESSIONS_MAX_FDS])
{
	size_t backlog = frame_pending(&sessions->out);
	bool take = sessions->hello && backlog < GUEST_BACKLOG_BYTES;

	fds[0] = (struct pollfd){ .fd = sessions->guest, .events = (short)(POLLIN | (backlog > 0 ? POLLOUT : 0)) };
	fds[1] = (struct pollfd){ .fd = sessions->hello ? sessions->listener : -1, .events = POLLIN };
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++) {
		const struct session_peer *peer = &sessions->peers[i];
		bool waits = frame_pending(&peer->out) > 0;

		fds[2 + i] = (struct pollfd){ .fd = peer->used ? peer->fd : -1,
					      .events = (short)((take ? POLLIN : 0) | (waits ? POLLOUT : 0)) };
	}
}

static void
drop_peer(struct session_peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
	frame_out_fini(&peer->out);
	peer->in.begin = peer->in.end = 0;
}

/* The program that had this session is gone: so is its command. */
static int
hang_up(struct sessions *sessions, uint8_t number)
{
	struct session_peer *peer = &sessions->peers[number];

	drop_peer(peer);
	if (peer->started)
		return frame_put(&sessions->out, GUEST_HANGUP, number, NULL, 0);
	peer->used = false;
	return 0;
}

static void
accept_peer(struct sessions *sessions)
{
	int fd = accept4(sessions->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = SESSIONS_PROGRAM + 1; i < GUEST_MAX_SESSIONS && fd >= 0; i++)
		if (!sessions->peers[i].used) {
			sessions->peers[i].used = true;
			sessions->peers[i].started = false;
			sessions->peers[i].fd = fd;
			return;
		}
	if (fd >= 0) /* all are taken */
		close(fd);
}

/* Passes a program's frames on to its session. */
static int
from_peer(struct sessions *sessions, uint8_t number)
{
	struct session_peer *peer = &sessions->peers[number];
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&peer->in, peer->fd), more;

	if (rc <= 0)
		return hang_up(sessions, number);
	while ((more = frame_next(&peer->in, &frame, &payload)) > 0) {
		bool run = frame.type == GUEST_RUN;

		if (frame.type < GUEST_CREDIT || frame.type >= GUEST_HANGUP || (run && peer->started))
			return hang_up(sessions, number);
		if (!run && !peer->started) /* sent before it learned that its command had ended */
			continue;
		peer->started = true;
		rc = frame_put(&sessions->out, frame.type, number, payload, frame.size);
		if (rc < 0)
			return rc;
	}
	return more < 0 ? hang_up(sessions, number) : 0;
}

/*
 * A full disk costs a host its log lines, not its life; once there is room again, the log has the number of missing
 * lines.
 */
static int
log_output(struct sessions *sessions, const uint8_t *bytes, size_t size)
{
	struct guest_credit credit = { .bytes = (uint32_t)size };
	ssize_t written;

	if (sessions->log_lost_bytes != 0 &&
	    dprintf(sessions->log, "\n[%zu bytes are missing here: there was no room]\n", sessions->log_lost_bytes) > 0)
		sessions->log_lost_bytes = 0;
	written = write(sessions->log, bytes, size);
	sessions->log_lost_bytes += size - (written > 0 ? (size_t)written : 0);
	return frame_put(&sessions->out, GUEST_CREDIT, SESSIONS_PROGRAM, &credit, sizeof(credit));
}

static int
take_hello(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	size_t length = frame->size - sizeof(sessions->up);

	if (frame->type != GUEST_HELLO || frame->size < sizeof(sessions->up))
		return -EPROTO;
	memcpy(&sessions->up, payload, sizeof(sessions->up));
	if (sessions->up.magic != GUEST_MAGIC)
		return -EPROTO;
	snprintf(sessions->up_text, sizeof(sessions->up_text), "%.*s", (int)length,
		 (const char *)payload + sizeof(sessions->up));
	sessions->hello = true;
	return 0;
}

static int
take_exit(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session_peer *peer = &sessions->peers[frame->session];
	struct guest_exit status;

	if (frame->size != sizeof(status))
		return -EPROTO;
	memcpy(&status, payload, sizeof(status));
	peer->started = false;
	if (frame->session == SESSIONS_PROGRAM) {
		sessions->program_ended = true;
		sessions->program_status = (int)status.status;
	} else if (peer->fd < 0) {
		peer->used = false;
	}
	return 0;
}

static int
from_guest_frame(struct sessions *sessions, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session_peer *peer = &sessions->peers[frame->session % GUEST_MAX_SESSIONS];
	int rc = 0;

	if (!sessions->hello)
		return take_hello(sessions, frame, payload);
	if (frame->session == 0 || frame->session >= GUEST_MAX_SESSIONS || !peer->used)
		return -EPROTO;
	if (frame->type == GUEST_EXIT)
		rc = take_exit(sessions, frame, payload);
	else if (frame->session == SESSIONS_PROGRAM && (frame->type == GUEST_STDOUT || frame->type == GUEST_STDERR))
		rc = log_output(sessions, payload, frame->size);
	if (rc < 0 || peer->fd < 0)
		return rc;
	/* More than its windows: it gives credit for bytes that it did not read. */
	if (frame_put(&peer->out, frame->type, 0, payload, frame->size) < 0)
		return hang_up(sessions, frame->session);
	return 0;
}

static int
from_guest(struct sessions *sessions)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&sessions->in, sessions->guest), more;

	if (rc <= 0)
		return rc < 0 ? rc : -ECONNRESET;
	while ((more = frame_next(&sessions->in, &frame, &payload)) > 0) {
		rc = from_guest_frame(sessions, &frame, payload);
		if (rc < 0)
			return rc;
	}
	return more;
}

int
sessions_move(struct sessions *sessions, const struct pollfd fds[SESSIONS_MAX_FDS])
{
	int rc = sessions->guest >= 0 && fds[0].revents & ~POLLOUT ? from_guest(sessions) : 0;

	if (fds[1].revents != 0)
		accept_peer(sessions);
	for (uint8_t i = 0; i < GUEST_MAX_SESSIONS && rc == 0; i++) {
		struct session_peer *peer = &sessions->peers[i];

		if (!peer->used || peer->fd < 0)
			continue;
		if (fds[2 + i].fd == peer->fd && fds[2 + i].revents & ~POLLOUT)
			rc = from_peer(sessions, i);
		if (rc == 0 && peer->fd >= 0 && frame_flush(&peer->out, peer->fd) < 0)
			rc = hang_up(sessions, i);
	}
	return rc < 0 || sessions->guest < 0 ? rc : frame_flush(&sessions->out, sessions->guest);
}

int
sessions_start_program(struct sessions *sessions, const char *const *argv, bool manage)
{
	struct guest_run run = { .flags = manage ? GUEST_RUN_MANAGE : 0 };
	uint8_t payload[GUEST_MAX_PAYLOAD];
	size_t size = sizeof(run);
	int rc;

	memcpy(payload, &run, sizeof(run));
	payload[size++] = '\0'; /* no terminal */
	if (getcwd((char *)payload + size, PATH_MAX) == NULL)
		return -errno;
	size += strlen((const char *)payload + size) + 1;
	for (; *argv != NULL; argv++) {
		size_t length = strlen(*argv) + 1;

		if (size + length > sizeof(payload))
			return -E2BIG;
		memcpy(payload + size, *argv, length);
		size += length;
	}
	sessions->peers[SESSIONS_PROGRAM] = (struct session_peer){ .used = true, .started = true, .fd = -1 };
	rc = frame_put(&sessions->out, GUEST_RUN, SESSIONS_PROGRAM, payload, size);
	return rc < 0 ? rc : frame_put(&sessions->out, GUEST_STDIN, SESSIONS_PROGRAM, NULL, 0);
}

int
sessions_power_off(struct sessions *sessions)
{
	return frame_put(&sessions->out, GUEST_POWEROFF, 0, NULL, 0);
}

void
sessions_fini(struct sessions *sessions)
{
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++)
		if (sessions->peers[i].used && sessions->peers[i].fd >= 0)
			drop_peer(&sessions->peers[i]);
	frame_out_fini(&sessions->out);
}
