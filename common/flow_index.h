/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a run's planned flows has a 5-tuple, and in which direction: for those who are asked by headers alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"

struct flow_index;

/* @param table  unchanged until flow_index_destroy(); spare slots are not looked at. @return NULL with errno ENOMEM */
struct flow_index *flow_index_create(const struct flow_table *table);
void flow_index_destroy(struct flow_index *index); /* also of NULL */

/*
 * Where one flow's data and another's ACKs have the same header, it is the data's; of several flows, the first.
 * @param reverse  set: the tuple is that of its ACKs
 * @return the flow's number, FLOW_NONE if no planned flow has it
 */
#define FLOW_NONE UINT32_MAX
uint32_t flow_index_find(const struct flow_index *index, const struct rec_tuple *tuple, bool *reverse);
