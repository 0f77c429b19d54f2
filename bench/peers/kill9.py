#!/usr/bin/env python3
"""What a job system loses when its process is killed.

    kill9.py [--jobs N] [--wait SECONDS] [--mode MODE] REDIS_URL PROGRAM [ARGUMENT...]

Numbered jobs of 20 ms each append their numbers to a file. In mid-drain the process is killed with SIGKILL, a new one
is started, and it gets --wait seconds, counted from the last job that ran, to run what is left. Then the numbers that
never came and those that came twice are counted. Flushes the Redis.
"""

import argparse
import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

# How long to go on when every job has run: some may run a second time.
SECOND_RUNS_S = 10


def flush(url):
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port or 6379)) as redis:
        redis.sendall(b"FLUSHALL\r\n")
        answer = redis.recv(100)
    if not answer.startswith(b"+OK"):
        sys.exit(f"flush {url}: {answer!r}")


def numbers(path):
    return [int(line) for line in path.read_text().splitlines()]


def start(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line.strip() != "ready":
        sys.exit(f"{command[0]}: expected ready, found {line!r}")
    return process


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--wait", type=float, default=90)
    parser.add_argument("--mode", default="default")
    parser.add_argument("redis")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    flush(options.redis)
    sizes = ["numbers", "--redis", options.redis, "--mode", options.mode, "--jobs", str(options.jobs)]
    subprocess.run([*options.program, "fill", *sizes], check=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "numbers")
        path.touch()
        run = [*options.program, "run", *sizes, "--concurrency", str(options.concurrency), "--file", str(path)]

        first = start(run)
        while len(numbers(path)) < options.jobs // 3:
            time.sleep(0.005)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        killed = time.monotonic()
        before = len(numbers(path))

        second = start(run)
        last_count, last_change, complete = before, time.monotonic(), None
        while time.monotonic() - last_change < (options.wait if complete is None else SECOND_RUNS_S):
            now = numbers(path)
            if len(now) != last_count:
                last_count, last_change = len(now), time.monotonic()
            if complete is None and len(set(now)) == options.jobs:
                complete = time.monotonic() - killed
            time.sleep(0.1)
        second.stdin.close()
        try:
            second.wait(timeout=30)
        except subprocess.TimeoutExpired:
            second.kill()
        ran = collections.Counter(numbers(path))

    print(json.dumps({
        "mode": options.mode,
        "jobs": options.jobs,
        "ran_before_kill": before,
        "never_ran": options.jobs - len(ran),
        "ran_twice": sum(1 for count in ran.values() if count > 1),
        "waited_s": options.wait,
        "last_run_s_after_kill": round(last_change - killed, 1) if complete is None else None,
        "complete_s_after_kill": None if complete is None else round(complete, 1),
    }))


if __name__ == "__main__":
    main()
