"""Plausible wrong answers to ch06.7.  Docstrings: the status, and how the first hint begins."""

import torch
from torch import nn

TASK = "ch06.7"


class Counting(nn.Module):
    def __init__(self, width, early=1, factor=0.25):
        super().__init__()
        self.score = nn.Linear(width, width)
        self.register_buffer("step", torch.zeros(()))
        self.early, self.factor = early, factor

    def forward(self, x):
        before = self.step.clone()
        self.step.add_(1)
        count = self.step if self.early else before
        return torch.softmax(self.score(x) * (1 + self.factor * count), -1)


class InPython(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, width)
        self.step = 0

    def forward(self, x):
        self.step += 1
        return torch.softmax(self.score(x) * (1 + 0.25 * self.step), -1)


class OnTheHost(Counting):
    def forward(self, x):
        self.step.add_(1)
        return torch.softmax(self.score(x) * (1 + 0.25 * self.step.cpu().to(x.device)), -1)


def counts_from_zero(width):
    """wrong: The result is not that"""
    return Counting(width, early=0)


def another_factor(width):
    """wrong: The result is not that"""
    return Counting(width, factor=0.5)


def as_it_was(width):
    """wrong: Which guard fails"""
    return InPython(width)


def by_way_of_the_host(width):
    """wrong: Which guard fails"""
    return OnTheHost(width)
