/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cases in a folder are of: results of another corpus, seed or program are not taken for those that are asked for. */
#pragma once

#include "eval/compare/study.h"

#define COMPARE_CORPUS "corpus.json"

/* @return 0; -EINVAL with err: of something else, or it cannot be read; -ENOENT: nothing says */
int compare_folder_check(const struct compare_study *study, const char *root, struct err *err);

/* The same, and says it in a folder in which nothing does. @return 0 or negative errno with err */
int compare_folder_begin(const struct compare_study *study, const char *root, struct err *err);
