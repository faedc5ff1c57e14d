import { Readable } from 'node:stream';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import type { FollowRoute } from '../../../services/kernel/rpc.js';
import { readBindings } from '../../../services/gateway/rest/bindings.js';
import { routeTable } from '../../../services/gateway/routes.js';
import { overHttp } from './toy.js';

type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Record<string, unknown>[];
  readonly requestBody?: object;
};
type Document = {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly responses: { readonly Error: { readonly content: Readonly<Record<string, unknown>> } };
    readonly schemas: Readonly<Record<string, Record<string, unknown>>>;
  };
  readonly tags: readonly { readonly name: string }[];
};

let toy: Awaited<ReturnType<typeof overHttp>>;
let document: Document;
beforeAll(async () => {
  toy = await overHttp([], [], { version: '1.2.3' });
  document = (await (await toy.get('/openapi.json')).json()) as Document;
});
afterAll(() => toy.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
  );

const references = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
  );
};

const shapeOf = (template: string): string => template.replace(/\{[^}]*\}/g, '{}');

describe('the OpenAPI document', () => {
  it('is of OpenAPI 3.1 and of this release', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } });
  });

  it('has every binding, with each parameter of its path', () => {
    const found = new Map(operations().map((each) => [`${each.verb} ${shapeOf(each.path)}`, each]));
    for (const { verb, template, segments, endpoint, hasBody } of readBindings(routeTable([]))) {
      const each = found.get(`${verb.toLowerCase()} ${shapeOf(template)}`);
      expect(each?.operation.operationId, template).toContain(endpoint.method.name);
      const inPath = each?.operation.parameters?.filter((parameter) => parameter['in'] === 'path') ?? [];
      expect(inPath).toHaveLength(segments.filter((segment) => typeof segment !== 'string').length);
      for (const { name } of inPath) expect(each?.path).toContain(`{${String(name)}}`);
      expect(new Set(inPath.map(({ name }) => name)).size, template).toBe(inPath.length);
      expect(each?.operation.requestBody !== undefined, template).toBe(hasBody);
    }
  });

  it('has no two paths that differ in the names of their parameters alone', () => {
    const shapes = Object.keys(document.paths).map(shapeOf);
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('names each operation once, with a summary, and with tags that the document lists', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = new Set(document.tags.map(({ name }) => name));
    for (const { operation } of operations()) {
      expect(operation.summary, operation.operationId).toMatch(/./u);
      expect(operation.tags, operation.operationId).not.toHaveLength(0);
      expect(operation.tags.every((tag) => tags.has(tag))).toBe(true);
    }
  });

  it('says which operations the server does not have', async () => {
    const follow: FollowRoute = {
      method: EventLogService.method.tail,
      takes: 'follow',
      follow: () => Readable.from([]),
    };
    const built = await overHttp([follow]);
    const { paths } = (await (await built.get('/openapi.json')).json()) as Document;
    await built.close();
    const unimplemented = 'Answers UNIMPLEMENTED in this release.';
    expect(paths['/api/v1/tail']?.['get']?.description).not.toContain(unimplemented);
    expect(paths['/api/v1/projects']?.['get']?.description).toContain(unimplemented);
  });

  it('refers to nothing that it does not have', () => {
    for (const reference of new Set(references(document))) {
      const target = reference
        .split('/')
        .slice(1)
        .reduce<unknown>((within, key) => (within as Record<string, unknown> | undefined)?.[key], document);
      expect(target, reference).toBeDefined();
    }
  });

  it('has failures as JSON and as bytes', () => {
    const { Error: failure } = document.components.responses;
    expect(Object.keys(failure.content)).toEqual(['application/json', 'application/octet-stream']);
  });

  it('has the parameters in the query of a list, without those of its path', () => {
    const list = document.paths['/api/v1/executions/{project}/{domain}']?.['get'];
    const names = list?.parameters?.filter((parameter) => parameter['in'] === 'query').map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['limit', 'token', 'filters', 'sort_by.key', 'sort_by.direction']));
    expect(names).not.toContain('id.project');
  });

  it('has the comments of the proto files', () => {
    expect(document.components.schemas['admin.AbortMetadata']).toMatchObject({
      description: 'The cause with which an execution was ended, and the principal that ended it.',
      properties: { principal: { description: 'Empty where there is no authentication.' } },
    });
  });
});

describe('a page', () => {
  it.each(['/openapi', '/docs'])('of the interface is at %s, and loads nothing from another server', async (path) => {
    const answer = await toy.get(path);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    const html = await answer.text();
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    for (const [, file = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
      const { status, headers } = await toy.get(`/${file}`);
      expect({ file, status, type: headers.get('content-type') }).toMatchObject({
        status: 200,
        type: expect.stringMatching(/^text\/(?:css|javascript); charset=utf-8$/) as string,
      });
    }
  });

  it.each(['/openapi', '/openapi.json', '/console', '/'])(
    'at %s is answered to HEAD as to GET, without the body',
    async (path) => {
      const [got, headed] = await Promise.all([toy.get(path), toy.send('HEAD', path)]);
      expect({ status: headed.status, body: await headed.text() }).toEqual({ status: got.status, body: '' });
      expect(headed.headers.get('content-type')).toBe(got.headers.get('content-type'));
    },
  );
});
