import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMethod, hasOption, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ReadReqSchema } from '../../proto/gen/event_store/client/streams_pb.js';
import { http } from '../../proto/gen/google/api/annotations_pb.js';
import { NodeExecutionEventRequestSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Requirement } from '../../services/gateway/dispatch/requirement.js';
import { metadataOf } from '../../services/kernel/event.js';
import { routeTable } from '../../services/gateway/routes.js';
import { type AuthenticatedServer, startAuthenticatedServer } from '../support/processes/authenticated-server.js';
import { flightlog } from '../support/processes/command.js';
import { fixtureBytes } from '../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/clients/grpc-client.js';
import { openReport } from '../support/clients/report-stream.js';
import { nodeReport } from '../support/requests/reports.js';
import { requestNaming } from '../support/requests/requests-naming.js';
import { type RestClient, restClient } from '../support/clients/rest-client.js';
import { wrongTokens } from '../support/servers/token-issuer.js';
import { until } from '../support/until.js';

type Headers = Readonly<Record<string, string>>;

const PLACE = { project: 'flytesnacks', domain: 'development', name: 'x' };
/** Basic authentication as the user root with the password root. */
const BASIC = 'Basic cm9vdDpyb290';
const EVERY_PERMISSION = ['read', 'register', 'execute', 'events', 'admin'];

let server: AuthenticatedServer;
let grpc: GrpcClient;
let rest: RestClient;

beforeAll(async () => {
  server = await startAuthenticatedServer(
    [
      { claim: 'sub', value: 'root', role: 'administrator' },
      { claim: 'sub', value: 'reader', role: 'viewer' },
      { claim: 'sub', value: 'elsewhere', role: 'administrator', projects: ['other'] },
      { claim: 'sub', value: 'staging', role: 'administrator', projects: ['flytesnacks'], domains: ['staging'] },
      { claim: 'groups', value: 'team', role: 'contributor', projects: ['flytesnacks'], domains: ['development'] },
    ],
    { FLIGHTLOG_PROJECTS: '["flytesnacks","other","third"]', FLIGHTLOG_EVENTSTORE_MODE: 'write' },
  );
  grpc = grpcClient(server.ready.grpc);
  rest = restClient(server.ready.http);
});

afterAll(async () => {
  grpc.close();
  await server.close();
});

/** The status of an RPC over each transport; `undefined` where REST has no binding for it. */
const statusesOf = async (method: DescMethod, request: Uint8Array, headers: Headers) => {
  const path = `/${method.parent.typeName}/${method.name}`;
  const send = method.methodKind === 'unary' ? grpc.raw : grpc.rawStream;
  const overRest = rest.rawJson(method, request, headers);
  const [first, second] = await Promise.all([send(path, request, headers), overRest]);
  return {
    grpc: first.code,
    rest: second?.code,
    http: second?.http,
    challenge: second?.headers.get('www-authenticate'),
  };
};

const UNAUTHENTICATED = {
  ...{ grpc: 'UNAUTHENTICATED', rest: 'UNAUTHENTICATED', http: 401 },
  challenge: expect.stringMatching(/^Bearer realm="flightlog"/u) as unknown,
};
const DENIED = { grpc: 'PERMISSION_DENIED', rest: 'PERMISSION_DENIED', http: 403, challenge: null };

/** The expected statuses; without those of REST when the RPC has no HTTP binding. */
const expected = (statuses: object, method: DescMethod) =>
  hasOption(method, http) ? statuses : { ...statuses, rest: undefined, http: undefined, challenge: undefined };

type Case = { readonly name: string; readonly headers: Headers; readonly isFor: (requires: Requirement) => boolean };

const isProtected = ({ permission }: Requirement): boolean => permission !== 'none';
const needsPermission = (requires: Requirement): boolean =>
  isProtected(requires) && requires.permission !== 'authenticated';
/** True for reads of a whole project, which a role in one of its domains allows. */
const isReadOfProject = ({ permission, target }: Requirement): boolean =>
  permission === 'read' && target.project !== undefined && target.domain === undefined;

const unauthenticatedCases = async (): Promise<readonly Case[]> => [
  { name: 'no token', headers: {}, isFor: isProtected },
  { name: 'another authentication scheme', headers: { authorization: BASIC }, isFor: isProtected },
  ...Object.entries(await wrongTokens(server.issuer)).map(([name, token]) => ({
    name,
    headers: { authorization: `Bearer ${token}` },
    isFor: isProtected,
  })),
];

