import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { comments } from '../../../proto/gen/comments.js';
import { content, operationOf } from './operations.js';
import { gatherSchemas, type OpenApiSchema, type Schemas } from './schemas.js';
import type { RouteBinding } from '../rest/bindings.js';
import type { RouteTable } from '../routes.js';
import { statuses } from '../status.js';

const statusTable = Object.entries(statuses).map(([code, { number, http }]) => `| ${code} | ${number} | ${http} |`);

const DESCRIPTION = `The RPCs of the interface over HTTP, without the streams that engines keep open. All RPCs are served over gRPC.

JSON answers are spelled in snake_case for \`Accept: application/json\`, exactly so, and for a request under
\`Content-Type: application/json\`; in lowerCamelCase for anything else. Requests may use either. With
\`application/octet-stream\` as \`Content-Type\` or \`Accept\`, messages are protobuf bytes. A request
under \`Content-Type: application/json\` is refused for names that its message does not have.

Outputs that an event carried inline are in the answers of Get, not in lists; inputs and outputs without a URI are
read by the calls for data, such as GetNodeExecutionData. A filter on \`duration\` finds only elements that have a duration.

A failure is a \`google.rpc.Status\`, whose details are named under \`platformidl\`:

| status | code | HTTP |
| --- | --- | --- |
${statusTable.join('\n')}`;

const SECURITY = `An access token; not needed on a server that was started with \`insecure\`.`;

const parameters: Readonly<Record<string, OpenApiSchema>> = {
  minPosition: {
    name: 'flightlog-min-position',
    in: 'header',
    description:
      'A position from an earlier answer: a read of views or of recorded attributes includes at least that position, or fails.',
    schema: { type: 'string' },
  },
  idempotencyKey: {
    name: 'idempotency-key',
    in: 'header',
    description: 'A change that is sent again with the same key is recorded once, and answered as the first time.',
    schema: { type: 'string' },
  },
  requestId: {
    name: 'x-request-id',
    in: 'header',
    description: 'The id of the request in the logs.',
    schema: { type: 'string' },
  },
};

const shapeOf = (template: string): string => template.replace(/\{[^}]*\}/g, '{}');

const namesIn = (template: string): string[] =>
  [...template.matchAll(/\{([^}=]*)[^}]*\}/g)].map(([, name = '']) => name);

/** Names a parameter by the last name of its field path, prefixed by its parent where ambiguous: `task_project`. */
const parameterName = (path: string, all: readonly string[]): string => {
  const [last = '', parent = ''] = path.split('.').reverse();
  const isAlone = all.filter((other) => other.split('.').at(-1) === last).length === 1;
  return isAlone ? last : `${parent.replace(/_id$/, '')}_${last}`;
};

/** Writes a template with short parameter names: many client generators and test tools misread names with dots. */
const spelled = (template: string): string => {
  const all = namesIn(template);
  return template.replace(/\{([^}=]*)[^}]*\}/g, (_, path: string) => `{${parameterName(path, all)}}`);
};

/** Merges paths that differ only in parameter names, as OpenAPI requires; the first binding gives the names. */
const templatesOf = (bindings: readonly RouteBinding[]): ReadonlyMap<string, string> => {
  const templates = new Map<string, string>();
  for (const { template } of bindings) {
    const shape = shapeOf(template);
    if (!templates.has(shape)) templates.set(shape, spelled(template));
  }
  return templates;
};

const probe = (summary: string): OpenApiSchema => ({
  get: {
    summary,
    operationId: summary.replace(/\W+/g, '_'),
    tags: ['Probes'],
    responses: { 200: { description: 'Yes.' } },
  },
});

const readiness: OpenApiSchema = {
  get: {
    summary: 'Is the server ready for calls',
    operationId: 'readyz',
    tags: ['Probes'],
    responses: { 200: { description: 'Yes.' }, 503: { description: 'No; `checks` says what is down.' } },
  },
};

const pathsOf = (
  bindings: readonly RouteBinding[],
  schemas: Schemas,
): Record<string, Record<string, OpenApiSchema>> => {
  const templates = templatesOf(bindings);
  const paths: Record<string, Record<string, OpenApiSchema>> = {};
  const methods = [...new Set(bindings.map(({ endpoint }) => endpoint.method))];
  const isOnly = ({ name }: { readonly name: string }): boolean =>
    methods.filter((method) => method.name === name).length === 1;
  const used = new Map<string, number>();
  for (const binding of bindings) {
    const { method } = binding.endpoint;
    const template = templates.get(shapeOf(binding.template)) ?? spelled(binding.template);
    const count = (used.get(binding.endpoint.name) ?? 0) + 1;
    used.set(binding.endpoint.name, count);
    const operationId = `${isOnly(method) ? '' : `${method.parent.name}_`}${method.name}${count === 1 ? '' : `_${count}`}`;
    const operations = (paths[template] ??= {});
    operations[binding.verb.toLowerCase()] ??= operationOf(binding, { names: namesIn(template), operationId, schemas });
  }
  return paths;
};

const tagsOf = (routes: RouteTable, bindings: readonly RouteBinding[]): OpenApiSchema[] => {
  const shown = new Set(bindings.map(({ endpoint }) => endpoint.method.parent));
  const services = new Set(routes.map(({ method }) => method.parent).filter((service) => shown.has(service)));
  const tags = [...services].map(({ name, typeName }) => ({ name, description: comments[typeName] ?? typeName }));
  return [...tags, { name: 'Probes', description: 'The health checks for load balancers.' }];
};

/** Builds the OpenAPI 3.1 document of all HTTP bindings from the descriptors and the comments of the proto files. */
export const openApi = (routes: RouteTable, bindings: readonly RouteBinding[], version: string): OpenApiSchema => {
  const schemas = gatherSchemas();
  const error = schemas.ofMessage(StatusSchema);
  const paths = pathsOf(bindings, schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'flightlog',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: tagsOf(routes, bindings),
    security: [{}, { bearer: [] }],
    paths: { ...paths, '/healthcheck': probe('healthcheck'), '/healthz': probe('healthz'), '/readyz': readiness },
    components: {
      schemas: schemas.all(),
      parameters,
      headers: {
        position: { description: 'The position in the log that the answer is based on.', schema: { type: 'string' } },
        requestId: {
          description:
            'The id of the request, as its events, the log of the server and the audit have it: `x-request-id` as it reached the server, or a new one.',
          schema: { type: 'string' },
        },
        ignored: {
          description:
            'Names of query parameters that changed nothing: unknown ones, those that the path gives, and all of them where the request has a body.',
          schema: { type: 'string' },
        },
        unread: {
          description:
            'Fields that are unset because what they hold could not be read, and why: `full_inputs=FAULT, …`.',
          schema: { type: 'string' },
        },
      },
      responses: {
        Error: {
          description: 'The call has failed.',
          headers: { 'flightlog-request-id': { $ref: '#/components/headers/requestId' } },
          content: content(error),
        },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: SECURITY } },
    },
  };
};
