import { connect } from 'node:http2';
import { inspect } from 'node:util';

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  CreateReqSchema,
  GetInfoReqSchema,
  PersistentSubscriptions,
  ReadReqSchema as ConsumeReqSchema,
} from '../../../proto/gen/event_store/client/persistent_pb.js';
import {
  AppendReqSchema,
  BatchAppendReqSchema,
  DeleteReqSchema,
  ReadReqSchema,
  Streams,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { MatchableResource } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  ExecutionError_ErrorKind as ErrorKind,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { ReportRequestSchema } from '../../../proto/gen/platformidl/eventlog/engine_report_pb.js';
import {
  WorkJoinSchema,
  WorkRequestSchema,
  WorkResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import {
  EventLogService,
  TailRequest_Format as Format,
  type TailRequestSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ExecutionWatchService, type WatchRequestSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import type { TargetFields } from '../../../services/gateway/dispatch/requirement.js';
import { routeTable } from '../../../services/gateway/routes.js';
import { type AuthenticatedServer, startAuthenticatedServer } from '../../support/processes/authenticated-server.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../../support/clients/grpc-client.js';
import { helloRequest } from '../../support/requests/hello.js';
import { callRaw, framed } from '../../support/clients/raw-call.js';
import { workflowReport } from '../../support/requests/reports.js';
import { requestNaming } from '../../support/requests/requests-naming.js';
import { type RestClient, restClient } from '../../support/clients/rest-client.js';

/**
 * The stranger is a client with a grant for the project `OWN` alone. `HIDDEN` is the project of the fixtures, of which
 * the stranger may see nothing; `ABSENT` does not exist.
 */
const HIDDEN = 'flytesnacks';
const ABSENT = 'snackflytes'; // as long, so that encoded requests and answers differ in nothing else
const OWN = 'ownedflytes';
const DOMAIN = 'development';
/**
 * A word in texts and names of the hidden project. Of the requests of the stranger only one filter of a watch has it,
 * and no answer may.
 */
const MARK = 'zebra';
/** The execution of the hidden project that most requests name. */
const RUN = 'run-of-the-hidden-project';
/** The names that requests ask for: an execution and a workflow of the hidden project, and one that no project has. */
const NAMES = [RUN, 'hello.hello', 'unknown'];

const { method: admin } = AdminService;

type Headers = Readonly<Record<string, string>>;
/** A request of the stranger. `bytesFor` encodes it as a request about the given project. */
type Probe = { readonly method: DescMethod; readonly name: string; readonly bytesFor: (project: string) => Uint8Array };

const table = routeTable([]).filter(({ method }) => method.methodKind === 'unary');

/** Encodes a request whose fields, as the table of permissions lists them, name an object in a project. */
const naming = (method: DescMethod, target: TargetFields, place: { project: string; name: string }): Uint8Array =>
  requestNaming(method, { permission: 'read', target, reads: [] }, { ...place, domain: DOMAIN });

/** The requests of an RPC about a project, and those about `OWN` that refer to something in that project. */
const probesOf = ({ method, requires, name: rpc }: (typeof table)[number]): readonly Probe[] =>
  NAMES.flatMap((name) => [
    { method, name: `${rpc} of ${name}`, bytesFor: (project) => naming(method, requires.target, { project, name }) },
    ...requires.reads.map((read, index) => ({
      method,
      name: `${rpc} that refers to ${name} (reference ${index})`,
      // The bytes of both decode as one request: its target is the stranger's own, its reference is not.
      bytesFor: (project: string) =>
        Buffer.concat([
          naming(method, requires.target, { project: OWN, name: 'mine' }),
          naming(method, read, { project, name }),
        ]),
    })),
  ]);

/** Makes the request of an RPC from its fields for a project. */
const probe = <Input extends DescMessage>(
  method: DescMethod & { readonly input: Input },
  request: (project: string) => MessageInitShape<Input>,
): Probe => ({
  method,
  name: `${method.name} with ${inspect(request('PROJECT'), { breakLength: Infinity, depth: 4 })}`,
  bytesFor: (project) => toBinary(method.input, create(method.input, request(project))),
});

/**
 * Requests that the table of requirements does not describe: the project is in a URL, a filter or items, or the answer
 * is about all projects.
 */
const HANDWRITTEN_PROBES: readonly Probe[] = [
  // The inputs, the outputs and the deck of a node.
  ...['i', 'o', 'd'].map((part) =>
    probe(DataProxyService.method.getData, (project) => ({
      flyteUrl: `flyte://v1/${project}/${DOMAIN}/${RUN}/n0/${part}`,
    })),
  ),
  probe(DataProxyService.method.createDownloadLocation, (project) => ({ nativeUrl: `flightlog://${project}/x/y` })),
  probe(admin.listProjects, (project) => ({ filters: `eq(identifier,${project})` })),
  probe(admin.listProjects, (project) => ({ filters: `contains(identifier,${project.slice(0, 9)})` })),
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

const PROBES = [...table.flatMap(probesOf), ...HANDWRITTEN_PROBES];

let server: AuthenticatedServer;
let grpc: GrpcClient;
let rest: RestClient;
let root: Headers;
let stranger: Headers;

/** Sends a request as an administrator, and expects that it succeeds. */
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
const readHidden = async (): Promise<readonly Uint8Array[]> => [
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

/**
 * Registers `01-hello` in the hidden project, launches the execution `RUN`, which fails, and a second one, and writes
 * `MARK` into errors, descriptions, names and attributes.
 */
const fillHiddenProject = async (): Promise<void> => {
  for (const { kind, method, bytes } of withNeeds('01-hello').flatMap(({ entries }) => entries)) {
    if (kind === 'execution' || kind === 'upload_location') continue;
    expect((await grpc.raw(`/${AdminService.typeName}/${method}`, bytes, root)).code).toBe('OK');
  }
  await ok(admin.createExecution, helloRequest(RUN));
  const id = { project: HIDDEN, domain: DOMAIN, name: RUN };
  const error = { kind: ErrorKind.USER, code: MARK, message: `${MARK} failed` };
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
    { FLIGHTLOG_PROJECTS: JSON.stringify([HIDDEN, OWN]), FLIGHTLOG_EVENTSTORE_MODE: 'write' },
  );
  [grpc, rest] = [grpcClient(server.ready.grpc), restClient(server.ready.http)];
  [root, stranger] = [await server.as('root'), await server.as('stranger')];
  await fillHiddenProject();
});
afterAll(async () => {
  grpc.close();
  await server.close();
});

/** An answer: its status, and its message as text. */
type Seen = { readonly code: string; readonly message: string; readonly text: string };

const WAYS = ['grpc', 'rest'] as const;

/**
 * The answer to the stranger, with the name of the absent project in place of the one in the request. A request that
 * REST cannot express is sent over gRPC in both ways.
 */
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
    const [before, head] = [await readHidden(), await server.head()];
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
    expect(await readHidden()).toEqual(before);
    const changed = (await server.eventsAfter(head)).filter(({ stream }) => stream.includes(HIDDEN));
    expect(changed.map(({ stream, type }) => `${stream} ${type}`)).toEqual([]);
  }, 300_000);
});

