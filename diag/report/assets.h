/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of assets/, made part of the program by embed.py. They hold no '<' and no '&': the page stays XML. */
#pragma once

extern const char assets_css[];
extern const char assets_js[];
