"""Quadratic programs, and those with complementarity constraints. Arrays in, arrays out."""

from pliant.solvers.inverse.problem import QpccProblem
from pliant.solvers.inverse.qpcc import compliance_problem, qpcc, solve_qpcc
from pliant.solvers.inverse.result import QpccResult, QpccStatus

__all__ = ["QpccProblem", "QpccResult", "QpccStatus", "compliance_problem", "qpcc", "solve_qpcc"]
