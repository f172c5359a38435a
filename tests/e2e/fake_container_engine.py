#!/usr/bin/env python3
"""Stands for podman, docker or apptainer where there is none: takes their command lines and runs the program on this host.

Called by one of the three names. The folder that FAKE_CONTAINERS names holds images.json (reference -> Id, RepoDigests, path: where the
image's programs lie) and gets calls.jsonl (every command line). As podman it starts the program itself and hands on --preserve-fds;
as docker a daemon (`daemon`) does, which no signal to the client reaches, hands on no descriptor, and keeps what runs until it is
killed by name; as apptainer it becomes the program.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading

HOME = pathlib.Path(os.environ["FAKE_CONTAINERS"])
SOCKET = HOME / "docker.sock"
VALUED = ("--name", "--network", "--ipc", "--user", "--userns", "--gpus", "--device", "--mount", "--env", "--entrypoint", "--bind")


def note(engine: str, arguments: list[str]) -> None:
    line = json.dumps({"engine": engine, "arguments": arguments}) + "\n"
    with open(HOME / "calls.jsonl", "a") as calls:
        calls.write(line)


def fail(code: int, words: str) -> int:
    print(words, file=sys.stderr)
    return code


def images() -> dict:
    return json.loads((HOME / "images.json").read_text())


def inspect(engine: str, reference: str) -> int:
    found = images().get(reference)
    if found is None:
        return fail(125 if engine == "podman" else 1, f"Error: {reference}: image not known")
    print(json.dumps([{"Id": found["Id"], "RepoDigests": found.get("RepoDigests", []), "RepoTags": [reference]}]))
    return 0


def parsed(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Options, each with its values, and the words after them."""
    options: dict[str, list[str]] = {}
    words = list(arguments)
    while words and words[0].startswith("-"):
        flag, equals, value = words.pop(0).partition("=")
        if flag in VALUED and not equals:
            value = words.pop(0)
        options.setdefault(flag, []).append(value)
    return options, words


def problem_of(options: dict, image: str, program: str) -> tuple[int, str, str]:
    """Exit code and words of a container that cannot be started, or where its program lies on this host."""
    found = next((one for one in images().values() if one["Id"] == image), None)
    if found is None:
        return 125, f"Unable to find image '{image}' locally", ""
    for mount in options.get("--mount", []):
        parts = dict(part.split("=", 1) for part in mount.split(","))
        if not pathlib.Path(parts["source"]).exists() or parts["source"] != parts["target"]:
            return 125, f"invalid mount config for type \"bind\": bind source path does not exist: {parts['source']}", ""
    path = shutil.which(program, path=found["path"])
    if path is None:
        return 127, f"exec: \"{program}\": executable file not found in $PATH", ""
    return 0, "", path


def environment(names: list[str]) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": "/", **{name: os.environ[name] for name in names if name in os.environ}}


def exit_code(status: int) -> int:
    return status if status >= 0 else 128 - status


def run(engine: str, arguments: list[str]) -> int:
    options, (image, *rest) = parsed(arguments)
    code, words, program = problem_of(options, image, options["--entrypoint"][0])
    if code:
        return fail(code, words)
    argv, variables = [program, *rest], environment(options.get("--env", []))
    if engine == "docker":
        return run_by_daemon(options["--name"][0], argv, variables)
    descriptors = int(options.get("--preserve-fds", ["0"])[0])
    child = subprocess.Popen(argv, env=variables, cwd="/", pass_fds=range(3, 3 + descriptors))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: child.send_signal(number))
    return exit_code(child.wait())


def ask_daemon(request: dict, descriptors: tuple = ()) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(SOCKET))
    socket.send_fds(connection, [json.dumps(request).encode() + b"\n"], descriptors)
    return connection


def run_by_daemon(name: str, argv: list[str], variables: dict[str, str]) -> int:
    connection = ask_daemon({"do": "run", "name": name, "argv": argv, "env": variables}, (1, 2))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: connection.sendall(f"{number}\n".encode()))
    return int(connection.makefile().readline() or 125)


def end_by_name(engine: str, words: list[str]) -> int:
    if engine == "docker":
        answer = ask_daemon({"do": words[0], "name": words[-1]}).makefile().readline().strip()
        return 0 if answer == "done" else fail(1, f"Error response from daemon: No such container: {words[-1]}")
    return fail(1, f"Error: no container with name or ID \"{words[-1]}\" found: no such container")


class Daemon:
    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen] = {}

    def serve(self) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(SOCKET))
        server.listen()
        while True:
            connection, _ = server.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def end(self) -> None:
        """With all that runs, which a test that fails leaves behind."""
        for process in list(self.running.values()):
            os.killpg(process.pid, signal.SIGKILL)
        os._exit(0)

    def answer(self, connection: socket.socket) -> None:
        data, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 2)
        while not data.endswith(b"\n"):
            data += connection.recv(1 << 20)
        request = json.loads(data)
        if request["do"] == "run":
            self.run(connection, request, descriptors)
        else:
            process = self.running.get(request["name"])
            if process is not None and request["do"] == "kill":
                os.killpg(process.pid, signal.SIGKILL)
            connection.sendall(b"missing\n" if process is None else b"done\n")
        connection.close()

    def run(self, connection: socket.socket, request: dict, descriptors: list[int]) -> None:
        out, err = descriptors
        process = subprocess.Popen(request["argv"], env=request["env"], cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        self.running[request["name"]] = process
        for descriptor in descriptors:
            os.close(descriptor)

        def pass_on_signals() -> None:
            try:
                for line in connection.makefile():
                    process.send_signal(int(line))
            except OSError:
                pass  # the client is gone, and the container goes on

        threading.Thread(target=pass_on_signals, daemon=True).start()
        code = exit_code(process.wait())
        del self.running[request["name"]]
        try:
            connection.sendall(f"{code}\n".encode())
        except OSError:
            pass


def exec_file(arguments: list[str]) -> int:
    options, (image, program, *rest) = parsed(arguments)
    assert "--cleanenv" in options
    prefix = "APPTAINERENV_"
    variables = {name[len(prefix):]: value for name, value in os.environ.items() if name.startswith(prefix)}
    path = shutil.which(program, path=pathlib.Path(image).read_text().strip())
    if path is None:
        return fail(255, f"FATAL:   \"{program}\": executable file not found in $PATH")
    os.execve(path, [path, *rest], {"PATH": "/usr/bin:/bin", **variables})


def main() -> int:
    engine, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
    if arguments == ["daemon"]:
        daemon = Daemon()
        signal.signal(signal.SIGTERM, lambda *_: daemon.end())
        daemon.serve()
    note(engine, arguments)
    if arguments == ["--version"]:
        print(f"{engine} version 9.9 (stand-in)")
        return 0
    if engine == "apptainer" and arguments[0] == "inspect":
        return 0 if pathlib.Path(arguments[1]).exists() else fail(255, f"FATAL:   could not open image {arguments[1]}")
    if engine == "apptainer" and arguments[0] == "exec":
        return exec_file(arguments[1:])
    if arguments[:2] == ["image", "inspect"]:
        return inspect(engine, arguments[2])
    if arguments[0] == "run":
        return run(engine, arguments[1:])
    if arguments[0] in ("kill", "rm"):
        return end_by_name(engine, arguments)
    return fail(2, f"unknown command {arguments}")


if __name__ == "__main__":
    sys.exit(main())
