import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CreateWorkflowFailureReasonSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, type InvalidEntry, invalidEntries, withNeeds } from '../support/requests/fixtures.js';
import { timedAt } from '../support/costs/processor-time.js';
import { type Answer, overGrpc, overRest, type Transport } from '../support/clients/transports.js';

const requests = invalidEntries();

/** Requests that this test cannot convert to JSON; `bad-input-bytes.test.ts` has some of them in handwritten JSON. */
const WITHOUT_JSON = [
  '078-plan-launch-condition', // an Any with the type name of the other package
  '095-execution-bad-timestamp',
  '106-execution-truncated',
  '107-execution-deep-literal',
];
const hasJson = ({ name }: InvalidEntry): boolean => !WITHOUT_JSON.includes(name);

const WAYS = {
  'gRPC under platformidl': { open: (plane: ControlPlane) => overGrpc(plane.server().ready, 'platformidl'), requests },
  'gRPC under flyteidl': { open: (plane: ControlPlane) => overGrpc(plane.server().ready, 'flyteidl'), requests },
  'REST in JSON': { open: (plane: ControlPlane) => overRest(plane.server().ready), requests: requests.filter(hasJson) },
  'REST in bytes': { open: (plane: ControlPlane) => overRest(plane.server().ready, 'octets'), requests },
} as const;

/** Keeps letters and digits, in lower case: `resource_type` and `Resource Type` name the same field. */
const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/gu, '');

/** True when the text contains all words of `wanted`, next to each other or not. */
const names = (text: string, wanted: string): boolean =>
  text.includes(wanted) ||
  plain(text).includes(plain(wanted)) ||
  wanted.split(' ').every((word) => plain(text).includes(plain(word)));

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  const folders = withNeeds(...requests.map(({ needs }) => needs));
  await register(plane.grpc, folders);
  const [first] = fixtureFolder('01-hello').entries.filter(({ kind }) => kind === 'execution');
  expect((await plane.grpc.send(first!.method, first!.bytes)).code).toBe('OK');
});
afterAll(() => plane.close());

describe.each(Object.entries(WAYS))('a request with one fault, over %s', (_way, { open, requests: sent }) => {
  let transport: Transport;
  beforeAll(() => {
    transport = open(plane);
  });
  afterAll(() => transport.close());

  /** Sends the request, and expects that the log is unchanged, whatever the answer. */
  const refusal = ({ method, bytes }: InvalidEntry): Promise<Answer> =>
    plane.unchanged(() => transport.send(method, bytes));

  it.each(sent.map((entry): [string, InvalidEntry] => [`${entry.name}: ${entry.wrong}`, entry]))(
    'is refused and changes nothing: %s',
    async (_title, entry) => {
      const [answer, tookMs] = await timedAt(plane.server().child.pid!, () => refusal(entry));
      // A literal 2,000 deep must cost the server no more than a second of processor time.
      if (entry.name === '107-execution-deep-literal') expect(tookMs).toBeLessThan(1_000);
      expect([answer.code, answer.message]).toEqual([entry.expect, expect.stringMatching(/\S/u)]);
      if (entry.textNames === 'exists_different_structure') return; // in the detail, which a test below checks
      if (entry.textNames !== undefined)
        expect({ text: answer.message, names: names(answer.message, entry.textNames) ? entry.textNames : '' }).toEqual({
          text: answer.message,
          names: entry.textNames,
        });
    },
  );

  it('says whether the content of a version that exists is identical or different', async () => {
    const [same, different] = ['023-task-exists-same', '024-task-exists-different'].map((name) =>
      requests.find((entry) => entry.name === name)!,
    );
    expect((await refusal(same!)).message).toMatch(/identical/u);
    expect((await refusal(different!)).message).toMatch(/different/u);
  });

  it('says in a detail of the caller’s package that a workflow exists with another structure', async () => {
    const different = requests.find(({ name }) => name === '053-workflow-exists-different')!;
    const { details } = await refusal(different);
    expect(details.map(({ typeUrl }) => typeUrl)).toEqual([
      `type.googleapis.com/${transport.callersPackage}.admin.CreateWorkflowFailureReason`,
    ]);
    const { reason } = fromBinary(CreateWorkflowFailureReasonSchema, details[0]!.value);
    expect(reason).toMatchObject({
      case: 'existsDifferentStructure',
      value: { id: { project: 'flytesnacks', domain: 'development', name: 'nested.middle', version: 'v1' } },
    });
  });
});
