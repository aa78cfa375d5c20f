"""Plausible wrong answers to ch03.2.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch03.2"


def host(value, copies, lists=True):
    if lists and isinstance(value, list):
        return [host(item, copies) for item in value]
    if isinstance(value, torch.Tensor) and value.device.type == "spyre":
        return copies.setdefault(id(value), value.cpu())
    return value


def card(results):
    if isinstance(results, torch.Tensor):
        return results.to("spyre")
    return tuple(value.to("spyre") for value in results)


def runs_on_the_device(op, args, kwargs):
    """wrong: Tensors hide in lists"""
    return op(*args, **kwargs)


def lists_forgotten(op, args, kwargs):
    """wrong: Tensors hide in lists"""
    copies = {}
    named = {name: host(value, copies, False) for name, value in kwargs.items()}
    return card(op(*[host(value, copies, False) for value in args], **named))


def keywords_forgotten(op, args, kwargs):
    """crashed: Tensors hide in lists"""
    copies = {}
    return card(op(*[host(value, copies) for value in args], **kwargs))


def result_left_on_the_host(op, args, kwargs):
    """wrong: Tensors hide in lists"""
    copies = {}
    named = {name: host(value, copies) for name, value in kwargs.items()}
    return op(*[host(value, copies) for value in args], **named)


def nothing_written_back(op, args, kwargs):
    """wrong: x.sinc_() has to change x"""
    copies = {}
    named = {name: host(value, copies) for name, value in kwargs.items()}
    return card(op(*[host(value, copies) for value in args], **named))


def written_back_but_another_result(op, args, kwargs):
    """wrong: x.sinc_() has to change x"""
    copies = {}
    named = {name: host(value, copies) for name, value in kwargs.items()}
    results = op(*[host(value, copies) for value in args], **named)
    for argument, value in zip(op._schema.arguments, args, strict=False):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value.copy_(copies[id(value)])
    return card(results)


def only_positional_arguments_written_back(op, args, kwargs):
    """wrong: An out= is an argument"""
    copies = {}
    named = {name: host(value, copies) for name, value in kwargs.items()}
    results = op(*[host(value, copies) for value in args], **named)
    for argument, value in zip(op._schema.arguments, args, strict=False):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value.copy_(copies[id(value)])
            return value
    return card(results)


def only_out_written_back(op, args, kwargs):
    """wrong: An out= is an argument"""
    copies = {}
    named = {name: host(value, copies) for name, value in kwargs.items()}
    results = op(*[host(value, copies) for value in args], **named)
    for place, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs[argument.name]
            value.copy_(copies[id(value)])
            return value
    return card(results)
