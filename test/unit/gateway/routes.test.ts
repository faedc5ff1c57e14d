import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { create, type DescService } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { HealthCheckResponseSchema, Health } from '../../../proto/gen/grpc/health/v1/health_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { bindingTable, readBindings } from '../../../services/gateway/rest/bindings.js';
import { type Endpoint, routeTable, unimplemented } from '../../../services/gateway/routes.js';
import { route } from '../../../services/kernel/rpc.js';

const getTask = route(AdminService.method.getTask, () => Promise.resolve(create(TaskSchema)));

const GENERATED = join(import.meta.dirname, '../../../proto/gen/platformidl');

/** The names of all services in the generated code. */
const generatedServices = async (): Promise<ReadonlySet<string>> => {
  const files = readdirSync(GENERATED, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('_pb.js'));
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(GENERATED, file)).href)));
  const values = modules.flatMap((module: object) => Object.values(module) as readonly Partial<DescService>[]);
  return new Set(
    values.flatMap(({ kind, typeName }) => (kind === 'service' && typeName !== undefined ? [typeName] : [])),
  );
};

describe('the table of routes', () => {
  it('has every RPC of every service, with its route when there is one', async () => {
    const table = routeTable([getTask]);
    expect(new Set(table.map(({ method }) => method.parent.typeName))).toEqual(await generatedServices());
    expect(new Set(table.map(({ method }) => method)).size).toBe(table.length);
    expect(table.filter((endpoint) => endpoint.route).map(({ name }) => name)).toEqual(['AdminService.GetTask']);
  });

  it('refuses a second route for an RPC', () => {
    expect(() => routeTable([getTask, getTask])).toThrow('AdminService.GetTask has two routes');
  });

  it('refuses a route for an RPC of another interface', () => {
    const check = route(Health.method.check, () => Promise.resolve(create(HealthCheckResponseSchema)));
    expect(() => routeTable([check])).toThrow('Health.Check is not an RPC of the interface');
  });

  it('has an UNIMPLEMENTED error for an RPC without a route', () => {
    const [endpoint] = routeTable([]);
    expect(unimplemented(endpoint!)).toMatchObject({ code: 'UNIMPLEMENTED', message: expect.any(String) as string });
  });
});

describe('the HTTP bindings', () => {
  const bindings = readBindings(routeTable([]));

  const nameOf = ({ endpoint }: { readonly endpoint: Endpoint }): string => endpoint.name;
  /** Streams whose client reads answers before it sends its next message, which one HTTP request cannot do. */
  const overGrpcAlone = ['EngineService.Work', 'EngineService.Report'];

  it('are there for every RPC but the streams of engines', () => {
    const all = routeTable([]).map(({ name }) => name);
    const bound = new Set(bindings.map(nameOf));
    expect(all.filter((name) => !bound.has(name))).toEqual(overGrpcAlone);
  });

  it('give each RPC that has a binding a path under /api/v1/', () => {
    const under = bindings.filter(({ template }) => template.startsWith('/api/v1/'));
    expect(new Set(under.map(nameOf))).toEqual(new Set(bindings.map(nameOf)));
  });

  it('are found by their path and method', () => {
    const table = bindingTable(bindings);
    for (const { template, verb, endpoint } of bindings) {
      const found = table.find(template.replace(/\{[\w.]+\}/g, 'x')).filter(({ binding }) => binding.verb === verb);
      expect(found[0]?.binding.endpoint.name, template).toBe(endpoint.name);
    }
  });
});
