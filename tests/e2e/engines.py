"""What the tests of the launchers need of a cluster, on one machine: hosts made of network namespaces, and a Slurm of two nodes."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import pytest


def require_programs(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


def require_root(why: str) -> None:
    if os.geteuid() != 0:
        pytest.skip(f"{why} needs root")


def quiet(*words: str, check: bool = True) -> subprocess.CompletedProcess:
    return subprocess.run(words, check=check, capture_output=True, text=True)


class Hosts:
    """Network namespaces on one bridge: each has an address and a host name of its own, and shares the file system."""

    SHELL = """\
#!/bin/sh
# HOST COMMAND...: what ssh would do, into a namespace.
number=${{1##*.}}
shift
exec ip netns exec {tag}n$number unshare --uts sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh n$number "$@"
"""

    def __init__(self, folder: pathlib.Path, count: int) -> None:
        self.tag, self.count, self.subnet = f"sg{os.getpid() % 100000}", count, f"10.77.{os.getpid() % 250}"
        self.shell = folder / "into_namespace"
        self.shell.write_text(self.SHELL.format(tag=self.tag))
        self.shell.chmod(0o755)

    @property
    def addresses(self) -> list[str]:
        return [f"{self.subnet}.{i}" for i in range(1, self.count + 1)]

    @property
    def environment(self) -> dict:
        return {"OMPI_MCA_plm_rsh_agent": str(self.shell)}

    def start(self) -> None:
        if quiet("ip", "link", "add", self.tag, "type", "bridge", check=False).returncode != 0:
            pytest.skip("no network namespaces can be made here")
        quiet("ip", "address", "add", f"{self.subnet}.254/24", "dev", self.tag)
        quiet("ip", "link", "set", self.tag, "up")
        for i, address in enumerate(self.addresses, start=1):
            name, veth = f"{self.tag}n{i}", f"{self.tag}v{i}"
            quiet("ip", "netns", "add", name)
            quiet("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", name)
            quiet("ip", "link", "set", veth, "master", self.tag, "up")
            quiet("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            quiet("ip", "-n", name, "link", "set", "eth0", "up")
            quiet("ip", "-n", name, "link", "set", "lo", "up")

    def cut_off(self, number: int) -> None:
        quiet("ip", "link", "set", f"{self.tag}v{number}", "down")

    def stop(self) -> None:
        for i in range(1, self.count + 1):
            quiet("ip", "netns", "delete", f"{self.tag}n{i}", check=False)
        quiet("ip", "link", "delete", self.tag, check=False)


@contextlib.contextmanager
def hosts(folder: pathlib.Path, count: int):
    require_programs("mpirun", "ip", "unshare")
    require_root("making network namespaces")
    made = Hosts(folder, count)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Slurm:
    """munged, slurmctld and two slurmd of a cluster of its own."""

    CONF = """\
ClusterName=stepgauge
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
MpiDefault=none
KillWait=5
SelectType=select/linear
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=n[1-2] Default=YES State=UP MaxTime=INFINITE
"""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.daemons = folder, []
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}

    def daemon(self, *words: str) -> None:
        output = open(self.folder / f"{pathlib.Path(words[0]).name}-{len(self.daemons)}.out", "w")
        self.daemons.append(subprocess.Popen(words, env={**os.environ, **self.environment}, stdout=output, stderr=output,
                                             stdin=subprocess.DEVNULL, cwd="/"))

    def start(self) -> None:
        munge = self.folder / "munge"
        munge.mkdir()
        (munge / "key").write_bytes(os.urandom(64))
        (munge / "key").chmod(0o600)
        quiet("chown", "-R", "munge:", str(munge))
        (self.folder / "state").mkdir()
        for node in ("n1", "n2"):
            (self.folder / f"spool-{node}").mkdir()
        (self.folder / "slurm.conf").write_text(
            self.CONF.format(host=socket.gethostname().split(".")[0], folder=self.folder, ports=[free_port() for _ in range(3)]))
        self.daemon("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "-F", f"--key-file={munge}/key",
                    f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed",
                    f"--log-file={munge}/log", "--origin=127.0.0.1")
        self.wait(lambda: (munge / "socket").exists(), "munged")
        self.daemon("slurmctld", "-D")
        for node in ("n1", "n2"):
            self.daemon("slurmd", "-D", "-N", node)
        self.wait(lambda: self("sinfo", "--noheader", "--format=%T %D").stdout.strip() == "idle 2", "two idle nodes")

    def wait(self, condition, what: str, seconds: float = 15) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                said = "".join(path.read_text()[-500:] for path in sorted(self.folder.glob("*.out")))
                pytest.skip(f"no Slurm could be started here ({what}): {said}")
            time.sleep(0.1)

    def __call__(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(words, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=30)

    def stop(self) -> None:
        for process in reversed(self.daemons):
            process.terminate()
        for process in reversed(self.daemons):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def slurm():
    require_programs("munged", "slurmctld", "slurmd", "srun", "setpriv")
    require_root("starting a Slurm")
    with tempfile.TemporaryDirectory(prefix="stepgauge-slurm-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # munged has a user of its own
        cluster = Slurm(folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
