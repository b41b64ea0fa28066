/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the header records that a stream has had so far. Private to common/record/check.h. */
#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/record/check.h"
#include "common/record/kinds.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_hdr.h"

struct known_node {
	bool host;
	uint16_t nports, described; /* promised by NODE, and by how many PORTs kept */
	uint32_t first_port;
};

struct known_port {
	bool described;
	uint16_t peer_port;
	uint32_t peer, ip;
};

struct known_collective {
	uint32_t id, iteration;
	uint32_t ranks, steps, rank_steps;
	uint32_t scheduled; /* SCHEDULE records */
	uint64_t promised;  /* DEPEND records, by them */
	uint64_t depends;   /* and how many there were */
};

/* An array of elements of one size, grown by doubling. */
struct known_list {
	void *data;
	uint32_t count, cap;
};

struct record_check {
	bool has_run, has_topology, ended;
	uint64_t epoch_ps;
	uint64_t latest_ps;                                /* of all records so far */
	uint64_t behind_ps;                                /* that the fabric was behind its clock, at most, as reported */
	struct known_list nodes, ports, collectives, sets; /* sets: struct rec_ecmp, by their numbers */
	uint32_t *slots;                                   /* [nslots] the hash table of collectives; UINT32_MAX: free */
	uint32_t nslots;                                   /* a power of two */
	uint32_t last; /* the collective that was named last: most records name it again */
	uint64_t sums[RECORD_KINDS][RECORD_MAX_FIELDS];
	uint32_t ruled[RECORD_KINDS], summed[RECORD_KINDS]; /* bit i: field i of a kind has a rule; is in sums[] */
};

/* @return the element, NULL: there is none */
const struct known_node *known_node(const struct record_check *check, uint32_t node);
/* @param port  index of a known node's */
struct known_port *known_port(const struct record_check *check, uint32_t node, uint16_t port);
struct known_collective *known_collective(struct record_check *check, uint32_t id, uint32_t iteration);
/* @param count  set to the number of its records, which follow each other. @return the first; NULL: there is none */
const struct rec_ecmp *known_set(const struct record_check *check, uint32_t set, uint32_t *count);
/* @return the last record of the last set; NULL: there is none */
const struct rec_ecmp *known_last_set(const struct record_check *check);

/* Take in a header record that was found good. @return 0 or -ENOMEM with err */
int known_add(struct record_check *check, const struct rec_hdr *rec, struct err *err);
void known_fini(struct record_check *check);
