/* SPDX-License-Identifier: BSD-3-Clause */
/* The page that a run's data makes report.html: template, style and script in one text, built from this folder. */
#pragma once

/* "@data@" stands where the data goes, JSON without a '<'. Built without esbuild or d3 it says only how to get the page. */
extern const char web_page[];
