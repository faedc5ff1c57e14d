"""Takes steps with the published SDK as its users do, and prints the outcome of each as a line of JSON.

Usage: client.py HOST:PORT
"""

import datetime as dt
import json
import logging
import pathlib
import sys
import tempfile
import time
import traceback
import typing

from flytekit.configuration import Config, Image, ImageConfig, PlatformConfig, SerializationSettings
from flytekit.exceptions.user import FlyteEntityNotExistException, FlyteUserException
from flytekit.models import filters
from flytekit.models.common import NamedEntityIdentifier
from flytekit.models.admin import common as admin_common
from flytekit.models.core.execution import NodeExecutionPhase, TaskExecutionPhase, WorkflowExecutionPhase
from flytekit.models.core.identifier import WorkflowExecutionIdentifier
from flytekit.models.execution import ExecutionMetadata
from flytekit.models.launch_plan import LaunchPlanState
from flytekit.models.project import Project
from flytekit.remote import FlyteRemote

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import workflows  # noqa: E402

PROJECT, DOMAIN, VERSION = "flytesnacks", "development", "v1"
IMAGES = ImageConfig(default_image=Image(name="default", fqn="example.org/parcels", tag="1.0"))
POLL = dt.timedelta(milliseconds=250)
TIMEOUT = dt.timedelta(seconds=60)
# A schedule of every minute has fired within this time, also on a busy machine.
TICK = dt.timedelta(seconds=90)

Step = typing.Callable[[], None]
steps: typing.List[typing.Tuple[str, Step]] = []


def step(does: str) -> typing.Callable[[Step], Step]:
    def add(run: Step) -> Step:
        steps.append((does, run))
        return run

    return add


def settings(**more) -> SerializationSettings:
    return SerializationSettings(image_config=IMAGES, project=PROJECT, domain=DOMAIN, version=VERSION, **more)


def connect(endpoint: str, project: str = PROJECT) -> FlyteRemote:
    """A client with the defaults of the SDK, without TLS."""
    platform = PlatformConfig(endpoint=endpoint, insecure=True)
    return FlyteRemote(Config(platform=platform), default_project=project, default_domain=DOMAIN)


remote = connect(sys.argv[1])


def finish(execution, phase: int = WorkflowExecutionPhase.SUCCEEDED):
    ended = remote.wait(execution, timeout=TIMEOUT, poll_interval=POLL)
    assert ended.closure.phase == phase, f"{ended.id}: {WorkflowExecutionPhase.enum_to_string(ended.closure.phase)}"
    return ended


def until(is_so: typing.Callable[[], bool], timeout: dt.timedelta = TIMEOUT) -> None:
    deadline = time.monotonic() + timeout.total_seconds()
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {timeout}"
        time.sleep(POLL.total_seconds())


def run(entity, name: str, version: typing.Optional[str] = VERSION, inputs: typing.Optional[dict] = None, **more):
    return remote.execute(entity, inputs=inputs or {}, execution_name=name, version=version, **more)


def identifier(name: str) -> WorkflowExecutionIdentifier:
    return WorkflowExecutionIdentifier(project=PROJECT, domain=DOMAIN, name=name)


def is_asleep(name: str) -> bool:
    """True when the first task of the workflow `age` is done and its gate waits."""
    nodes = {node.id.node_id: node.closure.phase for node in remote.client.list_node_executions(identifier(name))[0]}
    is_weighed = nodes.get("n0") in (NodeExecutionPhase.SUCCEEDED, NodeExecutionPhase.RECOVERED)
    return is_weighed and nodes.get("n1") == NodeExecutionPhase.RUNNING


@step("registers a project, finds it in the list, and changes its name")
def projects() -> None:
    remote.client.register_project(Project("parcels", "Parcels", "what is sent"))
    remote.client.update_project(Project("parcels", "Parcels and letters", "what is sent"))
    assert {"flytesnacks", "parcels"} <= {project.id for project in remote.list_projects()}
    [changed] = [project for project in remote.list_projects() if project.id == "parcels"]
    assert changed.name == "Parcels and letters"
    assert [domain.id for domain in remote.get_domains()] == ["development", "staging", "production"]


