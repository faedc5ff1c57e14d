import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { CHECKOUT, start } from '../../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { codeIn } from '../../support/documents/documented-code.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { workflowReport } from '../../support/requests/reports.js';
import { python } from './interpreter.js';

const PROTO = join(CHECKOUT, 'proto');
const LIMIT_MS = 300_000;

/**
 * Reports two events of a node, QUEUED and RUNNING, one that repeats RUNNING, and SUCCEEDED with outputs above the
 * limit, with the documented client, which is beside it as `client`. Prints the sequence number of each event, the code
 * of its status, and whether the answer has a position. The times are seconds after the start of 2026.
 */
const REPORTER = `
import sys

from client import report
from platformidl.eventlog.engine_report_pb2 import ReportRequest

events = []
for sequence, phase in enumerate((1, 2, 2, 3), start=1):
    request = ReportRequest(sequence=sequence)
    event = request.node_event.event
    event.id.node_id = "n0"
    event.id.execution_id.project = "flytesnacks"
    event.id.execution_id.domain = "development"
    event.id.execution_id.name = "from-python"
    event.phase = phase
    event.occurred_at.FromSeconds(1_767_225_600 + phase)
    events.append(request)
event.output_data.literals["o0"].scalar.primitive.string_value = "x" * 2 * 1024 * 1024
for sequence, answer in sorted(report(sys.argv[1], events).items()):
    print(sequence, answer.status.code, answer.position != "")
`;

/**
 * Takes one execution with the documented worker, reports RUNNING and SUCCEEDED, and stops when the worker has aborted
 * the run. Prints the execution, its workflow and the codes of the answers, and whether the run was aborted.
 */
const WORKER = `
import sys
import threading

from client import report
from platformidl.eventlog.engine_report_pb2 import ReportRequest
from worker import work

stop = threading.Event()


def run(launch, abort):
    events = []
    for sequence, phase in enumerate((2, 4), start=1):
        request = ReportRequest(sequence=sequence)
        event = request.workflow_event.event
        event.execution_id.CopyFrom(launch.lease.execution)
        event.producer_id = "python"
        event.phase = phase
        event.occurred_at.FromSeconds(1_767_225_600 + phase)
        events.append(request)
    answers = report(sys.argv[1], events)
    print(launch.lease.execution.name, launch.closure.primary.template.id.name, [a.status.code for a in answers.values()])
    print(abort.wait(60))
    stop.set()


work(sys.argv[1], "python", 1, run, stop)
`;

/** Waits for the end of an execution, and prints its phase. */
const WAITER = `
import sys
from types import SimpleNamespace

from waiter import wait

print(wait(sys.argv[1], SimpleNamespace(project="flytesnacks", domain="development", name="waited")))
`;

/** Runs Python in a folder, and returns its output. */
const run = async (args: readonly string[], cwd: string): Promise<string> => {
  const { code, stdout, stderr } = await start(python!, args, { cwd, env: { PYTHONPATH: join(cwd, 'gen') } }).ended;
  expect(code, stderr).toBe(0);
  return stdout;
};

describe.skipIf(python === undefined)('the Python clients in the documentation', () => {
  let plane: ControlPlane;
  let folder: string;
  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    folder = join(plane.directory, 'python-client');
    mkdirSync(join(folder, 'gen'), { recursive: true });
    const files = readdirSync(PROTO, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /^platformidl.*\.proto$/u.test(file),
    );
    await run(['-m', 'grpc_tools.protoc', '-I', PROTO, '--python_out=gen', '--grpc_python_out=gen', ...files], folder);
    writeFileSync(join(folder, 'client.py'), codeIn('docs/engines.md', 'python'));
    writeFileSync(join(folder, 'worker.py'), codeIn('docs/engines.md', 'python', '### A worker in Python'));
    writeFileSync(join(folder, 'waiter.py'), codeIn('docs/consumers.md', 'python', '### Wait in Python'));
    writeFileSync(join(folder, 'report.py'), REPORTER);
    writeFileSync(join(folder, 'wait.py'), WAITER);
    writeFileSync(join(folder, 'work.py'), WORKER);
  }, LIMIT_MS);
  afterAll(() => plane.close());

  it('get an execution to run, and report its end', { timeout: LIMIT_MS }, async () => {
    await launchHello(plane.grpc, 'worked-in-python');
    expect(await run(['work.py', plane.server().ready.grpc], folder)).toBe(
      'worked-in-python hello.hello [0, 0]\nTrue\n',
    );
  });

  it(
    'report events, and get the status of each, and a position for each that the log has',
    { timeout: LIMIT_MS },
    async () => {
      await launchHello(plane.grpc, 'from-python');
      // 6 is ALREADY_EXISTS, 8 RESOURCE_EXHAUSTED.
      expect(await run(['report.py', plane.server().ready.grpc], folder)).toBe(
        '1 0 True\n2 0 True\n3 6 True\n4 8 False\n',
      );
    },
  );

  it('wait for the end of an execution', { timeout: LIMIT_MS }, async () => {
    const id = await launchHello(plane.grpc, 'waited');
    const waited = run(['wait.py', plane.server().ready.http], folder);
    for (const phase of [Phase.RUNNING, Phase.SUCCEEDED])
      await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase }));
    expect(await waited).toBe('SUCCEEDED\n');
  });
});