const deniedCases = async (): Promise<readonly Case[]> => [
  { name: 'no grant', headers: await server.as('nobody'), isFor: needsPermission },
  {
    name: 'the scope "all" but no grant',
    headers: await server.as('nobody', { scope: 'all' }),
    isFor: needsPermission,
  },
  { name: 'a grant for another project', headers: await server.as('elsewhere'), isFor: needsPermission },
  {
    name: 'a grant for another domain',
    headers: await server.as('staging'),
    isFor: (requires) => needsPermission(requires) && !isReadOfProject(requires),
  },
  ...(await Promise.all(
    EVERY_PERMISSION.map(async (lacking) => ({
      name: `every permission but ${lacking}`,
      headers: await server.as('root', { scope: EVERY_PERMISSION.filter((each) => each !== lacking).join(' ') }),
      isFor: ({ permission }: Requirement) => permission === lacking,
    })),
  )),
];

const table = routeTable([]);
/** All RPCs but those of kind `server_streaming`, some of which send answers until the caller ends the call. */
const ending = table.filter(({ method }) => method.methodKind !== 'server_streaming');

/** Expects the statuses of each RPC that a case is for, case after case. Gives the number of RPCs in all cases. */
const expectStatuses = async (cases: readonly Case[], statuses: object): Promise<number> => {
  let calls = 0;
  for (const { name, headers, isFor } of cases)
    await Promise.all(
      table
        .filter(({ requires }) => isFor(requires))
        .map(async ({ method, requires, name: rpc }) => {
          const found = await statusesOf(method, requestNaming(method, requires, PLACE), headers);
          expect(found, `${rpc} with ${name}`).toEqual(expected(statuses, method));
          calls++;
        }),
    );
  return calls;
};

describe('every RPC', () => {
  it('is refused without the token or permission that it needs; no event is recorded, no token is logged', async () => {
    const before = await server.head();
    const unauthenticated = await unauthenticatedCases();
    const denied = await deniedCases();
    const calls = (await expectStatuses(unauthenticated, UNAUTHENTICATED)) + (await expectStatuses(denied, DENIED));
    expect(await server.head()).toBe(before);
    expect(calls).toBeGreaterThan(table.length * 15); // on average, each RPC was tried in more than 15 cases
    for (const { headers } of [...unauthenticated, ...denied]) {
      const [, token = ''] = headers['authorization']?.split(' ') ?? [];
      // A shorter credential, such as `garbage`, may be a word of the log by chance.
      if (token.length > 20) expect(server.log()).not.toContain(token);
    }
  });

  it('is not refused to an administrator with a token; those of kind server_streaming are not tried', async () => {
    const root = await server.as('root');
    for (const { method, requires, name } of ending) {
      const found = await statusesOf(method, requestNaming(method, requires, PLACE), root);
      expect([found.grpc, found.rest], name).not.toContain('UNAUTHENTICATED');
      expect([found.grpc, found.rest], name).not.toContain('PERMISSION_DENIED');
    }
  });

  it.each(table.filter(({ requires }) => !isProtected(requires)))(
    '$name needs no token',
    async ({ method, requires }) => {
      const request = requestNaming(method, requires, PLACE);
      for (const headers of [{}, { authorization: 'Bearer garbage' }]) {
        const found = await statusesOf(method, request, headers);
        expect([found.grpc, found.rest]).not.toContain('UNAUTHENTICATED');
        expect([found.grpc, found.rest]).not.toContain('PERMISSION_DENIED');
      }
    },
  );
});

const get = async (path: string, headers: Headers = {}) => {
  const { http: code, bytes } = await rest.request('GET', path, undefined, { accept: 'application/json', ...headers });
  const text = Buffer.from(bytes).toString();
  return { http: code, json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {} };
};

const idsOf = (elements: unknown): readonly string[] => (elements as { id: string }[]).map(({ id }) => id);

