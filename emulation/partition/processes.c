/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/processes.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/interrupt.h"
#include "emulation/partition/rendezvous.h"

static const struct transport transport_mpi;

/* Of all messages between channels. */
#define TAG 1
/* Messages that are read in a row. */
#define READS 16
/*
 * A waiting process looks for messages this often, and, where each lcore of the job has a CPU, for this long, before it
 * leaves its CPU to others between two looks. It naps: sched_yield(), as Open MPI's mpi_yield_when_idle does it, gives
 * the CPU to a program that computes, for milliseconds.
 */
#define SPINS 200
#define SPIN_NS 200000
#define NAP_NS 20000
/* By which the kernel may prolong a nap: the usual 50 us are more than a window's work. */
#define SLACK_NS 1000
/* Messages up to this size between processes of one machine leave whole; the usual 4 KB are less than a window's. */
#define EAGER_BYTES "65536"
/* So many naps later it looks whether the others still exist. */
#define NAPS 250

/* Of struct channel. */
struct process {
	int rank; /* in MPI_COMM_WORLD */
	int fd;   /* readable when the process has ended; -1: on another machine */
	MPI_Request leaving, arriving;
	uint8_t *sent; /* [sent_cap] bytes that leave */
	size_t sent_cap;
	uint8_t *received; /* [received_cap] bytes that arrive */
	size_t received_cap;
	int received_bytes;
	uint64_t spin_ns; /* of a wait before the first nap */
};

/* ---- the job ---- */

/*
 * Open MPI reads its parameters from the environment; those that the user has set stay, but for the last. A message of
 * a window has tens of kilobytes: sent in one piece, the receiver need not answer before the rest leaves.
 */
static void
set_defaults(void)
{
	const char *size = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	bool local = size != NULL && here != NULL && strcmp(size, here) == 0;

	if (local)
		setenv("OMPI_MCA_btl", "self,vader", 0);
	setenv("OMPI_MCA_btl_vader_eager_limit", EAGER_BYTES, 0);
	setenv("OMPI_MCA_btl_vader_max_send_size", EAGER_BYTES, 0);
	setenv("OMPI_MCA_pml", "ob1", 0);
	setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
}

static void
mpi_end(bool lost)
{
	if (!lost)
		MPI_Finalize();
}

/* ---- all are here ---- */

/* What each process reports of itself. */
struct card {
	struct partition_hello hello;
	uint64_t kernel; /* digest of what numbers its processes: the boot, and the namespace */
	int64_t pid;
	uint64_t lcores;
	cpu_set_t cpus; /* that it may use */
};

static uint64_t
kernel_digest(void)
{
	char boot[64] = "";
	struct stat space = { 0 };
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file != NULL && fgets(boot, sizeof(boot), file) == NULL)
		boot[0] = '\0';
	if (file != NULL)
		fclose(file);
	stat("/proc/self/ns/pid", &space);
	return digest_u64(digest_bytes(DIGEST_INIT, boot, sizeof(boot)), space.st_ino);
}

static int
gather(const struct rendezvous *rendezvous, const struct card *ours, struct card *cards, struct err *err)
{
	uint64_t deadline_ns = clock_now_ns() + rendezvous->timeout_ns;
	MPI_Request request;
	int done = 0;

	if (MPI_Iallgather(ours, sizeof(*ours), MPI_BYTE, cards, sizeof(*cards), MPI_BYTE, MPI_COMM_WORLD, &request) !=
	    MPI_SUCCESS)
		return err_set(err, -EINVAL, "MPI could not gather the processes");
	while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
		if (interrupt_asked())
			return err_set(err, -EINTR, "interrupted before the run began");
		if (clock_now_ns() >= deadline_ns)
			return err_set(err, -ETIMEDOUT, "not all processes were ready within %.0f s (limits.connect)",
				       (double)rendezvous->timeout_ns / 1e9);
		clock_sleep_until_ns(clock_now_ns() + NAP_NS);
	}
	return done ? 0 : err_set(err, -EINVAL, "MPI could not gather the processes");
}

