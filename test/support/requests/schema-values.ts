import fc from 'fast-check';

/** The subset of JSON Schema that the OpenAPI description uses. */
export type Schema = {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
};

/** The schemas by the name that references use. */
export type Schemas = Readonly<Record<string, Schema>>;

/** Generates values. */
type Values = fc.Arbitrary<unknown>;

/** The depth from which on lists and objects are empty. */
const MAX_DEPTH = 5;

/** Texts: six of nine name existing entities, and the others are texts that no client should send. */
const text: Values = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('flytesnacks', 'development', 'hello.hello', 'hello.greet', 'v1', 'run', 'n0'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      '..',
      'a'.repeat(5_000),
      '{{.x}}',
      '%00',
      'eq(phase,',
      '-1',
      '💥',
      '\u0000',
      '\ud800',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 40, unit: 'binary' }) },
);

/** Texts of a schema, and some that violate its format or pattern. */
const formatted = ({ format, pattern, contentEncoding }: Schema): Values => {
  if (format === 'date-time')
    return fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.constantFrom('yesterday', '9999-12-31T23:59:59.999999999Z', '0000-00-00T00:00:00Z'),
    );
  if (contentEncoding === 'base64') return fc.base64String({ maxLength: 64 });
  return pattern === undefined ? text : fc.oneof(fc.stringMatching(new RegExp(pattern, 'u')), text);
};

/** Integers of a schema, and some that violate its bounds. */
const integer = ({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Schema): Values =>
  fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(0, 1, minimum, maximum, maximum + 1, 1.5));

/** Objects of a schema; empty ones from {@link MAX_DEPTH} on. */
const object = (schema: Schema, schemas: Schemas, depth: number): Values => {
  const properties = Object.entries(schema.properties ?? {});
  const inner = (each: Schema): Values => valuesOf(each, schemas, depth + 1);
  if (depth >= MAX_DEPTH) return fc.constant({});
  const named = fc.record(Object.fromEntries(properties.map(([name, each]) => [name, inner(each)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
  if (schema.additionalProperties === undefined) return named;
  return fc.dictionary(fc.string({ maxLength: 8 }), inner(schema.additionalProperties), {
    maxKeys: 3,
    noNullPrototype: true,
  });
};

/** Values of one of the types that a schema allows. */
const ofType = (type: string, schema: Schema, schemas: Schemas, depth: number): Values => {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integer(schema);
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'array':
      return depth >= MAX_DEPTH
        ? fc.constant([])
        : fc.array(valuesOf(schema.items ?? {}, schemas, depth + 1), { maxLength: 3 });
    case 'object':
      return object(schema, schemas, depth);
    default:
      return formatted(schema);
  }
};

/** Generates values of a schema, and some that violate it slightly: numbers out of bounds, texts that are not times. */
export const valuesOf = (schema: Schema, schemas: Schemas, depth = 0): Values => {
  const { $ref, anyOf, type } = schema;
  if ($ref !== undefined) return valuesOf(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, schemas, depth);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((each) => valuesOf(each, schemas, depth)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum, 'NO_SUCH_VALUE', 9_999);
  const types = typeof type === 'string' ? [type] : (type ?? []);
  return types.length === 0
    ? fc.jsonValue({ maxDepth: 2 })
    : fc.oneof(...types.map((each) => ofType(each, schema, schemas, depth)));
};
