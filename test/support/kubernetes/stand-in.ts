import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Change, ObjectTable, Refused, type Stored } from './object-table.js';
import { ADMIN_TOKEN, BRIDGE_TOKEN, BRIDGE_USER, type KubernetesServer } from './server.js';

/**
 * An answer that the stand-in gives in place of the right one: an HTTP status, or none (`stall`); `lost` makes the
 * change and breaks the connection; `empty` is a success without a body.
 */
export type Fault = 410 | 422 | 429 | 500 | 503 | 'stall' | 'lost' | 'empty';

/**
 * A stand-in for a Kubernetes API server: it serves what a bridge uses, with faults on demand. It checks no schema. Of
 * RBAC it knows only cluster roles that a binding names, for every subject. `test/support/kubernetes/real.ts` starts a
 * real one for the same tests.
 */
export interface StandIn extends KubernetesServer {
  /** Answers the next `times` requests of a verb, such as `create` or `watch`, with a fault. */
  fail(verb: string, fault: Fault, times: number): void;
  /** Forgets the faults that no request has met. */
  recover(): void;
  /** Forgets the history of changes and breaks all connections: a watch that resumes gets a 410. */
  expire(): void;
  /** The requests since the start, such as `POST /apis/…`. */
  readonly requests: readonly string[];
}

/** A request. */
type Call = {
  readonly method: string;
  readonly url: URL;
  readonly path: string;
  /** The API group, such as `flyte.lyft.com`; empty for the core group. */
  readonly group: string;
  /** The name of the kind of objects in paths, such as `flyteworkflows`. */
  readonly plural: string;
  /** True when the path names one object. */
  readonly isNamed: boolean;
  /** True when the client wants only the metadata of objects. */
  readonly isBrief: boolean;
  /** True when the client wants only the metadata, and in the form of a list. */
  readonly isBriefList: boolean;
  readonly token: string;
  readonly body: Stored & { readonly preconditions?: { readonly uid?: string } };
};

/** A rule of a cluster role. */
type Rule = { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] };

const PATH =
  /^\/apis?\/(?:(?<group>[^/]+\.[^/]+|apps)\/)?v\w+(?:\/namespaces\/[^/]+(?=\/))?\/(?<plural>[^/]+)(?<name>\/[^/]+)?$/u;
const VERBS: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', DELETE: 'delete' };

/** The verb of a request, as the rules of RBAC name it. */
const verbOf = ({ method, isNamed, url }: Call): string => {
  if (method !== 'GET') return VERBS[method] ?? method;
  if (isNamed) return 'get';
  return url.searchParams.get('watch') === 'true' ? 'watch' : 'list';
};

/** The metadata of an object, as Kubernetes answers them alone. */
const brief = ({ metadata }: Stored): unknown => ({
  apiVersion: 'meta.k8s.io/v1',
  kind: 'PartialObjectMetadata',
  metadata,
});

/** The object, or its metadata if the client wants no more. */
const shown = ({ isBrief }: Call, object: Stored): unknown => (isBrief ? brief(object) : object);

const readBody = async (request: IncomingMessage): Promise<Call['body']> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text || '{}') as Call['body'];
};

/** Reads a request. @throws {Refused} with 404 for a path that the stand-in does not serve. */
const callOf = async (request: IncomingMessage): Promise<Call> => {
  const url = new URL(request.url ?? '/', 'http://stand-in');
  const groups = PATH.exec(url.pathname)?.groups;
  if (!groups) throw new Refused(404, `${url.pathname} is not served`);
  return {
    method: request.method ?? 'GET',
    url,
    path: url.pathname,
    group: groups['group'] ?? '',
    plural: groups['plural'] ?? '',
    isNamed: groups['name'] !== undefined,
    isBrief: (request.headers.accept ?? '').includes('PartialObjectMetadata'),
    isBriefList: (request.headers.accept ?? '').includes('PartialObjectMetadataList'),
    token: (request.headers.authorization ?? '').replace('Bearer ', ''),
    body: await readBody(request),
  };
};

