/* SPDX-License-Identifier: BSD-3-Clause */
/* What the colors of steps mean, said wherever steps are drawn. */
import {key} from "./dom.js";
import {percent} from "./format.js";
import {SLOW_SHARE} from "./model.js";

export const excessKeys = () =>
    [key("x0", `as expected (within ${percent(SLOW_SHARE)})`),
     key("x1", "time lost: step up to 10 % longer"),
     key("x2", "up to 50 %"),
     key("x3", "more"),
     key("x4", "still open"),
];
