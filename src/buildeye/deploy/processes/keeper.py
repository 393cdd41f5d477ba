"""The keeper of one run of a version: a tiny parent that outlives the supervisor. Run as a file: `python -I -S`.

It starts the command, writes `process.json` before the command runs and `exit.json` when it has ended, holds the
listening sockets of all slots of the service, ends what the command left behind, and answers on the socket
`keeper.sock` of its run folder. Its one argument is the number of a descriptor with its description as JSON: neither
arguments nor files hold the environment of the version.

As the subreaper of its descendants (prctl(2)) it alone reaps them, so none is lost to it and no exit code either.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False  # importing `typing` for it would take longer than the rest
if TYPE_CHECKING:
    from buildeye.deploy.processes import applog, child, connections, proctable, statefile
else:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    import applog
    import child
    import connections
    import proctable
    import statefile

_SUBREAPER = 36
_LOOK_SECONDS = 5.0
_SWEEP_SECONDS = 0.05
_LEFTOVER_SECONDS = 5.0
_CLIENTS = 64
_MESSAGE_BYTES = 65536


class Keeper:
    """One run, from its description: command, directory, environment, sockets, slot, nonce, log and limits."""

    def __init__(self, plan: "dict[str, object]") -> None:
        self.plan = plan
        self.command = [str(word) for word in _list(plan["command"])]
        self.sockets = [int(str(fd)) for fd in _list(plan["sockets"])]
        self.boot = _boot()
        self.pid = 0
        self.start_time = 0
        self.ended: dict[str, object] | None = None
        self.written = False
        self.swept = False
        self.leaving = not self.sockets
        self.stopped = self.killed = False
        self.deadline = float("inf")
        self.asked = time.monotonic()
        self.started = {"wall": time.time(), "ticks": time.monotonic()}
        self.clients: dict[int, socket.socket] = {}
        self.log = applog.open_log(str(plan["log"]))
        self.door = _door()
        self.wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, self._noticed)  # a handler, since an ignored SIGCHLD would lose exit codes
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)

    def start(self) -> None:
        """Write process.json, then let the command run; a start that failed is in exit.json. OSError: the disk."""
        plan = self.plan
        environment = {str(name): str(value) for name, value in _dict(plan["environment"]).items()}
        listening = self.sockets[int(str(plan["slot"]))] if self.sockets else None
        gate = child.fork(self.command, str(plan["directory"]), environment, self.log, listening)
        self.pid = gate.pid
        entry = proctable.entry_of(gate.pid)
        self.start_time = entry.start_time if entry is not None else 0
        try:
            statefile.write_state("process.json", self.facts())
        except OSError:
            gate.shut()
            raise
        failed = gate.open()
        if failed is not None:
            path = environment.get("PATH", os.defpath)
            self.end(127, child.says(*failed, self.command, str(plan["directory"]), path))
            os.waitpid(self.pid, 0)

    def facts(self) -> "dict[str, object]":
        """Which process this is, for process.json."""
        own = proctable.entry_of(os.getpid())
        return {
            "pid": self.pid,
            "start_time": self.start_time,
            "keeper_pid": os.getpid(),
            "keeper_start_time": own.start_time if own is not None else 0,
            "boot": self.boot,
            "nonce": self.plan["nonce"],
            "command": os.path.basename(self.command[0]),  # noqa: PTH119
            "slot": self.plan["slot"],
            "sockets": len(self.sockets),
            **self.started,
        }

    def serve(self) -> None:
        """Wait, answer and clean up until the command has ended and nobody needs the sockets."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        poll.register(self.door, select.POLLIN)
        while not self._done():
            for fd, _ in poll.poll(self._pause() * 1000):
                if fd == self.wake:
                    os.read(fd, 4096)
                elif fd == self.door.fileno():
                    self._accept(poll)
                else:
                    poll.unregister(fd)
                    self._answer(self.clients.pop(fd))
            self._reap()
            self._write_exit()
            self._press()
            if self.ended is None:
                applog.bound(self.log, str(self.plan["log"]), int(str(self.plan["log_bytes"])))

    def end(self, status: "int | None", start_error: str = "") -> None:
        """Note that the command has ended, with a wait status (a code with `start_error`); None: nobody knows."""
        code = number = None
        if start_error:
            code = status
        elif status is not None and os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
        elif status is not None:
            code = os.WEXITSTATUS(status)
        self.ended = {
            "code": code,
            "signal": number,
            "core": status is not None and not start_error and os.WCOREDUMP(status),
            "start_error": start_error,
            "stopped": self.stopped,
            "killed": self.killed,
            "wall": time.time(),
            "ticks": time.monotonic(),
            "boot": self.boot,
        }
        self.asked = time.monotonic()
        self.deadline = min(self.deadline, time.monotonic() + _LEFTOVER_SECONDS)
        self._write_exit()
        for entry in self._descendants():
            proctable.send(entry.pid, entry.start_time, signal.SIGTERM)

    def _done(self) -> bool:
        if self.ended is None or not self.swept:
            return False
        return self._idle() >= 0 or (self.leaving and self.written)

    def _idle(self) -> float:
        """Seconds beyond the time for which sockets are held for nobody; negative before."""
        return time.monotonic() - self.asked - float(str(self.plan["linger_seconds"]))

    def _pause(self) -> float:
        if self.ended is None:
            return max(0.0, min(_LOOK_SECONDS, self.deadline - time.monotonic()))
        return max(0.0, min(_LOOK_SECONDS, -self._idle())) if self.swept else _SWEEP_SECONDS

    def _noticed(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM and self.ended is not None:
            self.leaving = True  # while the command lives, its exit is still to be written

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                if self.ended is None:
                    self.end(None)
                return
            if pid == 0:
                return
            if pid == self.pid and self.ended is None:
                self.end(status)

    def _write_exit(self) -> None:
        if self.ended is None or self.written:
            return
        try:
            statefile.write_state("exit.json", self.ended)
        except OSError:
            return  # a full disk: again at the next look; until then `status` tells
        self.written = True

    def _press(self) -> None:
        """Kill what is still there after its time."""
        left = self._descendants() if self.ended is not None and not self.swept else []
        if time.monotonic() >= self.deadline:
            if self.ended is None:
                self.killed = True
                self._signal(signal.SIGKILL)
                left = self._descendants()
            for entry in left:
                proctable.send(entry.pid, entry.start_time, signal.SIGKILL)
            self.deadline = time.monotonic() + _SWEEP_SECONDS if self.ended is None or left else float("inf")
        self.swept = self.ended is not None and not left

    def _descendants(self) -> "list[proctable.Entry]":
        return [entry for entry in proctable.descendants(os.getpid(), proctable.table()) if entry.alive]

    def _accept(self, poll: "select.poll") -> None:
        try:
            client, _ = self.door.accept()
        except OSError:
            return
        if len(self.clients) >= _CLIENTS:
            silent = next(iter(self.clients))
            poll.unregister(silent)
            self.clients.pop(silent).close()
        client.settimeout(1.0)
        self.clients[client.fileno()] = client
        poll.register(client, select.POLLIN)

    def _answer(self, client: socket.socket) -> None:
        with client:
            try:
                said = client.recv(_MESSAGE_BYTES)
                if not said:
                    return
                asked = _dict(json.loads(said))
                self.asked = time.monotonic()
                answer = self._do(asked)
                fds = self.sockets if asked.get("do") == "sockets" else []
                socket.send_fds(client, [json.dumps(answer).encode()], fds)
            except (OSError, ValueError, KeyError):
                return  # the client left, or was none of ours

    def _do(self, asked: "dict[str, object]") -> "dict[str, object]":
        match asked.get("do"):
            case "status":
                left = len(self._descendants())
                return {"facts": self.facts(), "exit": self.ended, "left": left}
            case "sockets":
                return {"sockets": len(self.sockets)}
            case "connections" | "cut" as what:
                pids = [entry.pid for entry in self._descendants()]
                ports = [int(str(port)) for port in _list(asked.get("ports", []))]
                paths = [str(path) for path in _list(asked.get("paths", []))]
                if what == "connections":
                    return {"count": connections.count(pids, ports, paths)}
                done, refused = connections.cut(pids, ports, paths)
                return {"count": done, "refused": refused}
            case "stop":
                return {"alive": self._stop(int(str(asked["signal"])), float(str(asked["seconds"])))}
            case "leave":
                self.leaving = self.leaving or self.ended is not None
                return {"leaves": self.ended is not None}
        return {"error": "unknown request"}

    def _stop(self, number: int, seconds: float) -> bool:
        self._reap()
        if self.ended is not None:
            return False
        self.stopped = True
        self.deadline = min(self.deadline, time.monotonic() + seconds)
        self._signal(number)
        return True

    def _signal(self, number: int) -> None:
        """Signal the command and its group: it is not yet reaped, so both numbers are still its own."""
        try:
            os.killpg(self.pid, number)
        except OSError:  # it moved to another group
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)


