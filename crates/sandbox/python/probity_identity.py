"""`is` in trusted tests, where an object of the code under test has several stand-ins.

Test files are compiled with each `a is b` and `a is not b` as a call, unless one side is a constant; `assertIs` and
`assertIsNot` likewise. Elsewhere two stand-ins are never the same.

Absent: chains such as `a is b is c`, and anything in files that pytest does not rewrite.
"""

from __future__ import annotations

import ast
import builtins
import unittest
from collections.abc import Callable
from typing import Any

NAME = "@probity_same"  # no name that a file could have


class Rewrite(ast.NodeTransformer):
    """Turns `is` into calls."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        sides = (node.left, *node.comparators)
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        if any(isinstance(side, ast.Constant) for side in sides):
            return node
        call: ast.expr = ast.Call(ast.Name(NAME, ast.Load()), list(sides), [])
        if isinstance(node.ops[0], ast.IsNot):
            call = ast.UnaryOp(ast.Not(), call)
        for part in ast.walk(call):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return ast.fix_missing_locations(ast.copy_location(call, node))


def install(same: Callable[[Any, Any], bool]) -> None:
    """Let `is` in files that are imported from now on, and the assertions of unittest, ask `same`."""
    from _pytest.assertion import rewrite

    rewrite_asserts = rewrite.rewrite_asserts

    def rewritten(module: ast.Module, *args: Any, **named: Any) -> None:
        Rewrite().visit(module)
        rewrite_asserts(module, *args, **named)

    def assert_is(self: unittest.TestCase, one: Any, other: Any, msg: Any = None) -> None:
        if not same(one, other):
            self.fail(self._formatMessage(msg, "%r is not %r" % (one, other)))

    def assert_is_not(self: unittest.TestCase, one: Any, other: Any, msg: Any = None) -> None:
        if same(one, other):
            self.fail(self._formatMessage(msg, "unexpectedly identical: %r" % (one,)))

    rewrite.rewrite_asserts = rewritten
    unittest.TestCase.assertIs = assert_is  # type: ignore[method-assign]
    unittest.TestCase.assertIsNot = assert_is_not  # type: ignore[method-assign]
    setattr(builtins, NAME, same)
