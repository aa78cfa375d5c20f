"""Plausible wrong answers to ch06.1.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch06.1"

CLONE = torch.ops.aten.clone.default


def keeps_all(graph):
    """wrong: Which nodes read a copy"""


def readers_only(graph):
    """wrong: Which nodes read a copy"""
    for node in graph.nodes:
        if node.target is CLONE:
            node.replace_all_uses_with(node.args[0])


def takes_all(graph):
    """wrong: A graph that returned a copy"""
    for node in list(graph.nodes):
        if node.target is CLONE:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def forgets_strides(graph):
    """wrong: A graph that returned a copy"""
    for node in list(graph.nodes):
        if node.target is CLONE and not any(user.op == "output" for user in node.users):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def forgets_writers(graph):
    """wrong: Why would somebody copy"""
    for node in list(graph.nodes):
        if node.target is not CLONE or any(user.op == "output" for user in node.users):
            continue
        if node.meta["val"].stride() == node.args[0].meta["val"].stride():
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def forgets_writers_of_the_source(graph):
    """wrong: Why would somebody copy"""
    for node in list(graph.nodes):
        if node.target is not CLONE or any(user.op == "output" for user in node.users):
            continue
        written = any(u.target._schema.is_mutable and u.args[0] is node for u in node.users)
        if not written and node.meta["val"].stride() == node.args[0].meta["val"].stride():
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def afraid_of_every_writer(graph):
    """wrong: Why would somebody copy"""
    for node in list(graph.nodes):
        if node.target is not CLONE or any(user.op == "output" for user in node.users):
            continue
        touched = (*node.users, *node.args[0].users)
        written = any(u.target._schema.is_mutable for u in touched if u.op == "call_function")
        if not written and node.meta["val"].stride() == node.args[0].meta["val"].stride():
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