@step("reads the version of the control plane")
def version() -> None:
    assert remote.client.get_control_plane_version() != ""


@step("registers a task")
def register_task() -> None:
    task = remote.register_task(workflows.count_words, settings())
    assert task.id.name == "workflows.count_words" and task.id.version == VERSION


@step("registers workflows with their tasks, sub-workflows and default launch plans")
def register_workflows() -> None:
    ship = remote.register_workflow(workflows.ship, settings())
    assert {node.id for node in ship.flyte_nodes} == {"n0", "n1"}
    assert [flow.id.name for flow in ship.flyte_sub_workflows] == ["workflows.measure"]
    for flow in (workflows.age, workflows.inspect, workflows.read):
        remote.register_workflow(flow, settings())


@step("registers the same workflow again without an error")
def register_again() -> None:
    assert remote.register_workflow(workflows.ship, settings()).id.version == VERSION


@step("registers a launch plan with a schedule, and activates it")
def schedule() -> None:
    remote.register_workflow(workflows.remind, settings())
    remote.register_launch_plan(workflows.minutely, version=VERSION, serialization_settings=settings())
    plan = remote.fetch_launch_plan(name="remind.minutely", version=VERSION)
    assert plan.entity_metadata.schedule.cron_schedule.schedule == "* * * * *"
    remote.activate_launchplan(plan.id)


@step("registers a launch plan, activates it, finds it active, and deactivates it")
def launch_plans() -> None:
    remote.register_launch_plan(workflows.heavy, version=VERSION, serialization_settings=settings())
    plan = remote.fetch_launch_plan(name="ship.heavy", version=VERSION)
    assert list(plan.fixed_inputs.literals) == ["grams"], plan.fixed_inputs.literals
    assert list(plan.default_inputs.parameters) == ["parcel"], plan.default_inputs.parameters
    remote.activate_launchplan(plan.id)
    assert remote.fetch_active_launchplan(name="ship.heavy").id.version == VERSION
    listed, _ = remote.client.list_active_launch_plans_paginated(PROJECT, DOMAIN)
    assert "ship.heavy" in [each.id.name for each in listed]
    remote.deactivate_launchplan(plan.id)
    assert remote.fetch_active_launchplan(name="ship.heavy") is None


@step("fetches tasks, workflows and launch plans by name alone and by version")
def fetch() -> None:
    for fetched in (
        connect(sys.argv[1]).fetch_task(name="workflows.weigh"),
        remote.fetch_task(name="workflows.weigh", version=VERSION),
        connect(sys.argv[1]).fetch_workflow(name="workflows.ship"),
        remote.fetch_workflow(name="workflows.ship", version=VERSION),
        connect(sys.argv[1]).fetch_launch_plan(name="workflows.ship"),
    ):
        assert fetched.id.version == VERSION
    assert sorted(remote.fetch_workflow(name="workflows.ship").interface.outputs) == ["o0", "o1"]


@step("gets an exception for a task, a workflow and an execution that do not exist")
def not_there() -> None:
    for fetch_absent in (
        lambda: remote.fetch_task(name="workflows.fold", version=VERSION),
        lambda: remote.fetch_workflow(name="workflows.fold", version=VERSION),
        lambda: remote.fetch_execution(name="nobody-launched-this"),
    ):
        try:
            fetch_absent()
        except FlyteEntityNotExistException:
            continue
        raise AssertionError("an entity that does not exist was found")


