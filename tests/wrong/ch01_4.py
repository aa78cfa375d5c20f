"""Plausible wrong answers to ch01.4.  Docstrings: the status, and how the first hint begins."""

TASK = "ch01.4"


def nothing_changed(text):
    """wrong: Row 0 is right and later rows are not"""
    return text


def wrong_stride_chosen(text):
    """wrong: Row 0 is right and later rows are not"""
    return text.replace("strides: [100, 1]", "strides: [96, 1]")


def only_the_stride(text):
    """wrong: What does the program take for the largest value"""
    return text.replace("strides: [96, 1]", "strides: [100, 1]")


def identity_of_a_minimum(text):
    """wrong: Row 0 is right and later rows are not"""
    return only_the_stride(text).replace("dense<0.000000e+00>", "dense<0x7C00>")


def identity_not_low_enough(text):
    """wrong: What does the program take for the largest value"""
    return only_the_stride(text).replace("dense<0.000000e+00>", "dense<-1.0>")


def step_left_alone(text):
    """over budget: The values are right, but how many cores"""
    return only_the_stride(text).replace("dense<0.000000e+00>", "dense<0xFC00>")


def step_too_long(text):
    """wrong: Row 0 is right and later rows are not"""
    return step_left_alone(text).replace("constant 16 : index", "constant 64 : index")


def broken_text(text):
    """wrong: Row 0 is right and later rows are not"""
    return text.replace("strides: [96, 1]", "strides: [100, 1")
