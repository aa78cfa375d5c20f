"""Plausible wrong answers to ch04.3.  Docstrings: the status, and how the first hint begins."""

import numpy as np

TASK = "ch04.3"


def detour(bits, half=1 << 13, zero=True):
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    wide = magnitude.view(np.float16).astype(np.float32).view(np.uint32)
    code = (((wide + half) >> 14) - ((127 - 31) << 9)).astype(np.uint16)
    code = np.where(magnitude == 0, 0, code) if zero else code
    return code, sign, magnitude


def bits_as_they_are(bits):
    """wrong: Write 1.0 in both"""
    return bits.copy()


def bias_forgotten(bits):
    """wrong: Write 1.0 in both"""
    return (bits & 0x8000) | ((bits & 0x7FFF) >> 1)


def zero_is_tiny(bits):
    """wrong: Write 1.0 in both"""
    return (bits & 0x8000) | (((bits & 0x7FFF) >> 1) + (16 << 9)).astype(np.uint16)


def sign_lost(bits):
    """wrong: Write 1.0 in both"""
    code, _, magnitude = detour(bits)
    return np.where(magnitude >= 0x7C00, 0x7FFF, code).astype(np.uint16)


def cut_off(bits):
    """wrong: An odd fraction lies"""
    code, sign, magnitude = detour(bits, half=0)
    return np.where(magnitude >= 0x7C00, 0x7FFF, code | sign).astype(np.uint16)


def half_to_even(bits):
    """wrong: An odd fraction lies"""
    _, sign, magnitude = detour(bits)
    wide = magnitude.view(np.float16).astype(np.float32).view(np.uint32)
    code = ((wide + 0x1FFF + ((wide >> 14) & 1)) >> 14) - (96 << 9)
    code = np.where(magnitude == 0, 0, code)
    return np.where(magnitude >= 0x7C00, 0x7FFF, code | sign).astype(np.uint16)


def no_carry(bits):
    """wrong: An odd fraction lies"""
    code, sign, magnitude = detour(bits, half=0)
    fraction = np.minimum((code & 0x1FF) + (magnitude & 1), 0x1FF)
    code = (code & 0xFE00) | fraction
    return np.where(magnitude >= 0x7C00, 0x7FFF, code | sign).astype(np.uint16)


def subnormals_like_the_rest(bits):
    """wrong: The smallest f16 numbers"""
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    code = np.where(magnitude == 0, 0, ((magnitude + 1) >> 1) + (16 << 9)) | sign
    return np.where(magnitude >= 0x7C00, 0x7FFF, code).astype(np.uint16)


def subnormals_are_zero(bits):
    """wrong: The smallest f16 numbers"""
    code, sign, magnitude = detour(bits)
    code = np.where(magnitude < 0x400, 0, code) | sign
    return np.where(magnitude >= 0x7C00, 0x7FFF, code).astype(np.uint16)


def infinities_are_large(bits):
    """wrong: What has an exponent field of 31"""
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    tiny = detour(bits)[0]
    code = np.where(magnitude < 0x400, tiny, ((magnitude + 1) >> 1) + (16 << 9))
    return (code | sign).astype(np.uint16)


def signed_nan(bits):
    """wrong: What has an exponent field of 31"""
    code, sign, magnitude = detour(bits)
    return (np.where(magnitude >= 0x7C00, 0x7FFF, code) | sign).astype(np.uint16)