@step("lists tasks by version and by page, workflows by version, and launch plans")
def lists() -> None:
    names = {task.id.name for task in remote.list_tasks_by_version(VERSION)}
    assert {"workflows.weigh", "workflows.label", "workflows.count_words"} <= names
    ids, token = remote.client.list_task_ids_paginated(PROJECT, DOMAIN, limit=2)
    more, _ = remote.client.list_task_ids_paginated(PROJECT, DOMAIN, limit=100, token=token)
    assert len(ids) == 2 and not {each.name for each in ids} & {each.name for each in more}
    flows, _ = remote.client.list_workflows_paginated(
        NamedEntityIdentifier(PROJECT, DOMAIN, "workflows.ship"),
        filters=[filters.Equal("workflow.version", VERSION)],
        sort_by=admin_common.Sort("created_at", admin_common.Sort.Direction.DESCENDING),
    )
    assert [flow.id.name for flow in flows] == ["workflows.ship"]
    plans, _ = remote.client.list_launch_plans_paginated(NamedEntityIdentifier(PROJECT, DOMAIN))
    assert "ship.heavy" in {plan.id.name for plan in plans}


@step("runs a workflow, waits for its end, and reads its inputs and outputs")
def run_workflow() -> None:
    flow = remote.fetch_workflow(name="workflows.ship", version=VERSION)
    ended = finish(run(flow, "ships-books", inputs={"parcel": "atlas"}))
    assert ended.inputs.get("parcel", as_type=str) == "atlas" and ended.inputs.get("grams", as_type=int) == 700
    assert isinstance(ended.outputs.get("o1", as_type=float), float)
    assert isinstance(ended.outputs.get("o0", as_type=typing.List[str]), list)
    assert {"n0", "n1"} <= set(ended.node_executions)


@step("reads the nodes, the tasks and their data of a run")
def run_parts() -> None:
    ended = remote.sync(remote.fetch_execution(name="ships-books"), sync_nodes=True)
    label = ended.node_executions["n1"]
    assert label.closure.phase == NodeExecutionPhase.SUCCEEDED
    assert [each.closure.phase for each in label.task_executions] == [TaskExecutionPhase.SUCCEEDED]
    assert isinstance(label.outputs.get("o0", as_type=typing.List[str]), list)
    inner = ended.node_executions["n0"]
    assert inner.closure.phase == NodeExecutionPhase.SUCCEEDED and len(inner.subworkflow_node_executions) > 0
    children, _ = remote.client.list_node_executions(identifier("ships-books"), unique_parent_id="n0")
    assert "n0" in {each.metadata.spec_node_id for each in children}


@step("runs a local workflow with options that become labels and annotations")
def run_with_options() -> None:
    from flytekit.core.options import Options
    from flytekit.models.common import Annotations, Labels

    options = Options(labels=Labels({"team": "post"}), annotations=Annotations({"note": "fragile"}), max_parallelism=7)
    execution = run(workflows.read, "reads-with-options", options=options, tags=["nightly"], envs={"LEVEL": "debug"})
    finish(execution)
    spec = remote.fetch_execution(name="reads-with-options").spec
    assert spec.labels.values == {"team": "post"} and spec.annotations.values == {"note": "fragile"}
    assert spec.max_parallelism == 7 and spec.tags == ["nightly"] and spec.envs.envs == {"LEVEL": "debug"}


@step("runs a launch plan with a fixed input")
def run_launch_plan() -> None:
    plan = remote.fetch_launch_plan(name="ship.heavy", version=VERSION)
    ended = finish(run(plan, "ships-piano", version=None))
    assert ended.inputs.get("grams", as_type=int) == 30_000
    try:
        run(plan, "ships-feather", version=None, inputs={"grams": 1})
    except (FlyteUserException, ValueError, AssertionError):
        return
    raise AssertionError("a fixed input was overridden")


@step("runs a task by itself")
def run_task() -> None:
    task = remote.fetch_task(name="workflows.weigh", version=VERSION)
    ended = finish(run(task, "weighs-lamp", version=None, inputs={"parcel": "lamp", "grams": 900}))
    assert isinstance(ended.outputs.get("o0", as_type=float), float)


@step("runs a workflow without a name for the execution, and gets a generated one")
def run_nameless() -> None:
    execution = remote.execute(remote.fetch_workflow(name="workflows.read", version=VERSION), inputs={"text": "a b"})
    assert len(execution.id.name) == 20
    finish(execution)