const pathOf = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;

/** Requests for streams of the project, and of all projects with a filter that names it; all are refused. */
const STREAMING: readonly Probe[] = [
  ...['', DOMAIN].flatMap((domain) =>
    [...NAMES, ''].flatMap((name) => [
      probe(EventLogService.method.tail, (project) => ({ project, domain, name, from: 'start' })),
      probe(ExecutionWatchService.method.watch, (project) => ({ project, domain, name })),
    ]),
  ),
  probe(ExecutionWatchService.method.watch, (project) => ({ filters: `eq(project,${project})` })),
  probe(EventLogService.method.tail, (project) => ({ categories: ['execution'], labels: [`project=${project}`] })),
];

/** An engine's report that the execution `RUN` of a project has failed. */
const failureReport = (project: string): Uint8Array => {
  const value = workflowReport({ project, domain: DOMAIN, name: RUN }, { phase: Phase.FAILED });
  const event = { case: 'workflowEvent' as const, value };
  return toBinary(ReportRequestSchema, create(ReportRequestSchema, { sequence: 1n, event }));
};

/** A message of an engine on the stream of work. */
type EngineMessage = Extract<NonNullable<MessageInitShape<typeof WorkRequestSchema>['message']>, { case: string }>;

/** The message with which an engine of the stranger joins. */
const join = (joining: MessageInitShape<typeof WorkJoinSchema>): EngineMessage => ({
  case: 'join',
  value: create(WorkJoinSchema, { group: 'strangers', engine: 'engine', ...joining }),
});

const caseOf = (message: Uint8Array): string | undefined => fromBinary(WorkResponseSchema, message).message.case;
const isJoined = (message: Uint8Array): boolean => caseOf(message) === 'joined';
const isAnswer = (message: Uint8Array): boolean => caseOf(message) === 'answer';

