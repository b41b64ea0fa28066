/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what the analyzer concluded, for people and for machines. */
#pragma once

#include "common/err.h"
#include "diag/verdict.h"

/*
 * Writes every report of a verdict into a directory, which is created when absent.
 * @param page  what the page is made of (diag/report/page.h), from web/page.h
 * @return 0, or negative errno with err naming file and cause
 */
int report_write(const struct verdict *verdict, const char *dir, const char *page, struct err *err);
