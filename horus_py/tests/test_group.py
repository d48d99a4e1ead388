"""Namespaces of a group: its members meet on one topic, and all others stay out."""

import grp
import os
import pathlib
import stat

import horus
import pytest
from conftest import Program

# The group, and users in it and outside, none of which the system's lists know.
GROUP = 23_456
MEMBER = 12_345
OTHER_MEMBER = 12_346
OUTSIDER = 12_347
ROOT = 0

# Takes the rights of a user. WHY after the imports: other users may not read the modules.
BECOME = """
import ctypes, itertools, os, sys, time
import horus
if {user} != 0:
    os.setgroups({groups})
    os.setgid({user})
    os.setuid({user})
    # WHY: the kernel gives the files in /proc/self to root when a process changes its user.
    pr_set_dumpable = 4
    assert ctypes.CDLL(None).prctl(pr_set_dumpable, 1, 0, 0, 0) == 0
"""

WRITER = """
publisher = horus.Publisher("arm/joint", horus.CmdVel)
print("ready", publisher.wait_for_subscribers(1, timeout=60), flush=True)
for number in itertools.count(1):
    publisher.send(horus.CmdVel(timestamp_ns=number))
    time.sleep(0.0001)
"""

READER = """
subscriber = horus.Subscriber("arm/joint", horus.CmdVel)
print("ready", subscriber.wait_for_publishers(1, timeout=60), flush=True)
last = 0
for _ in range(200):
    message = subscriber.recv(timeout=60)
    assert message.timestamp_ns > last, (message, last)
    last = message.timestamp_ns
print("received", flush=True)
sys.stdin.read()
"""

# Opens the namespace of the environment and a topic, and runs until its input ends.
LIFE = """
os.umask({umask})
try:
    topic = horus.Topic("arm/joint", horus.CmdVel)
    print("here", flush=True)
except horus.Error as error:
    print(type(error).__name__, str(error).replace("\\n", " "), flush=True)
sys.stdin.read()
"""

# Does something in the namespace of the environment, and prints the result.
ANSWER = """
try:
    print({call}, flush=True)
except horus.Error as error:
    print(type(error).__name__, str(error).replace("\\n", " "), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def own(directory):
    """Returns a path for a namespace, and the number of a group of this process."""
    return f"{directory}/shared", str(os.getegid())


@pytest.fixture
def start(directory):
    """Returns a function that starts a script as a user, in the group's namespace.

    Every user except the outsider is in the group.
    """
    if os.geteuid() != 0:
        pytest.skip("this test starts processes of other users: run it as root")
    try:
        os.chown(directory, MEMBER, MEMBER)
        os.chown(directory, ROOT, ROOT)
    except OSError as error:
        pytest.skip(f"no file can be given to another user: {error}; run it as root of the machine")
    # As /dev/shm: any user may make files.
    os.chmod(directory, 0o1777)

    def start(user, script):
        groups = [] if user == OUTSIDER else [GROUP]
        variables = {"HORUS_SHM_DIR": base_of(directory), "HORUS_SHM_GROUP": str(GROUP)}
        become = BECOME.format(user=user, groups=groups)
        return Program(become + script, env={**os.environ, **variables})

    return start


def base_of(directory):
    """Returns the path of the group's directory."""
    return f"{directory}/base"


def answer(start, user, call):
    """Returns the result of a call in a process of a user."""
    program = start(user, ANSWER.format(call=call))
    said = program.line()
    program.end()
    return said


def remedy(group):
    """Returns the setting that an error suggests: it has the name of the group, if there is one."""
    names = {str(entry.gr_gid): entry.gr_name for entry in grp.getgrall()}
    return f"HORUS_SHM_GROUP={names.get(group, group)} "


def rights(path):
    """Returns user, group and mode of a file."""
    found = os.lstat(path)
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def entries(base):
    """Returns the directories and the files of a namespace."""
    space = pathlib.Path(base, "test")
    return [pathlib.Path(base), space, space / "topics"], [
        space / "registry",
        *(space / "topics").iterdir(),
    ]


def test_a_group_shares_directories_and_files(own):
    base, group = own
    namespace = horus.Namespace(base, "test", group=group)
    topic = horus.Topic("arm/joint", horus.CmdVel, namespace=namespace)
    directories, files = entries(base)
    wanted = os.geteuid(), os.getegid()
    assert [rights(path) for path in directories] == [(*wanted, 0o2770)] * 3
    assert [rights(path) for path in files] == [(*wanted, 0o660)] * 3
    # The same namespace again is the same set of topics.
    again = horus.Namespace(base, "test", group=group)
    assert horus.topics(again) == ["arm/joint"]
    topic.send(horus.CmdVel(linear=1))
    assert topic.recv().linear == 1
    topic.close()
    namespace.remove()
    assert not pathlib.Path(base, "test").exists()


def test_without_a_group_a_namespace_is_private(directory):
    base = f"{directory}/private"
    namespace = horus.Namespace(base, "test", group=None)
    _topic = horus.Topic("arm/joint", horus.CmdVel, namespace=namespace)
    directories, files = entries(base)
    assert {rights(path)[2] for path in directories} == {0o700}
    assert {rights(path)[2] for path in files} == {0o600}


def test_the_environment_names_the_group(own, monkeypatch, python):
    base, group = own
    monkeypatch.setenv("HORUS_SHM_DIR", base)
    monkeypatch.setenv("HORUS_SHM_GROUP", group)
    namespace = horus.Namespace(base, "test", group=group)
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel, namespace=namespace)
    python("import horus; horus.Publisher('cmd_vel', horus.CmdVel).send(horus.CmdVel(linear=4))")
    assert subscriber.recv(timeout=60).linear == 4
    assert horus.Namespace.current().dir == namespace.dir
    # With a directory of its own, a call does not read the variable.
    with pytest.raises(horus.NamespaceError, match=remedy(group)):
        horus.Namespace(base, "test")


