"""Quadratic programs, and those with complementarity constraints. Arrays in, arrays out."""

from pliant.solvers.qp.problem import QpccProblem
from pliant.solvers.qp.qpcc import compliance_problem, qpcc, solve_qpcc
from pliant.solvers.qp.quadratic import QpResult, QpStatus, quadratic_program
from pliant.solvers.qp.result import QpccResult, QpccStatus

__all__ = [
    "QpResult",
    "QpStatus",
    "QpccProblem",
    "QpccResult",
    "QpccStatus",
    "compliance_problem",
    "qpcc",
    "quadratic_program",
    "solve_qpcc",
]