/* Whether the lcores of all processes on this machine have a CPU each. */
static bool
has_cpus(const struct card *ours, const struct card *cards, uint32_t count)
{
	uint64_t lcores = 0;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (uint32_t p = 0; p < count; p++)
		if (cards[p].kernel == ours->kernel) {
			lcores += cards[p].lcores;
			CPU_OR(&cpus, &cpus, &cards[p].cpus);
		}
	return lcores <= (uint64_t)CPU_COUNT(&cpus);
}

static int
open_channel(struct channel *channel, uint32_t rank, pid_t pid, bool spins)
{
	struct process *process = calloc(1, sizeof(*process));

	if (process == NULL)
		return -ENOMEM;
	*process = (struct process){ .rank = (int)rank,
				     .fd = pid != 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
				     .leaving = MPI_REQUEST_NULL,
				     .arriving = MPI_REQUEST_NULL,
				     .spin_ns = spins ? SPIN_NS : 0 };
	*channel = (struct channel){ .transport = &transport_mpi, .fd = -1, .state = process };
	return 0;
}

static int
mpi_rendezvous(const struct rendezvous *rendezvous, struct channel *channels, pid_t *pids, struct err *err)
{
	struct card ours = { .hello = *rendezvous->hello,
			     .kernel = kernel_digest(),
			     .pid = getpid(),
			     .lcores = rendezvous->lcores },
		    cards[PARTITION_MAX];
	bool spins;
	int ret;

	sched_getaffinity(0, sizeof(ours.cpus), &ours.cpus);
	ret = gather(rendezvous, &ours, cards, err);
	spins = ret == 0 && has_cpus(&ours, cards, rendezvous->partitions);
	for (uint32_t p = 0; p < rendezvous->partitions && ret == 0; p++) {
		const char *flaw = rendezvous_flaw(&ours.hello, &cards[p].hello);

		if (p == rendezvous->partition)
			continue;
		if (flaw != NULL)
			return err_set(err, -EINVAL, "partition %u %s", p, flaw);
		pids[p] = cards[p].kernel == ours.kernel ? (pid_t)cards[p].pid : 0;
		if (open_channel(&channels[p], p, pids[p], spins) < 0)
			ret = err_set(err, -ENOMEM, "out of memory for %u processes", rendezvous->partitions);
	}
	return ret;
}

/* ---- the transport ---- */

/* One message at a time: what is put meanwhile leaves with the next. */
static void
mpi_flush(struct channel *channel)
{
	struct process *process = channel->state;
	size_t size = channel->out_used - channel->out_head;
	int done = 1;

	if (process->leaving != MPI_REQUEST_NULL)
		MPI_Test(&process->leaving, &done, MPI_STATUS_IGNORE);
	if (!done)
		return;
	channel->leaving_bytes = 0;
	if (size == 0)
		return;
	size = size < INT_MAX ? size : INT_MAX;
	process->sent = grow(process->sent, &process->sent_cap, size, 1, "messages to another process");
	memcpy(process->sent, channel->out + channel->out_head, size);
	channel->out_head += size;
	channel->leaving_bytes = size;
	if (MPI_Isend(process->sent, (int)size, MPI_BYTE, process->rank, TAG, MPI_COMM_WORLD, &process->leaving) !=
	    MPI_SUCCESS) {
		channel->error = EIO;
		return;
	}
	MPI_Test(&process->leaving, &done, MPI_STATUS_IGNORE);
	if (done)
		channel->leaving_bytes = 0;
}

/* Begins to receive the next message. @return whether there is one */
static bool
begin_message(struct channel *channel)
{
	struct process *process = channel->state;
	MPI_Message message;
	MPI_Status status;
	int any = 0;

	if (MPI_Improbe(process->rank, TAG, MPI_COMM_WORLD, &any, &message, &status) != MPI_SUCCESS)
		channel->error = EIO;
	if (!any || channel->error != 0)
		return false;
	MPI_Get_count(&status, MPI_BYTE, &process->received_bytes);
	process->received = grow(process->received, &process->received_cap, (size_t)process->received_bytes + 1, 1,
				 "messages of another process");
	MPI_Imrecv(process->received, process->received_bytes, MPI_BYTE, &message, &process->arriving);
	return true;
}