describe('a caller', () => {
  it('sees the projects and domains that it may read, and no others', async () => {
    const team = await server.as('ada', { groups: ['team'] });
    const { projects } = (await get('/api/v1/projects', team)).json as { projects: { id: string; domains: unknown }[] };
    expect(projects.map(({ id, domains }) => [id, idsOf(domains)])).toEqual([['flytesnacks', ['development']]]);
    const root = (await get('/api/v1/projects', await server.as('root'))).json;
    expect(idsOf(root['projects'])).toEqual(expect.arrayContaining(['flytesnacks', 'other', 'third']));
    expect((await get('/api/v1/projects', await server.as('nobody'))).json['projects']).toEqual([]);
    expect(idsOf((await get('/api/v1/domains', team)).json['domains'])).toEqual(['development']);
    expect((await get('/api/v1/projects/flytesnacks', team)).http).toBe(200);
    expect((await get('/api/v1/projects/other', team)).http).toBe(403);
  });

  it('gets the same status for a project that it may not read and for one that does not exist', async () => {
    const elsewhere = await server.as('elsewhere');
    const answers = ['flytesnacks', 'missing'].map((project) => get(`/api/v1/projects/${project}`, elsewhere));
    expect((await Promise.all(answers)).map((answer) => answer.http)).toEqual([403, 403]);
  });

  it('reads no data of a project that it may not read', async () => {
    const elsewhere = await server.as('elsewhere');
    const url = encodeURIComponent('flyte://v1/flytesnacks/development/run/n0/i');
    expect((await get(`/api/v1/data?flyte_url=${url}`, elsewhere)).http).toBe(403);
    expect((await get(`/api/v1/data?flyte_url=${url}`, await server.as('ada', { groups: 'team' }))).http).not.toBe(403);
  });

  it('gets its own permissions, in a project and domain or in all of them', async () => {
    const permissionsIn = async (query: string, headers: Headers) =>
      (await get(`/api/v1/access/permissions${query}`, headers)).json['permissions'];
    const [root, team, staging] = [await server.as('root'), { groups: ['team'] }, await server.as('staging')];
    const ada = await server.as('ada', team);
    expect(await permissionsIn('', root)).toEqual(EVERY_PERMISSION);
    expect(await permissionsIn('?project=flytesnacks&domain=development', ada)).toEqual([
      'read',
      'register',
      'execute',
    ]);
    for (const query of ['', '?project=flytesnacks', '?project=other&domain=development', '?project=*'])
      expect(await permissionsIn(query, ada), query).toEqual([]);
    expect(await permissionsIn('?project=flytesnacks&domain=development', staging)).toEqual([]);
    expect(await permissionsIn('?project=none&domain=none', await server.as('root', { scope: 'read' }))).toEqual([
      'read',
    ]);
  });

  it('is recorded as the actor of its event; a refused call records none', async () => {
    const team = await server.as('ada', { groups: ['team'] });
    const before = await server.head();
    const request = fixtureBytes('01-hello/001-task.create_request.pb');
    const path = `/${AdminService.typeName}/CreateTask`;
    expect((await grpc.raw(path, request, await server.as('elsewhere'))).code).toBe('PERMISSION_DENIED');
    expect((await grpc.raw(path, request, team)).code).toBe('OK');
    expect((await server.eventsAfter(before)).map((event) => metadataOf(event).actor)).toEqual(['ada']);
  });

  it('may send its token in flyte-authorization, also when authorization has another scheme', async () => {
    const { authorization = '' } = await server.as('root');
    const path = `/${AdminService.typeName}/ListProjects`;
    const headers = { authorization: BASIC, 'flyte-authorization': authorization };
    expect((await grpc.raw(path, new Uint8Array(), headers)).code).toBe('OK');
    expect((await get('/api/v1/projects', { 'flyte-authorization': authorization })).http).toBe(200);
  });
});

/** Writes the token of an `authorization` header to a file, and gives its path. */
const tokenFile = (authorization: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'flightlog-token-')), 'token');
  writeFileSync(file, authorization.slice('Bearer '.length));
  return file;
};

