# SPDX-License-Identifier: MIT
"""How one side of the wire waits for the other's message.

Waking a processor that sleeps can cost more than the whole question. So a side that has read many messages
looks for the next one for some microseconds before it sleeps. Where other work takes the processor that finds
nothing, costs more than it saves, and stops for a while."""

import os

READ_MAX = 1 << 16
LOOKS = 40  # before it sleeps, at about a microsecond each
FIRST = 64  # messages before it looks for the first time: most jobs have fewer
PAUSE = 512  # messages before it looks again, after it has looked in vain
CREDIT, CREDIT_MAX, IN_VAIN = 4, 16, 2


class Turns:
    def __init__(self, fd):
        self.fd = fd
        self.credit = 0  # FD does not block while there is some
        self.until_credit = FIRST

    def read(self):
        """Returns what has come, as os.read() does; waits until there is something."""
        if self.credit > 0:
            return self.look()
        self.until_credit -= 1
        if self.until_credit <= 0:
            self.credit = CREDIT
            os.set_blocking(self.fd, False)
            return self.look()
        return os.read(self.fd, READ_MAX)

    def look(self, read=os.read):
        fd = self.fd
        for _ in range(LOOKS):
            try:
                data = read(fd, READ_MAX)
            except BlockingIOError:
                continue
            if self.credit < CREDIT_MAX:
                self.credit += 1
            return data
        os.set_blocking(fd, True)
        data = read(fd, READ_MAX)
        self.credit -= IN_VAIN
        if self.credit > 0:
            os.set_blocking(fd, False)
        else:
            self.until_credit = PAUSE
        return data

    def read_part(self, size):
        """Returns more of a message, of which at most SIZE bytes are missing."""
        if self.credit > 0:
            self.credit, self.until_credit = 0, PAUSE
            os.set_blocking(self.fd, True)
        return os.read(self.fd, size)