@step("runs a workflow under the name of an execution that exists, and gets that execution")
def run_again() -> None:
    flow = remote.fetch_workflow(name="workflows.ship", version=VERSION)
    assert run(flow, "ships-books").closure.phase == WorkflowExecutionPhase.SUCCEEDED


@step("terminates a run, and reads the cause")
def terminate() -> None:
    execution = run(remote.fetch_workflow(name="workflows.age", version=VERSION), "ages-cheese")
    until(lambda: is_asleep("ages-cheese"))
    remote.terminate(execution, "the cheese is ripe")
    ended = finish(execution, WorkflowExecutionPhase.ABORTED)
    assert ended.closure.abort_metadata.cause == "the cheese is ripe"


@step("recovers a run that was terminated")
def recover() -> None:
    recovered = remote.client.recover_execution(identifier("ages-cheese"), name="ages-cheese-on")
    assert recovered.name == "ages-cheese-on"
    until(lambda: is_asleep("ages-cheese-on"))
    execution = remote.fetch_execution(name="ages-cheese-on")
    assert execution.spec.metadata.reference_execution.name == "ages-cheese"
    remote.terminate(execution, "enough")
    finish(execution, WorkflowExecutionPhase.ABORTED)


@step("relaunches a run with the same inputs")
def relaunch() -> None:
    relaunched = remote.client.relaunch_execution(identifier("ships-books"), name="ships-books-twice")
    ended = finish(remote.fetch_execution(name=relaunched.name))
    assert ended.inputs.get("parcel", as_type=str) == "atlas"


@step("lists runs: the newest first, by phase, and by page")
def list_runs() -> None:
    listed = remote.recent_executions(limit=100)
    recent = [each.id.name for each in listed]
    assert recent.index("ships-books-twice") < recent.index("ships-books")
    aborted, _ = remote.client.list_executions_paginated(
        PROJECT, DOMAIN, limit=100, filters=[filters.Equal("phase", "ABORTED")]
    )
    assert {each.id.name for each in aborted} == {"ages-cheese", "ages-cheese-on"}
    seen: typing.List[str] = []
    token = ""
    while True:
        page, token = remote.client.list_executions_paginated(
            PROJECT,
            DOMAIN,
            limit=3,
            token=token,
            filters=[filters.ValueIn("phase", ["SUCCEEDED", "ABORTED"])],
            sort_by=admin_common.Sort("created_at", admin_common.Sort.Direction.ASCENDING),
        )
        seen += [each.id.name for each in page]
        if not token:
            break
    phases = {each.id.name: WorkflowExecutionPhase.enum_to_string(each.closure.phase) for each in listed}
    assert sorted(seen) == sorted(recent), f"pages {seen} of {phases}"


@step("finds the signals that a run waits for, sets one, approves another, and the run succeeds")
def signals() -> None:
    flow = remote.fetch_workflow(name="workflows.inspect", version=VERSION)
    execution = run(flow, "inspects-lamp")
    until(lambda: len(remote.list_signals("inspects-lamp")) == 2)
    assert {signal.id.signal_id for signal in remote.list_signals("inspects-lamp")} == {"stamps", "customs"}
    remote.set_input("stamps", "inspects-lamp", 12)
    remote.approve("customs", "inspects-lamp")
    assert finish(execution).outputs.get("o1", as_type=int) == 12


@step("rejects the approval that a run waits for, and the run fails")
def reject() -> None:
    execution = run(remote.fetch_workflow(name="workflows.inspect", version=VERSION), "inspects-vase")
    until(lambda: len(remote.list_signals("inspects-vase")) == 2)
    remote.set_signal("stamps", "inspects-vase", 1)
    remote.reject("customs", "inspects-vase")
    finish(execution, WorkflowExecutionPhase.FAILED)


@step("reads the spans of a run")
def metrics() -> None:
    span = remote.get_execution_metrics(identifier("ships-books"))
    assert len(span._span.spans) > 0


@step("uploads a file")
def upload() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "parcel.txt"
        path.write_text("a book and a lamp\n")
        digest, uri = remote.upload_file(path)
        assert uri != "" and len(digest) == 16