describe('a role binding', () => {
  const change = async (verb: '' | '/revoke', binding: object, headers: Headers): Promise<number> =>
    (
      await fetch(`${server.ready.http}/api/v1/access/bindings${verb}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ binding }),
      })
    ).status;
  const listed = async (query: string, headers: Headers) => {
    const { bindings } = (await get(`/api/v1/access/bindings${query}`, headers)).json as {
      bindings: readonly { readonly principal: string }[];
    };
    return bindings.map(({ principal }) => principal);
  };
  const readsThird = async (headers: Headers): Promise<number> => (await get('/api/v1/projects/third', headers)).http;

  it('gives a role to a caller whose token is older than the grant, until it is revoked', async () => {
    const root = await server.as('root');
    const guest = await server.as('guest');
    const binding = { principal: 'guest', role: 'viewer', project: 'third' };
    expect(await readsThird(guest)).toBe(403);
    expect(await change('', binding, root)).toBe(200);
    await until(
      () => readsThird(guest),
      (status) => status === 200,
    );
    expect((await get('/api/v1/projects/other', guest)).http).toBe(403);
    expect(await listed('', root)).toEqual(['guest']);
    expect(await change('/revoke', binding, root)).toBe(200);
    await until(
      () => readsThird(guest),
      (status) => status === 403,
    );
    expect(await change('/revoke', binding, root)).toBe(404);
  });

  it('can be given and listed only by administrators of its whole project', async () => {
    const elsewhere = await server.as('elsewhere');
    const binding = { principal: 'mallory', role: 'administrator' };
    for (const place of [{ project: 'third' }, {}, { project: '*' }, { project: '' }])
      expect(await change('', { ...binding, ...place }, elsewhere)).toBe(403);
    const staging = await server.as('staging');
    expect(await change('', { ...binding, project: 'flytesnacks' }, staging)).toBe(403);
    expect((await get('/api/v1/access/bindings?project=flytesnacks', staging)).http).toBe(403);
    expect(await change('', { ...binding, project: 'other' }, elsewhere)).toBe(200);
    expect(await listed('?project=other', elsewhere)).toEqual(['mallory']);
    expect((await get('/api/v1/access/bindings', elsewhere)).http).toBe(403);
    expect((await get('/api/v1/access/bindings?project=third', elsewhere)).http).toBe(403);
  });

  it.each(['garbage', '!!!!', Buffer.from('["ada"]').toString('base64url')])(
    'is not listed by the page token %j, which no list of role bindings has given',
    async (token) => {
      const { http, json } = await get(`/api/v1/access/bindings?token=${token}`, await server.as('root'));
      expect([http, json['message']]).toEqual([400, 'invalid value for token: not a token of this list']);
    },
  );

  it('can be given, listed and revoked on the command line', async () => {
    const { authorization = '' } = await server.as('root');
    const flags = ['--server', server.ready.http, '--token-file', tokenFile(authorization)];
    const binding = ['bob@example.com', 'operator', '--project', 'third', '--domain', 'staging'];
    expect(await flightlog(['access', 'grant', ...binding, ...flags]).ended).toMatchObject({ code: 0 });
    const list = ['access', 'list', '--principal', 'bob@example.com', ...flags];
    expect((await flightlog(list).ended).stdout.trim().split(/ +/u)).toEqual([
      'bob@example.com',
      'operator',
      'third',
      'staging',
    ]);
    expect((await flightlog(['access', 'mine', '--project', 'third', ...flags]).ended).stdout).toBe(
      EVERY_PERMISSION.map((permission) => `${permission}\n`).join(''),
    );
    expect(await flightlog(['access', 'revoke', ...binding, ...flags]).ended).toMatchObject({ code: 0 });
    expect(await listed('?project=third', await server.as('root'))).not.toContain('bob@example.com');
  });
});

describe('the audit', () => {
  type Entry = Readonly<Record<string, string | number>>;
  const entries = async (query: string, headers: Headers): Promise<readonly Entry[]> =>
    (await get(`/api/v1/audit?${query}`, headers)).json['entries'] as readonly Entry[];

  it('has each change and refusal with caller, transport, target, status and position, not the content', async () => {
    const root = await server.as('root');
    const since = new Date().toISOString();
    const headers = { ...(await server.as('auditor-test')), 'x-request-id': 'refused-here' };
    await grpc.raw(`/${AdminService.typeName}/GetProject`, new Uint8Array(), headers);
    await get('/api/v1/projects/third', headers);
    const body = JSON.stringify({ id: 'third', name: 'third', description: 'MARKED' });
    const http = { 'content-type': 'application/json', ...root };
    await fetch(`${server.ready.http}/api/v1/projects/third`, { method: 'PUT', headers: http, body });
    const found = await entries(`since=${since}`, root);
    expect(found).toMatchObject([
      { principal: 'auditor-test', transport: 'grpc', code: 'PERMISSION_DENIED', action: 'AdminService.GetProject' },
      {
        principal: 'auditor-test',
        transport: 'rest',
        project: 'third',
        request_id: 'refused-here',
        address: '127.0.0.1',
      },
      { principal: 'root', transport: 'rest', project: 'third', code: 'OK', action: 'AdminService.UpdateProject' },
    ]);
    expect(Number(found[2]?.['position'])).toBeGreaterThan(0);
    expect(JSON.stringify(found)).not.toContain('MARKED');
    expect(await entries(`since=${since}&actor=root`, root)).toHaveLength(1);
    expect(await entries(`project=third&after=${found[1]?.['id']}`, root)).toHaveLength(1);
    expect(await entries(`after=${2n ** 64n - 1n}`, root)).toEqual([]);
  });

  it('of a project is shown to its administrators alone', async () => {
    const elsewhere = await server.as('elsewhere');
    const stranger = await server.as('stranger-test');
    for (const project of ['other', 'third']) await get(`/api/v1/projects/${project}`, stranger);
    expect((await get('/api/v1/audit', elsewhere)).http).toBe(403);
    expect((await get('/api/v1/audit?project=third', elsewhere)).http).toBe(403);
    const own = await entries('project=other', elsewhere);
    expect(own).toContainEqual(expect.objectContaining({ principal: 'stranger-test' }));
    expect(new Set(own.map(({ project }) => project))).toEqual(new Set(['other']));
  });

  it('is printed by the command line', async () => {
    const { authorization = '' } = await server.as('root');
    const flags = ['--server', server.ready.http, '--token-file', tokenFile(authorization)];
    await get('/api/v1/projects/third', await server.as('printed-test'));
    const { stdout } = await flightlog(['audit', '--actor', 'printed-test', '--since', '1h', ...flags]).ended;
    expect(stdout).toMatch(/printed-test +PERMISSION_DENIED +AdminService.GetProject .*third.* rest 127\.0\.0\.1/u);
  });

  it('is followed by the command line, until it gets SIGINT', async () => {
    const { authorization = '' } = await server.as('root');
    const env = { FLIGHTLOG_SERVER: server.ready.http, FLIGHTLOG_TOKEN_FILE: tokenFile(authorization) };
    const stranger = await server.as('followed-test');
    await get('/api/v1/projects/third', stranger);
    const { child, said, ended } = flightlog(['audit', '--actor', 'followed-test', '--follow'], { env });
    await said(/followed-test +PERMISSION_DENIED +AdminService.GetProject .*third/u);
    await get('/api/v1/projects/other', stranger);
    await said(/followed-test +PERMISSION_DENIED +AdminService.GetProject .*other/u);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ signal: 'SIGINT', stderr: '' });
  });
});

describe('an endpoint beside the RPCs of the API', () => {
  it('for the metadata of OpenID Connect redirects to those of the issuer, without a token', async () => {
    const path = '/.well-known/openid-configuration';
    const { status, headers } = await fetch(`${server.ready.http}${path}?x=1`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([303, `${server.issuer.issuer}${path}`]);
  });

  it.each(['/healthz', '/readyz', '/healthcheck'])('%s needs no token', async (path) => {
    expect((await get(path)).http).toBe(200);
  });

  it('/metrics is only for callers that may read everything', async () => {
    expect((await get('/metrics')).http).toBe(401);
    expect((await get('/metrics', await server.as('elsewhere'))).http).toBe(403);
    expect((await get('/metrics', await server.as('reader'))).http).toBe(200);
  });

  it('/openapi.json is only for callers with a token', async () => {
    expect((await get('/openapi.json')).http).toBe(401);
    expect((await get('/openapi.json', await server.as('nobody'))).http).toBe(200);
  });

  it('gRPC reflection is only for callers with a token; gRPC health needs none', async () => {
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const listServices = Uint8Array.of(0x3a, 0x00); // field 7, `list_services`, with an empty text
    expect((await grpc.rawStream(path, listServices)).code).toBe('UNAUTHENTICATED');
    expect((await grpc.rawStream(path, listServices, await server.as('nobody'))).code).toBe('OK');
    expect((await grpc.raw('/grpc.health.v1.Health/Check', new Uint8Array())).code).toBe('OK');
  });
});

describe('the EventStoreDB protocol', () => {
  let streams: GrpcClient;
  const empty = {};
  const readReq = (countOption: object) =>
    toBinary(
      ReadReqSchema,
      create(ReadReqSchema, {
        options: {
          streamOption: { case: 'all', value: { allOption: { case: 'start', value: empty } } },
          countOption: countOption as never,
          filterOption: { case: 'noFilter', value: empty },
          uuidOption: { content: { case: 'string', value: empty } },
        },
      }),
    );
  const once = readReq({ case: 'count', value: 1n });
  const send = (name: string, request: Uint8Array, headers: Headers = {}) =>
    streams.rawStream(`/event_store.client.streams.Streams/${name}`, request, headers);

  beforeAll(() => {
    streams = grpcClient(server.ready.eventstore ?? '');
  });
  afterAll(() => streams.close());

  const basic = (password: string): Headers => ({
    authorization: `Basic ${Buffer.from(`flightlog:${password}`).toString('base64')}`,
  });

  it('allows reads with the token of a caller that may read everything, also with the token sent as a password', async () => {
    const reader = await server.as('reader');
    expect((await send('Read', once, reader)).code).toBe('OK');
    expect((await send('Read', once, basic(reader['authorization']?.slice('Bearer '.length) ?? ''))).code).toBe('OK');
  });

  it('refuses calls without a token, and those of callers that lack the permission', async () => {
    const answers = await Promise.all([
      send('Read', once),
      send('Read', once, basic('wrong')),
      send('Read', once, await server.as('elsewhere')),
      send('Append', new Uint8Array(), await server.as('reader')),
      send('BatchAppend', new Uint8Array()),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([
      'UNAUTHENTICATED',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
      'PERMISSION_DENIED',
      'UNAUTHENTICATED',
    ]);
  });

  it('has its appends in the audit, with caller and status, and not its reads', async () => {
    const root = await server.as('root');
    const since = new Date().toISOString();
    await send('Append', new Uint8Array(), root);
    await send('Read', once, root);
    const { entries } = (await get(`/api/v1/audit?since=${since}`, root)).json as { entries: object[] };
    const action = '/event_store.client.streams.Streams/Append';
    expect(entries).toMatchObject([
      {
        ...{ action, principal: 'root', transport: 'eventstoredb', code: 'INVALID_ARGUMENT' },
        issuer: server.issuer.issuer,
      },
    ]);
  });

  it('describes its features without a token, because clients ask before they authenticate', async () => {
    const path = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
    expect((await streams.raw(path, new Uint8Array())).code).toBe('OK');
  });

  it('ends a subscription when its token expires', async () => {
    const soon = await server.as('reader', { exp: Math.floor(Date.now() / 1_000) + 8 });
    const { bytes, ...ended } = await send('Read', readReq({ case: 'subscription', value: empty }), soon);
    expect(bytes.length).toBeGreaterThan(0); // the first answer: the subscription had begun
    expect(ended).toEqual({ code: 'UNAUTHENTICATED', message: 'the credentials have expired' });
  });
});

describe('a stream of engine reports', () => {
  let client: Client;
  beforeAll(() => {
    client = new Client(server.ready.grpc, credentials.createInsecure());
  });
  afterAll(() => client.close());

  const event = (sequence: number, project: string) => ({
    sequence: BigInt(sequence),
    event: {
      case: 'nodeEvent' as const,
      value: nodeReport({ ...PLACE, project }, 'n0', { phase: NodeExecution_Phase.RUNNING }),
    },
  });

  it('needs the permission for the project and domain of each event', async () => {
    const stream = openReport(client, await server.as('elsewhere'));
    stream.send(event(1, 'other'), event(2, 'flytesnacks'));
    const answers = await stream.answered(2);
    stream.call.end();
    expect((await stream.ended).code).toBe('OK');
    const messages = Object.fromEntries(answers.map(({ sequence, status }) => [Number(sequence), status?.message]));
    expect(messages[1]).toContain('missing entity of type execution');
    const path = `/${AdminService.typeName}/CreateNodeEvent`;
    const { event: refused } = event(2, 'flytesnacks');
    const request = toBinary(NodeExecutionEventRequestSchema, create(NodeExecutionEventRequestSchema, refused.value));
    const alone = await grpc.raw(path, request, await server.as('elsewhere'));
    expect([alone.code, alone.message]).toEqual(['PERMISSION_DENIED', messages[2]]);
  });

  it('ends when its token expires', async () => {
    const soon = await server.as('root', { exp: Math.floor(Date.now() / 1_000) + 3 });
    const stream = openReport(client, soon);
    stream.send(event(1, 'other'));
    expect(await stream.answered(1)).toHaveLength(1);
    expect(await stream.ended).toEqual({ code: 'UNAUTHENTICATED', message: 'the token has expired' });
  });
});