/** Starts a stand-in on a free port. */
export const startStandIn = async (): Promise<StandIn> => {
  const table = new ObjectTable();
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let faults: { readonly verb: string; readonly fault: Fault }[] = [];
  let port = 0;

  /** The rules of all cluster roles that a binding names. */
  const rulesOfBridge = (): readonly Rule[] => {
    const bound = table
      .list((path) => path.includes('/clusterrolebindings/'))
      .map(({ roleRef }) => roleRef as { name: string });
    const roles = table.list((path) => path.includes('/clusterroles/'));
    return roles
      .filter(({ metadata }) => bound.some(({ name }) => name === metadata.name))
      .flatMap(({ rules }) => rules as Rule[]);
  };

  /** @throws {Refused} with 401 for an unknown token, with 403 when no rule allows the request of the bridge. */
  const assertAllowed = (call: Call): void => {
    if (call.token === ADMIN_TOKEN) return;
    if (call.token !== BRIDGE_TOKEN) throw new Refused(401, 'Unauthorized');
    const verb = verbOf(call);
    const isAllowed = rulesOfBridge().some(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.includes(call.group) && resources.includes(call.plural) && verbs.includes(verb),
    );
    if (!isAllowed) throw new Refused(403, `${BRIDGE_USER} cannot ${verb} ${call.plural}.${call.group}`);
  };

  /** @throws {Refused} with 404 for a custom kind that is not defined, or a new object in a missing namespace. */
  const assertServed = ({ group, plural, path, method }: Call): void => {
    if (group === 'flyte.lyft.com' && table.list((each) => each.endsWith(`/${plural}.${group}`)).length === 0)
      throw new Refused(404, 'the server could not find the requested resource');
    const name = /\/namespaces\/([^/]+)\//u.exec(path)?.[1];
    if (method === 'POST' && name !== undefined && !table.has(`/api/v1/namespaces/${name}`))
      throw new Refused(404, `namespaces "${name}" not found`);
  };

  /** Selects the objects of a list or a watch: those of the kind, in the namespace, with the label. */
  const isWanted = ({ path, plural, url }: Call) => {
    const [label = '', value] = (url.searchParams.get('labelSelector') ?? '').split('=');
    const [before = ''] = path.split(`/${plural}`);
    return (each: string, { metadata }: Stored): boolean =>
      each.startsWith(before) && each.includes(`/${plural}/`) && (label === '' || metadata.labels?.[label] === value);
  };

  /** Sends the changes after the version that the client has, and then those that come, until the client's timeout. */
  const watch = (call: Call, response: ServerResponse): void => {
    const send = (type: string, object: unknown): void => void response.write(`${JSON.stringify({ type, object })}\n`);
    const wanted = isWanted(call);
    const notify = ({ type, path, object }: Change): void => {
      if (wanted(path, object)) send(type, shown(call, object));
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    const missed = table.since(call.url.searchParams.get('resourceVersion') ?? '0');
    if (missed === undefined) {
      send('ERROR', { kind: 'Status', code: 410, message: 'too old resource version' });
      response.end();
      return;
    }
    missed.forEach(notify);
    table.onChange.add(notify);
    const seconds = Number(call.url.searchParams.get('timeoutSeconds') ?? 60);
    const timer = setTimeout(() => {
      send('BOOKMARK', { metadata: { resourceVersion: table.version } });
      response.end();
    }, seconds * 1_000);
    response.on('close', () => {
      clearTimeout(timer);
      table.onChange.delete(notify);
    });
    response.flushHeaders();
  };

  /** The page of a list that the client asks for; without items it has `null`, as Kubernetes may answer. */
  const listOf = (call: Call): unknown => {
    if (call.isBrief && !call.isBriefList) throw new Refused(406, 'the requested object is a list');
    const all = table.list(isWanted(call));
    const limit = Number(call.url.searchParams.get('limit') ?? 500);
    const from = Number(call.url.searchParams.get('continue') ?? 0);
    const items = all.slice(from, from + limit).map((each) => shown(call, each));
    const next = from + limit < all.length ? { continue: String(from + limit) } : {};
    return {
      kind: 'List',
      metadata: { resourceVersion: table.version, ...next },
      items: items.length === 0 ? null : items,
    };
  };

  /** Makes the change that a request asks for, or reads; returns the object or the list. */
  const carriedOut = (call: Call): unknown => {
    switch (call.method) {
      case 'POST': {
        const namespaceName = /\/namespaces\/([^/]+)\//u.exec(call.path)?.[1];
        const metadata = { ...call.body.metadata, ...(namespaceName !== undefined && { namespace: namespaceName }) };
        return table.create(`${call.path}/${metadata.name}`, { ...call.body, metadata });
      }
      case 'PATCH':
        return table.patch(call.path, call.body);
      case 'DELETE':
        return table.delete(call.path, call.body.preconditions?.uid);
      default:
        return call.isNamed ? shown(call, table.get(call.path)) : listOf(call);
    }
  };

  const refuse = (response: ServerResponse, code: number, message: string): void => {
    response.writeHead(code, { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) });
    response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, message }));
  };

  /** Removes and returns the next fault for a verb. */
  const takeFault = (verb: string): Fault | undefined => {
    const found = faults.find((each) => each.verb === verb);
    faults = faults.filter((each) => each !== found);
    return found?.fault;
  };

  const answer = (call: Call, response: ServerResponse): void => {
    assertAllowed(call);
    assertServed(call);
    const verb = verbOf(call);
    const fault = takeFault(verb);
    if (fault === 'stall') return;
    if (typeof fault === 'number') throw new Refused(fault, 'a fault of the test');
    if (fault === 'empty') {
      response.end();
      return;
    }
    if (verb === 'watch') {
      watch(call, response);
      return;
    }
    const result = JSON.stringify(carriedOut(call));
    if (fault === 'lost') {
      response.destroy();
      return;
    }
    response.writeHead(call.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
    response.end(result);
  };

  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    callOf(request)
      .then((call) => answer(call, response))
      .catch((error: unknown) => refuse(response, error instanceof Refused ? error.code : 500, String(error)));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  const start = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  };
  const kill = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    start,
    kill,
    close: kill,
    requests,
    fail: (verb, fault, times) => void faults.push(...Array.from({ length: times }, () => ({ verb, fault }))),
    recover: () => void (faults = []),
    expire: () => {
      table.forget();
      for (const socket of sockets) socket.destroy();
    },
  };
};
