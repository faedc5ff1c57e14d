import { create, type DescMessage, type DescMethod, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { MatchableResource } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import type { Target } from '../../../services/gateway/dispatch/requirement.js';
import { routeTable } from '../../../services/gateway/routes.js';
import { type AuthenticatedServer, startAuthenticatedServer } from '../../support/authenticated-server.js';
import { withNeeds } from '../../support/fixtures.js';
import { type GrpcClient, grpcClient } from '../../support/grpc-client.js';
import { helloRequest } from '../../support/hello.js';
import { workflowReport } from '../../support/reports.js';
import { requestNaming } from '../../support/requests-naming.js';
import { type RestClient, restClient } from '../../support/rest-client.js';

/** The project of the fixtures, of which the stranger may see nothing; one that there is not; and the stranger's own. */
const HIDDEN = 'flytesnacks';
const ABSENT = 'snackflytes'; // as long, so that encoded requests and answers differ in nothing else
const OWN = 'ownedflytes';
const DOMAIN = 'development';
/** Is in every text of the hidden project that no request of the stranger has. */
const MARK = 'zebra';
const RUN = 'run-of-the-hidden-project';
const NAMES = [RUN, 'hello.hello', 'nobody'];

const { method: admin } = AdminService;

type Headers = Readonly<Record<string, string>>;
/** A request of the stranger, as it is for one project and for another. */
type Probe = { readonly method: DescMethod; readonly name: string; readonly bytesFor: (project: string) => Uint8Array };

const table = routeTable([]).filter(({ method }) => method.methodKind === 'unary');

const naming = (method: DescMethod, target: Target, place: { project: string; name: string }): Uint8Array =>
  requestNaming(method, { permission: 'read', target, reads: [] }, { ...place, domain: DOMAIN });

/** The requests of an RPC that name the project as their own, and those of one's own that refer to something in it. */
const probesOf = ({ method, requires, name: rpc }: (typeof table)[number]): readonly Probe[] =>
  NAMES.flatMap((name) => [
    { method, name: `${rpc} of ${name}`, bytesFor: (project) => naming(method, requires.target, { project, name }) },
    ...requires.reads.map((read, at) => ({
      method,
      name: `${rpc} that refers to ${name}, ${at}`,
      // Messages that are joined are merged: the target is the stranger's own, the reference is not.
      bytesFor: (project: string) =>
        Buffer.concat([
          naming(method, requires.target, { project: OWN, name: 'mine' }),
          naming(method, read, { project, name }),
        ]),
    })),
  ]);

const probe = <Input extends DescMessage>(
  method: DescMethod & { readonly input: Input },
  request: (project: string) => MessageInitShape<Input>,
): Probe => ({
  method,
  name: `${method.name}, whose requests name a project elsewhere`,
  bytesFor: (project) => toBinary(method.input, create(method.input, request(project))),
});

/** Requests that the table of requirements does not describe: the project is in a URL, a filter, or items. */
const OTHERS: readonly Probe[] = [
  ...['i', 'o', 'd'].map((part) =>
    probe(DataProxyService.method.getData, (project) => ({
      flyteUrl: `flyte://v1/${project}/${DOMAIN}/${RUN}/n0/${part}`,
    })),
  ),
  probe(DataProxyService.method.createDownloadLocation, (project) => ({ nativeUrl: `flightlog://${project}/x/y` })),
  probe(admin.listProjects, (project) => ({ filters: `eq(identifier,${project})` })),
  probe(admin.listProjects, (project) => ({ filters: `contains(name,${project.slice(0, 9)})` })),
  probe(admin.listMatchableAttributes, () => ({ resourceType: MatchableResource.TASK_RESOURCE })),
  probe(admin.listExecutions, (project) => ({
    id: { project: OWN, domain: DOMAIN },
    filters: `eq(project,${project})`,
    limit: 9,
  })),
  probe(EngineService.method.reportBatch, (project) => ({
    events: [
      {
        sequence: 1n,
        event: {
          case: 'workflowEvent' as const,
          value: workflowReport({ project, domain: DOMAIN, name: RUN }, { phase: Phase.FAILED }),
        },
      },
    ],
  })),
];

const PROBES = [...table.flatMap(probesOf), ...OTHERS];

let server: AuthenticatedServer;
let grpc: GrpcClient;
let rest: RestClient;
let root: Headers;
let stranger: Headers;

const ok = async <Input extends DescMessage>(
  method: DescMethod & { readonly input: Input },
  request: MessageInitShape<Input>,
): Promise<Uint8Array> => {
  const bytes = toBinary(method.input, create(method.input, request));
  const answer = await grpc.raw(`/${method.parent.typeName}/${method.name}`, bytes, root);
  expect([method.name, answer.code, answer.message]).toEqual([method.name, 'OK', expect.anything()]);
  return answer.bytes;
};

/** The contents of the hidden project, as an administrator reads them. */
const hidden = async (): Promise<readonly Uint8Array[]> => [
  await ok(admin.getProject, { id: HIDDEN }),
  await ok(admin.getExecution, { id: { project: HIDDEN, domain: DOMAIN, name: RUN } }),
  await ok(admin.listExecutions, { id: { project: HIDDEN, domain: DOMAIN }, limit: 100 }),
  await ok(admin.listNodeExecutions, {
    workflowExecutionId: { project: HIDDEN, domain: DOMAIN, name: RUN },
    limit: 100,
  }),
  await ok(admin.listLaunchPlans, { id: { project: HIDDEN, domain: DOMAIN }, limit: 100 }),
  await ok(admin.getProjectDomainAttributes, {
    project: HIDDEN,
    domain: DOMAIN,
    resourceType: MatchableResource.EXECUTION_QUEUE,
  }),
];

const fill = async (): Promise<void> => {
  for (const { kind, method, bytes } of withNeeds('01-hello').flatMap(({ entries }) => entries)) {
    if (kind === 'execution' || kind === 'upload_location') continue;
    expect((await grpc.raw(`/${AdminService.typeName}/${method}`, bytes, root)).code).toBe('OK');
  }
  await ok(admin.createExecution, helloRequest(RUN));
  const id = { project: HIDDEN, domain: DOMAIN, name: RUN };
  const error = { kind: 1, code: MARK, message: `${MARK} failed` };
  const outputResult = { case: 'error', value: error } as const;
  await ok(admin.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  await ok(admin.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED, outputResult }));
  await ok(admin.createExecution, helloRequest(`${MARK}-run`));
  await ok(admin.updateProject, { id: HIDDEN, name: `${MARK} name`, description: MARK });
  const matchingAttributes = { target: { case: 'executionQueueAttributes' as const, value: { tags: [MARK] } } };
  await ok(admin.updateProjectDomainAttributes, {
    attributes: { project: HIDDEN, domain: DOMAIN, matchingAttributes },
  });
  const named = { project: HIDDEN, domain: DOMAIN, name: 'hello.hello' };
  await ok(admin.updateNamedEntity, {
    resourceType: ResourceType.WORKFLOW,
    id: named,
    metadata: { description: MARK },
  });
};

