import { create, type DescField, fromBinary, ScalarType, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { type RouteBinding, readBindings } from '../../../services/gateway/rest/bindings.js';
import { routeTable } from '../../../services/gateway/routes.js';
import { statuses } from '../../../services/gateway/status.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';

const OCTETS = 'application/octet-stream';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

/** A valid value for a field in the path, as clients write it. */
const valueFor = (path: readonly DescField[]): string => {
  const field = path.at(-1);
  if (field?.enum) return String(field.enum.values[1]?.number ?? 0);
  return field?.scalar === ScalarType.STRING ? 'any-text' : '1';
};

const urlOf = ({ segments }: RouteBinding): string =>
  plane.server().ready.http +
  segments.map((segment) => (typeof segment === 'string' ? segment : valueFor(segment))).join('/');

const bodyOf = ({ endpoint, hasBody }: RouteBinding, accept: string): RequestInit => {
  if (!hasBody) return {};
  const { input } = endpoint.method;
  if (accept !== OCTETS) return { body: '{}', headers: { 'content-type': 'application/json' } };
  return { body: Buffer.from(toBinary(input, create(input))), headers: { 'content-type': OCTETS } };
};

/** Calls a binding; the body, if it has one, is an empty message: bytes for {@link OCTETS}, JSON otherwise. */
const ask = (binding: RouteBinding, accept: string): Promise<Response> => {
  const { headers, ...rest } = bodyOf(binding, accept);
  return fetch(urlOf(binding), {
    method: binding.verb,
    ...rest,
    headers: { ...(headers as Record<string, string>), accept },
  });
};

/** The status of a refused call. */
type Failed = { readonly code: number; readonly message: string };

/** HTTP statuses by the number of the gRPC status. */
const httpStatusOf = new Map(Object.values(statuses).map(({ number, http }) => [number, http]));
/** The numbers of INTERNAL and UNKNOWN, the statuses of a bug in the server. */
const serverErrors = new Set([13, 2]);

const assertFailed = (response: Response, { code, message }: Failed): void => {
  expect(httpStatusOf.get(code)).toBe(response.status);
  expect(serverErrors.has(code), message).toBe(false);
  expect(message).not.toBe('');
};

/** Answered with Server-Sent Events until the client leaves: history.test.ts and watch.test.ts read them. */
const WITHOUT_END = ['/api/v1/tail', '/api/v1/watch/executions'];

const bindings = readBindings(routeTable([]))
  .filter(({ template }) => !WITHOUT_END.includes(template))
  .map((binding) => ({ binding, called: `${binding.verb} ${binding.template}` }));

describe('every REST call that ends is answered with its message or a status:', () => {
  it.each(bindings)('$called as bytes', async ({ binding }) => {
    const response = await ask(binding, OCTETS);
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(response.headers.get('content-type')).toBe(OCTETS);
    if (response.ok) fromBinary(binding.endpoint.method.output, bytes);
    else assertFailed(response, fromBinary(StatusSchema, bytes));
  });

  it.each(bindings)('$called as JSON in snake_case', async ({ binding }) => {
    const response = await ask(binding, 'application/json');
    const json = (await response.json()) as Failed;
    expect(response.headers.get('content-type')).toBe('application/json');
    const names = binding.endpoint.method.output.fields.map(({ name }) => name);
    if (response.ok) expect(names).toEqual(expect.arrayContaining(Object.keys(json)));
    else assertFailed(response, json);
  });

  it.each(bindings)('$called as JSON in lowerCamelCase', async ({ binding }) => {
    const response = await ask(binding, 'application/json, text/plain, */*'); // as clients in browsers send it
    const json = (await response.json()) as Failed;
    expect(response.headers.get('content-type')).toBe('application/json');
    const names = binding.endpoint.method.output.fields.map(({ jsonName }) => jsonName);
    if (response.ok) expect(names).toEqual(expect.arrayContaining(Object.keys(json)));
    else assertFailed(response, json);
  });

  it.each(bindings)('$called as PATCH gets 501', async ({ binding }) => {
    const response = await fetch(urlOf(binding), { method: 'PATCH' });
    expect(response.status).toBe(501);
  });
});

// A client shows a refusal of these requests in place of the answer to the call that it was asked for.
describe('when no authentication is configured', () => {
  it.each(['/me', '/api/v1/me', '/config/v1/flyte_client', '/.well-known/oauth-authorization-server'])(
    '%s answers 200, with empty fields',
    async (path) => {
      const response = await fetch(plane.server().ready.http + path);
      expect(response.status).toBe(200);
      const json = (await response.json()) as object;
      for (const value of Object.values(json)) expect(['', null, [], {}]).toContainEqual(value);
    },
  );
});
