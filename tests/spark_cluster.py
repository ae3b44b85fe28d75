"""A standalone Spark cluster on loopback: a master and two workers, from PySpark's own jars."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A cluster in a folder; every process of it is started, and ended, here.

    Parameters
    ----------
    folder : Path
        Logs and work of the workers.
    python_path : sequence of path
        What the executors import from, besides what is installed.
    memory : str
        Of each worker.
    """

    def __init__(self, folder: Path, *python_path: Path, memory: str = "1g") -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        self.folder = folder
        self._command = str(home / "bin" / "spark-class")
        self._environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_LOCAL_DIRS": str(folder / "shuffle"),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(map(str, python_path)),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self._memory = memory
        self._port, self._ui = free_port(), free_port()
        self._started = 0
        self.workers: list[subprocess.Popen[bytes]] = []
        self._master: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for applications."""
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Cluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start_all()
        except BaseException:
            self._end()
            raise
        return self

    def _start_all(self) -> None:
        where = ("--port", str(self._port), "--webui-port", str(self._ui))
        self._master = self._start("master.Master", "127.0.0.1", *where)
        self._wait(lambda state: state["status"] == "ALIVE")
        self.complete()

    def complete(self) -> None:
        """Start a worker in the place of each one that has ended; wait until there are two.

        The two have different names of this machine: Spark runs no copy of a task on the machine that runs the task.
        """
        self._wait(lambda state: state["aliveworkers"] == sum(worker.poll() is None for worker in self.workers))
        for at, host in enumerate(("127.0.0.1", "localhost")):
            if at == len(self.workers):
                self.workers.append(self._start_worker(host))
            elif self.workers[at].poll() is not None:
                self.workers[at] = self._start_worker(host)
        self._wait(lambda state: state["aliveworkers"] == 2)

    def kill_executor(self) -> None:
        """Kill what the first worker has started for an application; the worker lives, and starts another."""
        for process in _children(self.workers[0]):
            process.kill()

    def wait_for_idleness(self) -> None:
        """Wait until the workers have ended all that they started."""
        while any(_children(worker) for worker in self.workers):
            time.sleep(0.1)

    def _start_worker(self, host: str) -> subprocess.Popen[bytes]:
        return self._start(
            "worker.Worker", host, "--cores", "1", "--memory", self._memory, "--webui-port", "0", self.url
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for process in [*self.workers, *([self._master] if self._master else [])]:
            kill(process)

    def _start(self, name: str, host: str, *more: str) -> subprocess.Popen[bytes]:
        command = [self._command, f"org.apache.spark.deploy.{name}", "--host", host, *more]
        self._started += 1
        with (self.folder / f"{name}-{self._started}.log").open("wb") as log:
            return subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def _wait(self, ready: Any) -> None:
        for _ in range(600):
            state = read_json(f"http://127.0.0.1:{self._ui}/json/")
            if state is not None and ready(state):
                return
            time.sleep(0.2)
        raise TimeoutError("the cluster did not start; its logs say why")


def _children(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the executors of a worker; what its start script has left is dead, but stays in the list of processes."""
    return [process for process in psutil.Process(worker.pid).children() if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read_json(url: str) -> Any:
    """Return what a server of this machine says, or None while it says nothing."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (urllib.error.URLError, OSError, ValueError):
        return None
