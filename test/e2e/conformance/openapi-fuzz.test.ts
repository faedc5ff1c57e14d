import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { counted } from '../../support/runner/cases.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { type Schema, type Schemas, valuesOf } from '../../support/requests/schema-values.js';
import { readBindings } from '../../../services/gateway/rest/bindings.js';
import { routeTable } from '../../../services/gateway/routes.js';

type Parameter = { readonly name: string; readonly in: 'path' | 'query'; readonly schema: Schema };
type Operation = {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
};
/** The OpenAPI document: operations by path and verb, such as `get`, and the schemas that they refer to. */
type Description = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
};

/** The number of random requests to each operation. */
const REQUESTS = 12;
const JSON_BODY = 'application/json';

let plane: ControlPlane;
let description: Description;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, 'run');
  description = (await (await fetch(`${plane.server().ready.http}/openapi.json`)).json()) as Description;
});
afterAll(() => plane.close());

const operation = (path: string, verb: string): Operation => description.paths[path]![verb]!;

/** A request with random values: the path with its query, and the arguments of `fetch`. */
type RandomRequest = { readonly path: string; readonly init: RequestInit };

/** Encodes a value for a URL; a lone surrogate, which is not valid text, is replaced. */
const encoded = (value: unknown): string => encodeURIComponent(Buffer.from(String(value)).toString());

/** Encodes a value for a segment of a path; replaces the values '', `.` and `..`, which make it another path. */
const inPath = (value: unknown): string => (/^\.{0,2}$/u.test(String(value)) ? 'x' : encoded(value));

/** Draws requests to an operation from its parameters and the schema of its body. */
const requestsTo = (path: string, verb: string): fc.Arbitrary<RandomRequest> => {
  const { parameters = [], requestBody } = operation(path, verb);
  const { schemas } = description.components;
  const named = parameters.flatMap((each) => ('name' in each ? [each] : []));
  const values = fc.record(Object.fromEntries(named.map(({ name, schema }) => [name, valuesOf(schema, schemas)])));
  const inQuery = fc.subarray(named.filter((each) => each.in === 'query'));
  const schema = requestBody?.content[JSON_BODY]?.schema;
  const body = schema === undefined ? fc.constant(undefined) : valuesOf(schema, schemas);
  return fc.tuple(values, inQuery, body).map(([valueOf, query, sent]) => ({
    path:
      path.replaceAll(/\{([^}]+)\}/gu, (_, name: string) => inPath(valueOf[name])) +
      `?${query.map(({ name }) => `${name}=${encoded(valueOf[name])}`).join('&')}`,
    init: {
      method: verb.toUpperCase(),
      ...(sent !== undefined && { body: JSON.stringify(sent), headers: { 'content-type': JSON_BODY } }),
    },
  }));
};

const operations = (): readonly (readonly [string, string])[] =>
  Object.entries(description.paths).flatMap(([path, verbs]) => Object.keys(verbs).map((verb) => [path, verb] as const));

/** Receives an answer; a stream of server-sent events, which may have no end, is cancelled instead. */
const received = async (response: Response): Promise<unknown> =>
  response.headers.get('content-type')?.startsWith('text/event-stream') === true
    ? response.body?.cancel()
    : response.arrayBuffer();

describe('the description at /openapi.json', () => {
  it('has at least as many operations as there are HTTP bindings of RPCs', () => {
    expect(operations().length).toBeGreaterThanOrEqual(readBindings(routeTable([])).length);
  });

  it('gives requests that are answered without a fault of the server, or with 501 for agents', async (context) => {
    const { http } = plane.server().ready;
    const unserved = new Set<string>();
    for (const [path, verb] of operations()) {
      const property = fc.asyncProperty(requestsTo(path, verb), async (request) => {
        const response = await fetch(http + request.path, request.init);
        await received(response);
        if (response.status === 501) unserved.add(path);
        else expect(response.status, `${verb} ${request.path}`).toBeLessThan(500);
      });
      await fc.assert(property, { numRuns: REQUESTS });
    }
    expect([...unserved].filter((path) => !path.startsWith('/api/v1/agent'))).toEqual([]);
    counted(context, operations().length * REQUESTS);
  });
});
