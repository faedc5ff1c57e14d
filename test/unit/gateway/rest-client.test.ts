import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { expect, it, onTestFinished } from 'vitest';
import { ProjectListRequestSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { type RestBody, restClient } from '../../support/clients/rest-client.js';

it.each<RestBody>(['json', 'octets'])(
  'the fields of a request without a body are in its query, also with answers in %s',
  async (body) => {
    const paths: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.setHeader('content-type', body === 'json' ? 'application/json' : 'application/octet-stream');
      response.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const client = restClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const request = create(ProjectListRequestSchema, { limit: 2, filters: 'eq(name,a)' });
    const answer = await client.raw('ListProjects', toBinary(ProjectListRequestSchema, request), { body });
    expect(answer.code).toBe('OK');
    expect(paths).toEqual(['/api/v1/projects?limit=2&filters=eq%28name%2Ca%29']);
  },
);
