import type { DescField, DescMessage } from '@bufbuild/protobuf';

import { comments } from '../../../proto/gen/comments.js';
import { parameterExamples, requestExamples } from './examples.js';
import type { OpenApiSchema, Schemas } from './schemas.js';
import type { RouteBinding } from '../rest/bindings.js';
import { isBuilt } from '../routes.js';

const BINARY = { type: 'string', contentMediaType: 'application/octet-stream' };

// The longest field path that is listed as a query parameter, in names. The only fields of the interface that are
// deeper, and not in the path, are `org` in ids of executions: reads do not use it.
const MAX_QUERY_DEPTH = 3;

const nameOf = (path: readonly DescField[]): string => path.map(({ name }) => name).join('.');

const commentOf = (path: readonly DescField[]): string | undefined => {
  const field = path.at(-1);
  return field && comments[`${field.parent.typeName}.${field.name}`];
};

const described = (text: string | undefined): OpenApiSchema => (text === undefined ? {} : { description: text });

/** True for messages whose JSON form is one text, number or boolean, so that a query parameter can give them. */
const isOneValue = ({ typeName }: DescMessage): boolean =>
  /^google\.protobuf\.(Timestamp|Duration|FieldMask|(?!List)\w+Value)$/.test(typeName);

const queryParameter = (path: readonly DescField[], schemas: Schemas): OpenApiSchema | undefined => {
  const field = path.at(-1);
  if (!field || (field.message && !isOneValue(field.message))) return undefined;
  const value = schemas.ofValue(field);
  const parameter = { name: nameOf(path), in: 'query', ...described(commentOf(path)) };
  if (field.fieldKind === 'list') return { ...parameter, schema: { type: 'array', items: value }, explode: true };
  if (field.fieldKind === 'map')
    return { ...parameter, style: 'deepObject', schema: { type: 'object', additionalProperties: value } };
  return { ...parameter, schema: value };
};

const queryParameters = (
  message: DescMessage,
  { path, bound, schemas }: { path: readonly DescField[]; bound: ReadonlySet<string>; schemas: Schemas },
): OpenApiSchema[] =>
  message.fields.flatMap((field): OpenApiSchema[] => {
    const at = [...path, field];
    if (bound.has(nameOf(at))) return [];
    const inner = field.fieldKind === 'message' && !isOneValue(field.message) ? field.message : undefined;
    if (inner) return at.length < MAX_QUERY_DEPTH ? queryParameters(inner, { path: at, bound, schemas }) : [];
    const parameter = queryParameter(at, schemas);
    return parameter ? [parameter] : [];
  });

/** Lists the request fields in a path, in their order. */
const pathFields = ({ segments }: RouteBinding): readonly (readonly DescField[])[] =>
  segments.filter((segment): segment is readonly DescField[] => typeof segment !== 'string');

const pathParameters = (binding: RouteBinding, names: readonly string[], schemas: Schemas): OpenApiSchema[] =>
  pathFields(binding).map((path, at) => {
    const field = path.at(-1);
    const schema = field ? schemas.ofValue(field) : {};
    const name = names[at] ?? nameOf(path);
    const alias = name === nameOf(path) ? undefined : `\`${nameOf(path)}\` of the request.`;
    const text = [commentOf(path), alias].filter((each) => each !== undefined).join(' ');
    const example = parameterExamples[name];
    return {
      name,
      in: 'path',
      required: true,
      schema,
      ...described(text === '' ? undefined : text),
      ...(example !== undefined && { example }),
    };
  });

/** Lists the media types of a body: JSON, with an example when there is one, and protobuf bytes. */
export const content = (schema: OpenApiSchema, example?: unknown): OpenApiSchema => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
  'application/octet-stream': { schema: BINARY },
});

const firstSentence = (text: string): string => text.split(/(?<=\.)\s/, 1)[0]?.replace(/\.$/, '') ?? '';

const textsOf = ({ endpoint }: RouteBinding): OpenApiSchema => {
  const { method } = endpoint;
  const comment = comments[`${method.parent.typeName}.${method.name}`] ?? '';
  const unserved = isBuilt(endpoint) ? '' : 'Answers UNIMPLEMENTED in this release.';
  return {
    summary: comment === '' ? method.name : firstSentence(comment),
    description: [comment, `\`${method.parent.typeName}/${method.name}\` over gRPC.`, unserved]
      .filter(Boolean)
      .join('\n\n'),
  };
};

const headersOf = ({ verb }: RouteBinding): readonly OpenApiSchema[] =>
  [verb === 'GET' ? 'minPosition' : 'idempotencyKey', 'requestId'].map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));

/**
 * Describes one binding as an OpenAPI operation.
 *
 * @param names the names of the path parameters in the document, in order; several bindings may share them.
 */
export const operationOf = (
  binding: RouteBinding,
  { names, operationId, schemas }: { names: readonly string[]; operationId: string; schemas: Schemas },
): OpenApiSchema => {
  const { method } = binding.endpoint;
  const bound = new Set(pathFields(binding).map(nameOf));
  const query = binding.hasBody ? [] : queryParameters(method.input, { path: [], bound, schemas });
  return {
    operationId,
    tags: [method.parent.name],
    ...textsOf(binding),
    parameters: [...pathParameters(binding, names, schemas), ...query, ...headersOf(binding)],
    ...(binding.hasBody && {
      requestBody: { content: content(schemas.ofMessage(method.input), requestExamples[method.name]) },
    }),
    responses: {
      200: {
        description: comments[method.output.typeName] ?? 'Done.',
        headers: {
          'flightlog-position': { $ref: '#/components/headers/position' },
          'flightlog-request-id': { $ref: '#/components/headers/requestId' },
          'flightlog-unread': { $ref: '#/components/headers/unread' },
          'flightlog-ignored': { $ref: '#/components/headers/ignored' },
        },
        content: content(schemas.ofMessage(method.output)),
      },
      default: { $ref: '#/components/responses/Error' },
    },
  };
};