def test_a_private_namespace_is_not_opened_with_a_group_nor_the_reverse(own, namespace):
    base, group = own
    _shared = horus.Namespace(base, "test", group=group)
    with pytest.raises(horus.NamespaceError, match=f"{base}.*2770.*0700.*{remedy(group)}"):
        horus.Namespace(base, "test")
    with pytest.raises(horus.NamespaceError, match="0700.*2770.*unset HORUS_SHM_GROUP"):
        horus.Namespace(namespace.dir, "test", group=group)


@pytest.mark.parametrize("group", ["no such group", "", "-1", "4294967295", "99999999999999"])
def test_a_group_that_does_not_exist_is_an_error(own, group):
    base, _ = own
    with pytest.raises(horus.NamespaceError, match=f"'{group}'.*HORUS_SHM_GROUP"):
        horus.Namespace(base, "test", group=group)
    assert not pathlib.Path(base).exists()


def test_a_group_is_a_text(own):
    base, _ = own
    with pytest.raises(TypeError, match="group"):
        horus.Namespace(base, "test", group=os.getegid())


USERS = [(ROOT, MEMBER), (MEMBER, ROOT), (MEMBER, OTHER_MEMBER)]


@pytest.mark.parametrize("writer_is_first", [True, False])
@pytest.mark.parametrize(("writer", "reader"), USERS)
def test_messages_pass_between_users_in_either_order(start, writer, reader, writer_is_first):
    order = [(writer, WRITER), (reader, READER)]
    if not writer_is_first:
        order.reverse()
    programs = {script: start(user, script) for user, script in order}
    assert programs[WRITER].line() == "ready 1"
    assert programs[READER].line() == "ready 1"
    assert programs[READER].line() == "received"
    programs[WRITER].kill()
    programs[READER].end()


@pytest.mark.parametrize("umask", ["0o000", "0o077", "0o777"])
@pytest.mark.parametrize("user", [ROOT, MEMBER])
def test_modes_do_not_depend_on_the_umask(start, directory, user, umask):
    program = start(user, LIFE.format(umask=umask))
    assert program.line() == "here"
    directories, files = entries(base_of(directory))
    assert [rights(path) for path in directories] == [(user, GROUP, 0o2770)] * 3
    assert [rights(path) for path in files] == [(user, GROUP, 0o660)] * 3
    # Another member makes files in the same directories.
    other = start(OTHER_MEMBER, LIFE.format(umask="0o077"))
    assert other.line() == "here"
    program.end()
    other.end()


def test_a_process_outside_the_group_is_told_how_to_join(start, directory):
    for _ in range(2):
        # Before there is a directory, and after.
        said = answer(start, OUTSIDER, "horus.Namespace.current()")
        assert said.startswith("NamespaceError ")
        for part in (base_of(directory), f"user {OUTSIDER}", f"usermod -aG {GROUP} $USER"):
            assert part in said
        start(MEMBER, LIFE.format(umask="0o022")).end()
    said = answer(start, OUTSIDER, "horus.Publisher('arm/joint', horus.CmdVel)")
    assert said.startswith("NamespaceError ")


@pytest.mark.parametrize(
    ("dead", "heir"), [(MEMBER, OTHER_MEMBER), (ROOT, MEMBER), (MEMBER, ROOT)]
)
def test_every_member_removes_what_a_killed_one_left(start, directory, dead, heir):
    topics = pathlib.Path(base_of(directory), "test", "topics")

    def killed():
        program = start(dead, LIFE.format(umask="0o022"))
        assert program.line() == "here"
        program.kill()
        assert (topics / "arm+joint").exists()

    killed()
    # A process that enters sweeps.
    assert answer(start, heir, "horus.topics()") == "[]"
    killed()
    assert answer(start, heir, "horus.remove_topic('arm/joint')") == "True"
    assert list(topics.iterdir()) == []
    killed()
    assert answer(start, heir, "horus.Namespace.current().remove()") == "None"
    assert not topics.parent.exists()


def test_a_killed_publisher_of_another_user_no_longer_counts(start):
    reader, writer = start(MEMBER, READER), start(OTHER_MEMBER, WRITER)
    assert writer.line() == reader.line() == "ready 1"
    assert reader.line() == "received"
    writer.kill()
    count = "horus.Subscriber('arm/joint', horus.CmdVel).publisher_count()"
    assert answer(start, ROOT, count) == "0"
    # Another one takes over its lane.
    heir = start(ROOT, WRITER)
    assert heir.line() == "ready 1"
    lanes = "[p.is_alive for p in horus.introspect('arm/joint').publishers]"
    assert answer(start, OTHER_MEMBER, lanes) == "[True]"
    heir.kill()
    reader.end()


def test_a_member_commands_the_scheduler_of_another(start):
    run = """
def tick(context):
    if context.tick == 0:
        print("running", flush=True)

print(horus.run(horus.Node("arm", tick=tick, rate=100), name="robot").reason, flush=True)
"""
    program = start(MEMBER, run)
    assert program.line() == "running"
    seen = "[(one.name, one.is_alive) for one in horus.schedulers()]"
    assert answer(start, OTHER_MEMBER, seen) == "[('robot', True)]"
    assert answer(start, OTHER_MEMBER, "horus.RemoteScheduler('robot').stop()") == "None"
    assert program.line() == "requested"
    program.end()
