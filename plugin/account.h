/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The results of a plugin diagnoser, as its run reports them and plugins.json keeps them. The same run has the same
 * account.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Limits of a plugin diagnoser's requests and replies. A program that reaches a limit is reported, and the run does
 * not wait for it.
 */
#define PLUGIN_PROGRAMS 4              /* of one run */
#define PLUGIN_WAIT_NS 10000000000ULL  /* wall time for which virtual time waits for the answer of each turn */
#define PLUGIN_RECORD_BYTES (8u << 20) /* of the record stream that it has not read yet */
#define PLUGIN_LINE_BYTES 65536u       /* of a line that it writes, line feed included */
#define PLUGIN_TURN_LINES 10000u       /* that it writes in one turn */
#define PLUGIN_TURN_ASKED 1000u        /* polls and probes of one turn; those beyond are refused */
#define PLUGIN_FINDINGS 1000u          /* in all */
#define PLUGIN_PLACES 64u              /* ports of a finding; the same of links, of hosts, of flows, of steps */
#define PLUGIN_NAME 160                /* bytes of a port's, host's or flow's name, NUL and all */
#define PLUGIN_TYPE 48                 /* of a finding's type, NUL and all */
#define PLUGIN_EVIDENCE 400            /* of its sentence, NUL and all */
#define PLUGIN_PATH 1024               /* of a program's path as reported, NUL included */
#define PLUGIN_WHY 400                 /* why it was left out, NUL included */

/*
 * A finding as a plugin diagnoser writes it, in JSON, and as plugins.json keeps it: the vocabulary of diag/finding.h,
 * with names for indices. Every field is checked here, once; the owner of the run's tables checks whether a port or
 * flow of that name is in the run.
 */

struct plugin_names {
	char (*names)[PLUGIN_NAME]; /* [count] */
	uint32_t count;
};

struct plugin_step {
	uint32_t collective, iteration, rank, step;
};

struct plugin_finding {
	char type[PLUGIN_TYPE];                  /* "deep-queue" */
	struct plugin_names ports, links, hosts; /* "6:2"; a link by the port that sends on it */
	struct plugin_names flows;               /* "h1->h2/20000>4791" */
	struct plugin_step steps[PLUGIN_PLACES]; /* [nsteps] */
	uint32_t nsteps;
	uint32_t collective, job; /* REC_NONE: not given */
	uint64_t start_ps, end_ps;
	uint64_t explained_ps; /* 0 where it is not given */
	double confidence;     /* 0 to 1 */
	char evidence[PLUGIN_EVIDENCE];
	uint64_t reported_ps; /* when it was reported, in the run's time */
};

/*
 * @param from  an object
 * @param to    zeroed; plugin_finding_fini() in any case
 * @return 0; -EINVAL with err naming the field, its value, and the remedy; -ENOMEM
 */
int plugin_finding_read(const json_t *from, struct plugin_finding *to, struct err *err);
/* @return the same object, reported_ns besides; NULL: out of memory */
json_t *plugin_finding_json(const struct plugin_finding *finding);
void plugin_finding_fini(struct plugin_finding *finding);

/* A line that a plugin diagnoser writes on its control socket: an object with one member, whose key is its kind. */

enum plugin_kind {
	PLUGIN_DONE,      /* {"done": TURN}: its replies of this turn are complete */
	PLUGIN_FINDING,   /* {"finding": {...}} */
	PLUGIN_POLL_PORT, /* {"poll": {"port": "6:2"}} */
	PLUGIN_POLL_FLOW, /* {"poll": {"flow": "h1->h2/20000>4791"}} */
	PLUGIN_PROBE,     /* {"probe": {"from": "h1", "to": "h2"}} */
};

struct plugin_answer {
	enum plugin_kind kind;
	uint64_t turn;
	char name[PLUGIN_NAME], to[PLUGIN_NAME]; /* of a port or flow; of hosts */
	struct plugin_finding finding;
};

/*
 * @param line    [bytes] without its line feed; untrusted bytes
 * @param answer  plugin_answer_fini() in any case
 * @return 0; -EINVAL with err set to the fault in it; -ENOMEM
 */
int plugin_answer_read(const char *line, size_t bytes, struct plugin_answer *answer, struct err *err);
void plugin_answer_fini(struct plugin_answer *answer);

/* Members of a JSON object that another program wrote, one check each. */

/* The members that an object may have, NULL-terminated. @return 0, or -EINVAL with err: it has another */
int fields_known(const json_t *object, const char *of, const char *const *names, struct err *err);

/*
 * @param of    the object's kind, for err: "finding"
 * @param must  it has to be there; else a missing one leaves *to as it is
 * @return 0 or -EINVAL with err
 */
int fields_number(const json_t *object, const char *of, const char *name, bool must, uint64_t most, uint64_t *to,
		  struct err *err);
/* 0 to 1. */
int fields_share(const json_t *object, const char *of, const char *name, double *to, struct err *err);
/* Printable text of at least a character, and at most cap - 1 bytes. */
int fields_text(const json_t *object, const char *of, const char *name, char *to, size_t cap, struct err *err);
/* The value itself is such a text. */
int fields_is_text(const json_t *value, const char *of, const char *name, char *to, size_t cap, struct err *err);

struct plugin_account {
	char path[PLUGIN_PATH]; /* as it was given */
	/* "./" and its file's, to the first dot; "-2" where a run has two of it. No diagnoser of ours is called so. */
	char name[PLUGIN_TYPE];
	bool left_out;
	char why[PLUGIN_WHY]; /* left out: why */
	uint64_t left_ps;     /* and when, in the run's time */
	uint64_t turns;       /* that it received */
	uint64_t missed;      /* turns that it did not receive, because it did not read: in real time */
	uint64_t polls, probes;
	uint64_t refused; /* of those, and findings: that were not taken */
	char refused_why[PLUGIN_WHY];
	uint64_t dropped_records;        /* that it did not keep up with: in real time */
	struct plugin_finding *findings; /* [nfindings] in the order in which it reported them */
	uint32_t nfindings;
};

/* @param index  number of accounts before it that have names already */
void plugin_account_init(struct plugin_account *account, const char *path, const struct plugin_account *const *before,
			 uint32_t index);
void plugin_account_fini(struct plugin_account *account);

/* Takes over the contents of a finding, unless there are PLUGIN_FINDINGS. @return 0; -ENOSPC; -ENOMEM */
int plugin_account_add(struct plugin_account *account, struct plugin_finding *finding);

/* plugins.json: the results of a run's plugin diagnosers, for the analyzer. */

struct plugin_report {
	struct plugin_account *programs; /* [count] */
	uint32_t count;
};

/* @param accounts  [count]. @return 0, or negative errno with err set: nothing, or the older file, is there */
int plugin_report_write(const struct plugin_account *const *accounts, uint32_t count, const char *path, struct err *err);

/*
 * Every field is checked anew: a file is untrusted.
 * @param report  zeroed; plugin_report_fini() in any case
 * @return 0, also where there is no such file: then there is no program; -EINVAL, -ENOMEM or another negative errno
 *         with err set
 */
int plugin_report_read(const char *path, struct plugin_report *report, struct err *err);
void plugin_report_fini(struct plugin_report *report);
