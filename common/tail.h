/* SPDX-License-Identifier: BSD-3-Clause */
/* Tails of distributions: what false-alarm rates and powers of tests are made of. */
#pragma once

#include <stdint.h>

/* @return P(Z > z) of a standard normal Z */
double tail_normal(double z);

/*
 * The inverse of tail_normal().
 * @param tail  in [0, 1]; clamped to [1e-300, 1 - 1e-16]
 * @return z with P(Z > z) = tail
 */
double tail_normal_at(double tail);

/* @param dof  degrees of freedom, > 0 @return P(T > t) of Student's T (DLMF 8.17, with x = dof / (dof + t^2)) */
double tail_student(double t, double dof);

/* @param tail  in [1e-300, 0.5] @return t with P(T > t) = tail */
double tail_student_at(double tail, double dof);

/* @param p  in [0, 1] @return P(X <= k) of a binomial X of n trials (DLMF 8.17.5) */
double tail_binomial(int64_t k, uint64_t n, double p);

/*
 * @param a  > 0 @param b  > 0 @param x  in [0, 1] @return the regularized incomplete beta function I_x(a, b) (DLMF
 *           8.17.22)
 */
double tail_beta(double a, double b, double x);