def main(argument: str) -> None:
    """Keep one run, described in the descriptor of this number."""
    with open(int(argument), "rb") as file:  # noqa: PTH123
        file.seek(0)
        plan = json.loads(file.read())
    _keep_only({plan["lock"], plan["report"], *plan["sockets"]})
    if os.getsid(0) != os.getpid():
        os.setsid()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    os.chdir(plan["folder"])
    try:
        keeper = Keeper(plan)
        keeper.start()
    except OSError as error:
        _report(plan["report"], {"error": f"{error.filename or plan['folder']}: {error.strerror or error}"})
        raise SystemExit(1) from error
    _report(plan["report"], {"facts": keeper.facts(), "exit": keeper.ended})
    keeper.serve()


def _keep_only(given: "set[int]") -> None:
    """Close what the supervisor happened to leave open: a pipe of its caller would wait for a keeper's end."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        fd = int(name)
        if fd in given:
            os.set_inheritable(fd, False)
        elif fd > 2:
            with contextlib.suppress(OSError):  # the listing's own
                os.close(fd)


def _report(report: int, value: "dict[str, object]") -> None:
    with contextlib.suppress(BrokenPipeError):  # the supervisor is gone; the next one reads process.json
        os.write(report, json.dumps(value).encode())
    os.close(report)


def _door() -> socket.socket:
    """The listening socket, bound by its bare name: a whole path may be longer than the 107 bytes allowed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(proctable.SOCKET)  # noqa: PTH108
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o177)
    try:
        door.bind(proctable.SOCKET)
    finally:
        os.umask(before)
    door.listen(_CLIENTS)
    door.setblocking(False)
    return door


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
        return file.read().strip()


def _list(value: object) -> "list[object]":
    return list(value) if isinstance(value, list) else []


def _dict(value: object) -> "dict[str, object]":
    return dict(value) if isinstance(value, dict) else {}


if __name__ == "__main__":
    main(sys.argv[1])
