/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of a JSON object that another program wrote, one check each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/err.h"

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
