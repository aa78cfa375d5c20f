"""Plausible wrong answers to ch06.4.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch06.4"

aten = torch.ops.aten


def wanted(node, dims, other=None, permuted=True):
    for user in node.users:
        if user.target in (aten.mm.default, aten.bmm.default):
            yield dims[-1]
        elif user.target is aten.t.default:
            yield from wanted(user, dims[::-1], other, permuted)
        elif user.target is aten.transpose.int:
            one, two = user.args[1:]
            turned = list(dims)
            turned[one], turned[two] = dims[two], dims[one]
            yield from wanted(user, turned, other, permuted)
        elif user.target is aten.permute.default and permuted:
            yield from wanted(user, [dims[d] for d in user.args[1]], other, permuted)
        elif other is not None:
            yield other


def laid_out(graph, choose):
    found = {}
    for node in graph.find_nodes(op="placeholder"):
        dims = list(range(node.meta["val"].dim()))
        sticks = choose(node, dims)
        if sticks is not None:
            found[node.name] = (*(d for d in dims if d != sticks), sticks)
    return found


def as_they_are(graph):
    """wrong: Where does the product find"""
    return laid_out(graph, lambda node, dims: dims[-1])


def weights_only(graph):
    """wrong: Where does the product find"""

    def choose(node, dims):
        return 0 if any(user.target is aten.t.default for user in node.users) else None

    return laid_out(graph, choose)


def no_permute(graph):
    """wrong: Where does the product find"""
    return laid_out(graph, lambda node, dims: next(wanted(node, dims, None, False), None))


def first_reader(graph):
    """wrong: A tensor has one layout"""
    return laid_out(graph, lambda node, dims: next(wanted(node, dims), None))


def products_alone(graph):
    """wrong: A tensor has one layout"""

    def choose(node, dims):
        found = set(wanted(node, dims))
        return found.pop() if len(found) == 1 else None

    return laid_out(graph, choose)