beforeAll(async () => {
  server = await startAuthenticatedServer(
    [
      { claim: 'sub', value: 'root', role: 'administrator' },
      { claim: 'sub', value: 'stranger', role: 'administrator', projects: [OWN] },
    ],
    { FLIGHTLOG_PROJECTS: JSON.stringify([HIDDEN, OWN]) },
  );
  [grpc, rest] = [grpcClient(server.ready.grpc), restClient(server.ready.http)];
  [root, stranger] = [await server.as('root'), await server.as('stranger')];
  await fill();
});
afterAll(async () => {
  grpc.close();
  await server.close();
});

type Seen = { readonly code: string; readonly message: string; readonly text: string };

const WAYS = ['grpc', 'rest'] as const;

/** The answer to the stranger, with the absent project in place of the one that was named. */
const seen = async ({ method, bytesFor }: Probe, way: (typeof WAYS)[number], project: string): Promise<Seen> => {
  const path = `/${method.parent.typeName}/${method.name}`;
  const bytes = bytesFor(project);
  const answer =
    (way === 'rest' ? await rest.rawJson(method, bytes, stranger) : undefined) ??
    (await grpc.raw(path, bytes, stranger));
  const plain = (text: string): string => text.replaceAll(project, ABSENT);
  return {
    code: answer.code,
    message: plain(answer.message),
    text: plain(Buffer.from(answer.bytes).toString('latin1')),
  };
};

describe('a project without a grant', () => {
  it('answers as one that does not exist, whatever is asked in whatever order, and stays as it is', async () => {
    const [before, head] = [await hidden(), await server.head()];
    const codes = new Set<string>();
    const drawn = fc.record({
      probe: fc.constantFrom(...PROBES),
      way: fc.constantFrom(...WAYS),
      isHiddenFirst: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 20, maxLength: 40 }), async (sequence) => {
        for (const { probe: each, way, isHiddenFirst } of sequence) {
          const first = await seen(each, way, isHiddenFirst ? HIDDEN : ABSENT);
          const second = await seen(each, way, isHiddenFirst ? ABSENT : HIDDEN);
          expect(second, `${each.name} over ${way}`).toEqual(first);
          expect(first.text + first.message, each.name).not.toContain(MARK);
          codes.add(first.code);
        }
      }),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_SEQUENCES'] ?? 30) },
    );
    expect([...codes]).toEqual(expect.arrayContaining(['OK', 'PERMISSION_DENIED', 'INVALID_ARGUMENT']));
    expect(await hidden()).toEqual(before);
    const changed = (await server.eventsAfter(head)).filter(({ stream }) => stream.includes(HIDDEN));
    expect(changed.map(({ stream, type }) => `${stream} ${type}`)).toEqual([]);
  }, 300_000);
});
