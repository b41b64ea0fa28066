/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of guests: how each is run. One file a kind. */
#pragma once

#include "rxe-hosts/guest/guest.h"

#define GUEST_MAX_WORDS 96

/* A command line or an environment under construction. */
struct guest_words {
	char *word[GUEST_MAX_WORDS + 1];
	size_t count;
	size_t used;
	char text[16384];
};

/* Files and descriptors that a supervisor has prepared. */
struct guest_boot {
	const struct guest_config *config;
	const char *private_dir; /* of files that end with the guest, as the caller spells it */
	const char *guest_dir;   /* the same, as the guest sees it */
	int command_fd;          /* the guest's ends of the two channels; manage_fd -1: none */
	int manage_fd;
};

struct guest_kind {
	const char *name;
	/*
	 * Builds the command line and the environment (which starts as the supervisor's). @return 0, or negative with
	 * err set
	 */
	int (*command)(const struct guest_boot *boot, struct guest_words *args, struct guest_words *env, struct err *err);
	/* Called in the new process before it becomes that command; may be NULL. */
	int (*enter)(const struct guest_boot *boot, struct err *err);
};

extern const struct guest_kind guest_kind_uml;
extern const struct guest_kind guest_kind_qemu;
extern const struct guest_kind guest_kind_netns;

/* @return the kind, or NULL with err set: which kinds there are */
const struct guest_kind *guest_kind_find(const char *name, struct err *err);

/* Adds one word. @return 0, or -E2BIG with err set */
int guest_word(struct guest_words *words, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Adds the parameters of rxe-guest-init, NAME=VALUE each.
 * @param command  the command channel as the guest names it (channel_open() in init/main.c)
 * @param manage   the management channel
 */
int guest_parameters(const struct guest_boot *boot, const char *command, const char *manage, struct guest_words *words,
		     struct err *err);
