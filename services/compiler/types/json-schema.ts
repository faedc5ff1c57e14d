import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

type Schema = JsonObject;

const isSchema = (value: JsonValue | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const schemaAt = (schema: Schema, keyword: string): Schema | undefined => {
  const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
  return isSchema(value) ? value : undefined;
};

/** One side of a comparison. References are resolved in the whole document, `root`. */
type Side = { readonly root: Schema; readonly schema: Schema };

/** The longest chain of references; a longer one is taken for a cycle. */
const MAX_REFERENCES = 32;

const referred = (root: Schema, pointer: string): Schema | undefined =>
  pointer
    .split('/')
    .slice(1)
    .reduce<Schema | undefined>(
      (schema, part) => schema && schemaAt(schema, part.replaceAll('~1', '/').replaceAll('~0', '~')),
      root,
    );

const dereferenced = ({ root, schema }: Side): Side => {
  let found = schema;
  for (let step = 0; step < MAX_REFERENCES; step += 1) {
    const pointer = found['$ref'];
    const next = typeof pointer === 'string' && pointer.startsWith('#/') ? referred(root, pointer) : undefined;
    if (next === undefined) break;
    found = next;
  }
  return { root, schema: found };
};

const alternatives = ({ root, schema }: Side): readonly Side[] | undefined => {
  const variants = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(variants) ? variants.filter(isSchema).map((each) => ({ root, schema: each })) : undefined;
};

/** Compares JSON whatever the order of its keys, which clients write in any order. */
const sameJson = (a: JsonValue | undefined, b: JsonValue | undefined): boolean => {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((each, index) => sameJson(each, b[index]));
  if (!isSchema(a) || !isSchema(b)) return Object.is(a, b);
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
};

/** The pairs that have been or are being compared (a schema can refer to itself), and the remaining budget. */
type Seen = { readonly pairs: Map<Schema, Map<Schema, boolean>>; depth: number; left: number };

/** A chain of definitions that refer to each other can be deeper than the nesting of the document. */
const MAX_DEPTH = 200;
const MAX_COMPARISONS = 100_000;

const offersAt = (a: Side, b: Side, keyword: string, seen: Seen): boolean => {
  const inA = schemaAt(a.schema, keyword);
  const inB = schemaAt(b.schema, keyword);
  return !inA || !inB || offers({ root: a.root, schema: inA }, { root: b.root, schema: inB }, seen);
};

const hasProperties = (a: Side, b: Side, seen: Seen): boolean => {
  const properties = schemaAt(a.schema, 'properties') ?? {};
  return Object.entries(schemaAt(b.schema, 'properties') ?? {}).every(([name, wanted]) => {
    const given = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isSchema(given) || !isSchema(wanted)) return sameJson(given, wanted);
    return offers({ root: a.root, schema: given }, { root: b.root, schema: wanted }, seen);
  });
};

const compared = (a: Side, b: Side, seen: Seen): boolean => {
  const fromAny = alternatives(a);
  const toAny = alternatives(b);
  if (fromAny) return fromAny.every((each) => offers(each, b, seen));
  if (toAny) return toAny.some((each) => offers(a, each, seen));
  const { type, enum: values } = b.schema;
  if (type !== undefined && !sameJson(a.schema['type'], type)) return false;
  if (values !== undefined && !sameJson(a.schema['enum'], values)) return false;
  return hasProperties(a, b, seen) && offersAt(a, b, 'items', seen) && offersAt(a, b, 'additionalProperties', seen);
};

const offersNew = (a: Side, b: Side, seen: Seen): boolean => {
  seen.left -= 1;
  if (seen.left < 0 || seen.depth >= MAX_DEPTH) return false;
  seen.depth += 1;
  const result = compared(a, b, seen);
  seen.depth -= 1;
  return result;
};

const offers = (given: Side, wanted: Side, seen: Seen): boolean => {
  const [a, b] = [dereferenced(given), dereferenced(wanted)];
  const known = seen.pairs.get(a.schema)?.get(b.schema);
  if (known !== undefined) return known;
  const results = seen.pairs.get(a.schema) ?? new Map<Schema, boolean>();
  seen.pairs.set(a.schema, results.set(b.schema, true));
  const result = offersNew(a, b, seen);
  results.set(b.schema, result);
  return result;
};

/**
 * True when the schemas are equal, or when a value described by `given` has every field that `wanted` describes, with
 * the same types and enums. Other keywords that restrict values (lengths, ranges, patterns, a ban on additional
 * properties) are ignored. False also for different schemas whose comparison is too deep or too long.
 */
export const offersFieldsOf = (given: Schema, wanted: Schema): boolean =>
  sameJson(given, wanted) ||
  offers(
    { root: given, schema: given },
    { root: wanted, schema: wanted },
    { pairs: new Map(), depth: 0, left: MAX_COMPARISONS },
  );
