/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs under test do when the kernel refuses a system call: each, while one function runs. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct refused_call {
	long number;     /* SYS_read */
	unsigned second; /* argument, an operation of fcntl() or ioctl(); 0: any */
	int error;
	void (*run)(void *arg); /* in a thread of its own, which cmocka's asserts do not end: what it saw goes to arg */
	void *arg;
	bool was_run;
};

static inline void *
refused_call_thread(void *arg)
{
	struct refused_call *call = arg;
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])), /* its lower half */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->second, 0, call->second == 0 ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)call->error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(steps) / sizeof(steps[0]), steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return NULL;
	call->run(call->arg);
	call->was_run = true;
	return NULL;
}

/* Runs it without that call, or skips the test: within a container that forbids filters. */
#define WITHOUT_CALL(call_number, call_error, function, function_arg)                                                      \
	WITHOUT_CALL_OF(call_number, 0, call_error, function, function_arg)

/* Of its second argument alone. */
#define WITHOUT_CALL_OF(call_number, argument, call_error, function, function_arg)                                         \
	do {                                                                                                               \
		struct refused_call without = {                                                                            \
			.number = (call_number),                                                                           \
			.second = (argument),                                                                              \
			.error = (call_error),                                                                             \
			.run = (function),                                                                                 \
			.arg = (function_arg),                                                                             \
		};                                                                                                         \
		pthread_t thread;                                                                                          \
                                                                                                                           \
		assert_int_equal(pthread_create(&thread, NULL, refused_call_thread, &without), 0);                         \
		assert_int_equal(pthread_join(thread, NULL), 0);                                                           \
		if (!without.was_run)                                                                                      \
			skip();                                                                                            \
	} while (0)

/* glibc's fstat() */
#ifdef SYS_newfstatat
#define SYS_OF_FSTAT SYS_newfstatat
#else
#define SYS_OF_FSTAT SYS_fstat
#endif