/** Sends the messages of an engine, and closes the stream after the first message that `isEnough` accepts. */
const work = async (messages: readonly EngineMessage[], isEnough: (message: Buffer) => boolean) => {
  const session = connect(`http://${server.ready.grpc}`);
  const encoded = messages.map((message) => toBinary(WorkRequestSchema, create(WorkRequestSchema, { message })));
  const body = Buffer.concat(encoded.map((each) => framed(each)));
  const call = { body, headers: stranger, isEnough, staysOpen: true };
  const answer = await callRaw(session, pathOf(EngineService.method.work), call);
  session.close();
  return answer;
};

/** The request that launches an execution in the stranger's own project. */
const launchOwn = (name: string) =>
  helloRequest(name, (request) => {
    request.project = OWN;
    request.spec!.launchPlan!.project = OWN;
  });

/**
 * Registers in the stranger's own project what the hidden project has, and launches `mine` there. The names of both
 * projects have the same length, so that the encoded requests stay valid.
 */
const registerOwn = async (): Promise<void> => {
  for (const { kind, method, bytes } of withNeeds('01-hello').flatMap(({ entries }) => entries)) {
    if (kind === 'execution' || kind === 'upload_location') continue;
    const own = Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll(HIDDEN, OWN), 'latin1');
    expect((await grpc.raw(`/${AdminService.typeName}/${method}`, own, root)).code).toBe('OK');
  }
  await ok(admin.createExecution, launchOwn('mine'));
};

/**
 * Changes both projects in turn. The last change launches an execution in the stranger's own project that has the name
 * of one in the hidden project.
 */
const changeBothProjects = async (): Promise<void> => {
  const hiddenRun = { project: HIDDEN, domain: DOMAIN, name: `${MARK}-run` };
  const mine = { ...hiddenRun, project: OWN, name: 'mine' };
  const error = { kind: ErrorKind.USER, code: 'failed', message: 'failed' };
  const outputResult = { case: 'error', value: error } as const;
  for (const id of [hiddenRun, mine]) {
    await ok(admin.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
    await ok(admin.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED, outputResult }));
  }
  await ok(admin.createExecution, helloRequest(`${MARK}-while-streams-are-open`));
  await ok(admin.updateProject, { id: HIDDEN, name: `${MARK} again`, description: MARK });
  await ok(admin.createExecution, launchOwn(RUN));
};

/**
 * Opens a stream over gRPC. `begun` resolves at its first message; `texts` has its messages up to the first one that
 * names the last run, or up to the end of the stream.
 */
const overGrpc = <Input extends DescMessage>(
  method: DescMethod & { readonly input: Input },
  request: MessageInitShape<Input>,
) => {
  const session = connect(`http://${server.ready.grpc}`);
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const isEnough = (message: Buffer): boolean => {
    begin();
    return message.includes(RUN);
  };
  const body = framed(toBinary(method.input, create(method.input, request)));
  const texts = callRaw(session, pathOf(method), { body, headers: stranger, isEnough }).then(({ code, messages }) => {
    session.close();
    expect([method.name, code]).toEqual([method.name, expect.stringMatching(/^(OPEN|OK)$/u)]);
    return Buffer.concat(messages).toString('latin1');
  });
  return { begun, texts };
};

/** Opens a stream over REST, as Server-Sent Events; `texts` is as for {@link overGrpc}. */
const overRest = async (path: string) => {
  const answer = await fetch(`${server.ready.http}${path}`, { headers: stranger });
  expect(answer.status, path).toBe(200);
  const read = async (): Promise<string> => {
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes(RUN)) break; // closes the stream
    }
    return text;
  };
  return { begun: Promise.resolve(), texts: read() };
};

/** Opens tails and watches of the stranger's own project, over gRPC and REST. */
const streamsOfOwn = async () => {
  const place = { project: OWN, domain: DOMAIN };
  const tail = (fields: MessageInitShape<typeof TailRequestSchema>) =>
    overGrpc(EventLogService.method.tail, { project: OWN, ...fields });
  const watch = (fields: MessageInitShape<typeof WatchRequestSchema>) =>
    overGrpc(ExecutionWatchService.method.watch, { ...place, ...fields });
  return [
    tail({ from: 'start' }),
    tail({ from: 'start', domain: DOMAIN, format: Format.PROTOBUF }),
    tail({ lastEventId: '1', categories: ['execution', 'project'] }),
    watch({}),
    watch({ name: 'mine' }),
    watch({ filters: `value_in(name,${RUN};${MARK}-run;mine)` }),
    await overRest(`/api/v1/tail?project=${OWN}&from=start`),
    await overRest(`/api/v1/watch/executions?project=${OWN}&domain=${DOMAIN}`),
  ];
};