static bool
mpi_read(struct channel *channel)
{
	struct process *process = channel->state;
	bool any = false;

	for (uint32_t i = 0; i < READS && !channel->ended; i++) {
		int done = 0;

		if (process->arriving == MPI_REQUEST_NULL && !begin_message(channel))
			break;
		MPI_Test(&process->arriving, &done, MPI_STATUS_IGNORE);
		if (!done)
			break;
		if (process->received_bytes == 0) /* the last: see mpi_shut() */
			channel->ended = true;
		else
			channel_append(channel, process->received, (size_t)process->received_bytes);
		any = true;
	}
	return any;
}

static void
mpi_shut(struct channel *channel)
{
	struct process *process = channel->state;

	MPI_Isend(process->sent, 0, MPI_BYTE, process->rank, TAG, MPI_COMM_WORLD, &process->leaving);
}

/* A process that is lost takes nothing, and sends nothing: what it has not taken is not waited for. */
static void
mpi_close(struct channel *channel)
{
	struct process *process = channel->state;

	if (process->leaving != MPI_REQUEST_NULL)
		MPI_Request_free(&process->leaving);
	if (process->fd >= 0)
		close(process->fd);
	free(process->received);
	free(process);
	channel->state = NULL;
}

/* By its descriptor: another process that has its number by now is safe. */
static void
mpi_kill(struct channel *channel)
{
	const struct process *process = channel->state;

	if (process->fd >= 0)
		syscall(SYS_pidfd_send_signal, process->fd, SIGKILL, NULL, 0);
}

/* Whether anything can be read or written. */
static bool
has_work(const struct channel *channel)
{
	struct process *process = channel->state;
	int any = 0;

	if (process->arriving != MPI_REQUEST_NULL)
		MPI_Request_get_status(process->arriving, &any, MPI_STATUS_IGNORE);
	else if (!channel->ended)
		MPI_Iprobe(process->rank, TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
	if (!any && channel->leaving_bytes != 0)
		MPI_Request_get_status(process->leaving, &any, MPI_STATUS_IGNORE);
	return any != 0;
}

/* One that has ended without a last message has died: no message of it is still on its way within a machine. */
static void
find_dead(struct channel *const *channels, uint32_t count)
{
	struct pollfd wait[PARTITION_MAX];

	for (uint32_t i = 0; i < count; i++)
		wait[i] = (struct pollfd){ .fd = ((struct process *)channels[i]->state)->fd, .events = POLLIN };
	if (poll(wait, count, 0) <= 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (wait[i].revents != 0 && !has_work(channels[i]))
			channels[i]->ended = true;
}

static void
mpi_sleep(struct channel *const *channels, uint32_t count, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t naps_from_ns = now_ns + (count != 0 ? ((struct process *)channels[0]->state)->spin_ns : 0);

	for (uint32_t looks = 1, naps = 0;; looks++) {
		for (uint32_t i = 0; i < count; i++)
			if (has_work(channels[i]))
				return;
		now_ns = clock_now_ns();
		if (now_ns >= until_ns)
			return;
		if (looks < SPINS || now_ns < naps_from_ns)
			continue;
		if (++naps % NAPS == 0)
			find_dead(channels, count);
		clock_sleep_until_ns(now_ns + NAP_NS);
	}
}

static const struct transport transport_mpi = {
	.rendezvous = mpi_rendezvous,
	.flush = mpi_flush,
	.read = mpi_read,
	.shut = mpi_shut,
	.close = mpi_close,
	.sleep = mpi_sleep,
	.kill = mpi_kill,
	.end = mpi_end,
};

bool
processes_are_here(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

int
processes_begin(uint32_t *which, uint32_t *count, const struct transport **transport, struct err *err)
{
	int rank, size, provided;

	if (!processes_are_here())
		return err_set(err, -EINVAL,
			       "this process is none of an MPI job: start it as mpirun -np N rocelab run SCENARIO, or as "
			       "rocelab run SCENARIO --processes N");
	set_defaults();
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
		return err_set(err, -EINVAL, "MPI could not begin");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	*which = (uint32_t)rank;
	*count = (uint32_t)size;
	*transport = &transport_mpi;
	if (size >= 2 && size <= PARTITION_MAX)
		return 0;
	mpi_end(false);
	return err_set(err, -EINVAL, "mpirun started %d processes; right would be 2 to %d", size, PARTITION_MAX);
}
