"""What --connect-to does for curl: pages name port 3000, and the server of their test listens on another."""

import os
import socket

SHOWN_PORT = 3000
resolve = socket.getaddrinfo


def getaddrinfo(host, port, *options, **named):
    return resolve(host, int(os.environ["CONNECT_PORT"]) if port == SHOWN_PORT else port, *options, **named)


socket.getaddrinfo = getaddrinfo