describe('a stream', () => {
  it('of a hidden project is refused as one of a project that does not exist', async () => {
    const answers = async ({ method, bytesFor }: Probe, project: string) => {
      const plain = (text: string): string => text.replaceAll(project, ABSENT);
      const overGrpcAnswer = await grpc.rawStream(pathOf(method), bytesFor(project), stranger);
      const overRestAnswer = await rest.rawJson(method, bytesFor(project), stranger);
      return [
        ...[overGrpcAnswer.code, plain(overGrpcAnswer.message)],
        ...[overRestAnswer?.code, plain(overRestAnswer?.message ?? '')],
      ];
    };
    for (const each of STREAMING) {
      const refused = await answers(each, HIDDEN);
      expect(refused, each.name).toEqual(await answers(each, ABSENT));
      expect(refused[0], each.name).toMatch(/^(PERMISSION_DENIED|INVALID_ARGUMENT)$/u);
    }
  });

  it('of reports answers an event of a hidden project as one of a project that does not exist', async () => {
    const answers = await Promise.all(
      [HIDDEN, ABSENT].map(async (project) => {
        const { code, bytes } = await grpc.rawStream(
          pathOf(EngineService.method.report),
          failureReport(project),
          stranger,
        );
        return [code, Buffer.from(bytes).toString('latin1').replaceAll(project, ABSENT)];
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[1]).not.toContain(MARK);
  });

  it("of the stranger's own project has nothing of the hidden one, while both projects change", async () => {
    await registerOwn();
    const streams = await streamsOfOwn();
    await Promise.all(streams.map(({ begun }) => begun));
    await changeBothProjects();
    for (const text of await Promise.all(streams.map(({ texts }) => texts))) {
      expect(text).toContain(OWN);
      expect(text).not.toContain(HIDDEN);
      expect(text).not.toContain(MARK);
    }
  }, 60_000);

  it("of work has the launches of the stranger's own project alone", async () => {
    // The test before this one has launched the run.
    const { code, messages } = await work([join({ freePlaces: 9 })], (message) => message.includes(RUN));
    expect(code).toBe('OPEN');
    const text = Buffer.concat(messages).toString('latin1');
    expect(text).toContain(OWN);
    expect(text).not.toContain(HIDDEN);
    expect(text).not.toContain(MARK);
  });

  it('of work answers about leases of a hidden project as about those of a project that does not exist', async () => {
    const answers = async (project: string) => {
      const lease = { execution: { project, domain: DOMAIN, name: RUN }, number: 1n };
      const accept: EngineMessage = { case: 'accept', value: { lease } };
      const sent = [join({ labels: { scopes: [{ project, domain: DOMAIN }] }, leases: [lease] }), accept];
      const { code, message, messages } = await work(sent, isAnswer);
      const texts = messages.filter((each) => !isJoined(each)).map((each) => each.toString('latin1'));
      return [code, message, ...texts].map((text) => text.replaceAll(project, ABSENT));
    };
    const refused = await answers(HIDDEN);
    expect(refused).toEqual(await answers(ABSENT));
    expect(refused.join()).not.toContain(MARK);
  });
});

const empty = {};
/** Asks for the ids of events as text. */
const uuidOption = { content: { case: 'string', value: empty } } as const;

/** Calls of the EventStoreDB protocol about the streams of a project. */
const eventstoreCalls = (project: string): readonly (readonly [name: string, path: string, bytes: Uint8Array])[] => {
  const streamIdentifier = { streamName: Buffer.from(`execution-${project}:${DOMAIN}:${RUN}`) };
  const encode = <Desc extends DescMessage>(method: DescMethod, schema: Desc, request: MessageInitShape<Desc>) =>
    [method.name, pathOf(method), toBinary(schema, create(schema, request))] as const;
  const start = { case: 'start', value: empty } as const;
  const one = { case: 'stream', value: { streamIdentifier, revisionOption: start } } as const;
  const prefix = { prefix: [`execution-${project}:`] };
  const filter = { filter: { case: 'streamIdentifier', value: prefix }, checkpointIntervalMultiplier: 1 } as const;
  const all = { case: 'all', value: { allOption: start } } as const;
  const group = { streamOption: { case: 'streamIdentifier', value: streamIdentifier }, groupName: 'group' } as const;
  const counted = { case: 'count', value: 10n } as const;
  const subscription = { case: 'subscription', value: empty } as const;
  const plain = { uuidOption, filterOption: { case: 'noFilter', value: empty } } as const;
  const settings = { historyBufferSize: 500, readBatchSize: 20, liveBufferSize: 500, maxSubscriberCount: 5 };
  const { read, append, delete: remove } = Streams.method;
  const groups = PersistentSubscriptions.method;
  return [
    encode(read, ReadReqSchema, { options: { streamOption: one, countOption: counted, ...plain } }),
    encode(read, ReadReqSchema, { options: { streamOption: one, countOption: subscription, ...plain } }),
    ...[counted, subscription].map((countOption) =>
      encode(read, ReadReqSchema, {
        options: { streamOption: all, countOption, uuidOption, filterOption: { case: 'filter', value: filter } },
      }),
    ),
    encode(append, AppendReqSchema, {
      content: { case: 'options', value: { streamIdentifier, expectedStreamRevision: { case: 'any', value: empty } } },
    }),
    encode(remove, DeleteReqSchema, {
      options: { streamIdentifier, expectedStreamRevision: { case: 'any', value: empty } },
    }),
    encode(groups.create, CreateReqSchema, {
      options: { streamOption: one, groupName: 'group', settings: { ...settings, consumerStrategy: 'RoundRobin' } },
    }),
    encode(groups.getInfo, GetInfoReqSchema, { options: group }),
    encode(groups.read, ConsumeReqSchema, {
      content: { case: 'options', value: { ...group, bufferSize: 10, uuidOption } },
    }),
  ];
};

describe('the port of the EventStoreDB protocol', () => {
  it('answers about streams of a hidden project as about streams that do not exist', async () => {
    const client = grpcClient(server.ready.eventstore ?? '');
    // The group of consumers exists for a stream of the hidden project alone.
    const groupCalls = eventstoreCalls(HIDDEN).filter(([name]) => ['Create', 'GetInfo'].includes(name));
    for (const [name, path, bytes] of groupCalls)
      expect([name, (await client.rawStream(path, bytes, root)).code]).toEqual([name, 'OK']);
    for (const headers of [stranger, {}])
      for (const [at, [name, path, bytes]] of eventstoreCalls(HIDDEN).entries()) {
        const [, , ofAbsent = bytes] = eventstoreCalls(ABSENT)[at] ?? [];
        const first = await client.rawStream(path, bytes, headers);
        expect([name, first]).toEqual([name, await client.rawStream(path, ofAbsent, headers)]);
        expect([name, first.code]).toEqual([name, headers === stranger ? 'PERMISSION_DENIED' : 'UNAUTHENTICATED']);
        expect(first.message + Buffer.from(first.bytes).toString('latin1')).not.toContain(MARK);
      }
    client.close();
  });

  it('answers batch appends to streams of a hidden project as if the streams did not exist, and appends nothing', async () => {
    const client = grpcClient(server.ready.eventstore ?? '');
    const head = await server.head();
    const appended = async (project: string) => {
      const id = { value: { case: 'string', value: '00000000-0000-4000-8000-000000000001' } } as const;
      const request = create(BatchAppendReqSchema, {
        correlationId: id,
        options: {
          streamIdentifier: { streamName: Buffer.from(`execution-${project}:${DOMAIN}:${RUN}`) },
          expectedStreamPosition: { case: 'any', value: empty },
          deadlineOption: { case: 'deadline', value: { seconds: 10n, nanos: 0 } },
        },
        proposedMessages: [
          { id, metadata: { type: 'Noted', 'content-type': 'application/json' }, data: Buffer.from('{}') },
        ],
        isFinal: true,
      });
      const bytes = toBinary(BatchAppendReqSchema, request);
      const answer = await client.rawStream(pathOf(Streams.method.batchAppend), bytes, stranger);
      return { ...answer, bytes: Buffer.from(answer.bytes).toString('latin1').replaceAll(project, ABSENT) };
    };
    const refused = await appended(HIDDEN);
    expect(refused).toEqual(await appended(ABSENT));
    expect(refused.code).toBe('PERMISSION_DENIED');
    expect((await server.eventsAfter(head)).filter(({ type }) => type === 'Noted')).toEqual([]);
    client.close();
  });
});
