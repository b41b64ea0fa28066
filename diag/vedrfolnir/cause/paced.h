/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in which congestion control held a step's sender back (LEDGER_PACED), and who is to blame for it: those whose
 * packets stood ahead of the step's in queues, in proportion. A sender that was slowed stays slow when the queue is gone,
 * and into later steps of its queue pair: these carry the blame on for as long as their own ledgers show the time.
 */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

#define PACED_MAX_CARRIED 256 /* culprits of a flow: those beyond are left out */

struct paced;

/* @return NULL: out of memory */
struct paced *paced_create(const struct cause_input *in);
void paced_destroy(struct paced *paced);

/* Adds to a step's findings those that slowed its queue pair in steps before. */
void paced_carry_in(struct cause_set *set, uint32_t step);
/*
 * Ports that pause, and cables that are slow, have the time for which no flow's packets are to blame: they made the queue
 * that slowed the sender, in this step, or before it.
 */
void paced_by_ports(struct cause_set *set, uint32_t step);
/* The step's findings are those that later steps of its queue pair carry. */
void paced_carry_out(struct cause_set *set, uint32_t step);
/* A step that nothing slowed down: its queue pair carries nothing any more. */
void paced_forget(struct paced *paced, uint32_t flow);

/* A culprit's packets ahead of the step's at the port of a finding, and those carried from steps before: packet-waits. */
double paced_waits(const struct cause_set *set, uint32_t step, const struct cause_finding *finding, uint32_t culprit);
/* Packets of others ahead of the step's in all queues of switches, and those carried. */
double paced_all_waits(const struct cause_set *set, uint32_t step);

/*
 * How long the step's frames stood behind a flow's at their NIC, where its rows show no wait: those of a sender that is
 * spaced out find no queue, and still a frame that is being sent. The ledger's, by what passed there beside them; 0 too of
 * less than makes a step slow.
 */
double paced_behind_ps(const struct cause_input *in, uint32_t step, const struct prov_graph *graph,
		       const struct prov_port *port, const struct prov_at *other);
