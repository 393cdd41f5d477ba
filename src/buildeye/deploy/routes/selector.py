"""The kernel's choice among listening sockets of one port: a classic BPF program on their SO_REUSEPORT group.

A group member's number is its place in the order in which the sockets began to listen; the program returns it for each
new connection (socket(7), SO_ATTACH_REUSEPORT_CBPF, Linux 4.5; TCP since 4.6). Replacing the program is atomic.
"""

import ctypes
import socket
import struct
from collections.abc import Sequence
from typing import Final

SO_ATTACH_REUSEPORT_CBPF: Final = 51
SO_COOKIE: Final = 57

_LOAD_BYTE: Final = 0x30
_LOAD_WORD: Final = 0x20
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_NETWORK_HEADER: Final = 0xFFF00000  # SKF_NET_OFF: offsets from here on count from the IP header
_IPV4_SOURCE: Final = 12
_PRIVATE_NETWORK: Final = (127 << 24) | (77 << 16)


def private_source(slot: int) -> str:
    """The source address whose connections go to this slot, whatever the current one is.

    The kernel takes a source of 127.0.0.0/8 from this machine only, so no stranger outside can ask a candidate.
    """
    return f"127.77.0.{slot + 1}"


def program(current: int, slots: int) -> list[tuple[int, int, int, int]]:
    """Instructions (code, if true, if false, operand): a private source to its slot, all others to `current`."""
    choices = []
    for slot in range(slots):
        choices += [(_JUMP_IF_EQUAL, 0, 1, _PRIVATE_NETWORK | (slot + 1)), (_RETURN, 0, 0, slot)]
    return [
        (_LOAD_BYTE, 0, 0, _NETWORK_HEADER),
        (_AND, 0, 0, 0xF0),
        (_JUMP_IF_EQUAL, 0, len(choices) + 1, 0x40),  # IPv4, also where a socket takes both
        (_LOAD_WORD, 0, 0, _NETWORK_HEADER + _IPV4_SOURCE),
        *choices,
        (_RETURN, 0, 0, current),
    ]


def attach(member: socket.socket, current: int, slots: int) -> None:
    """Have the group of `member` lead new connections to `current`. OSError when the kernel refuses."""
    instructions = b"".join(struct.pack("HBBI", *one) for one in program(current, slots))
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    pointer = struct.pack("HP", len(instructions) // 8, ctypes.addressof(kept))
    member.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, pointer)


def cookies(members: Sequence[socket.socket]) -> list[int]:
    """The kernel's own name of each socket, unique within a boot and the same in every process that holds it."""
    return [int.from_bytes(one.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), "little") for one in members]