@step("registers a workflow by uploading its code, in two ways")
def fast_register() -> None:
    flow = remote.fast_register_workflow(workflows.read, settings(), version="fast-1")
    assert flow.id.version == "fast-1"
    source = str(pathlib.Path(__file__).parent)
    scripted = remote.register_script(
        workflows.read, image_config=IMAGES, source_path=source, module_name="workflows", project=PROJECT, domain=DOMAIN
    )
    assert scripted.id.version != ""


@step("reads data of a run by its flyte URL, and downloads its outputs")
def data() -> None:
    outputs = remote.get(f"flyte://v1/{PROJECT}/{DOMAIN}/ships-books/n1/0/o")
    assert "o0" in outputs.literals
    with tempfile.TemporaryDirectory() as folder:
        remote.download(remote.sync(remote.fetch_execution(name="ships-books")).outputs, folder)


@step("changes matchable attributes of a project and domain, and reads them again")
def attributes() -> None:
    from flytekit.models.matchable_resource import ClusterResourceAttributes, MatchingAttributes

    wanted = MatchingAttributes(cluster_resource_attributes=ClusterResourceAttributes({"quota": "4"}))
    remote.client.update_project_domain_attributes(PROJECT, "staging", wanted)
    read = remote.client.get_project_domain_attributes(PROJECT, "staging", 1)
    assert read.attributes.matching_attributes.cluster_resource_attributes.attributes == {"quota": "4"}


@step("archives the name of a workflow")
def named_entities() -> None:
    from flyteidl.core import identifier_pb2
    from flytekit.models.named_entity import NamedEntityMetadata, NamedEntityState

    entity = NamedEntityIdentifier(PROJECT, DOMAIN, "workflows.age")
    metadata = NamedEntityMetadata("a workflow that waits", NamedEntityState.ARCHIVED)
    remote.client.update_named_entity(identifier_pb2.WORKFLOW, entity, metadata)


def reminders():
    only = [filters.Equal("launch_plan.name", "remind.minutely")]
    return remote.client.list_executions_paginated(PROJECT, DOMAIN, filters=only)[0]


def tick_name(name: str, tick: int) -> str:
    """The name that FlyteAdmin's scheduler gives: from a hash (FNV-1, 64 bits) of the launch plan and the tick's second."""
    hashed = 0xCBF29CE484222325
    for byte in f"{PROJECT}:{DOMAIN}:{name}:{VERSION}:{tick}".encode():
        hashed = (hashed * 0x100000001B3 % 2**64) ^ byte
    return "f" + hashed.to_bytes(8, "little").hex() + "000"


@step("finds the execution that the schedule has launched, with its name, inputs and metadata")
def scheduled() -> None:
    until(lambda: len(reminders()) > 0, TICK)
    plan = remote.fetch_launch_plan(name="remind.minutely", version=VERSION)
    remote.deactivate_launchplan(plan.id)
    first = min(reminders(), key=lambda each: each.closure.created_at)
    metadata = first.spec.metadata
    assert metadata.mode == ExecutionMetadata.ExecutionMode.SCHEDULED, metadata
    run = finish(remote.fetch_execution(name=first.id.name))
    kickoff = run.inputs.get("kickoff", dt.datetime)
    assert kickoff.second == 0 and abs(run.closure.created_at - kickoff) < TICK, kickoff
    assert first.id.name == tick_name("remind.minutely", int(kickoff.timestamp())), first.id
    assert run.inputs.get("grams", int) == 25 and run.inputs.get("parcel", str) == "letter"
    assert first.spec.launch_plan.name == "remind.minutely" and first.spec.launch_plan.version == VERSION


def main() -> None:
    logging.getLogger("flytekit").setLevel(logging.CRITICAL)
    for does, go in steps:
        started = time.monotonic()
        said = {"step": does, "ok": True}
        try:
            go()
        except Exception as error:
            said = {"step": does, "ok": False, "error": f"{type(error).__name__}: {error}"}
            said["trace"] = traceback.format_exc()
        print(json.dumps({**said, "seconds": round(time.monotonic() - started, 2)}), flush=True)


main()
