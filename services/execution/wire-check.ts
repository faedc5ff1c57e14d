import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

import {
  type Cursor,
  checkText,
  DELIMITED,
  FIXED32,
  FIXED64,
  Malformed,
  readLength,
  readTag,
  skipValue,
  VARINT,
} from './wire.js';

/** Messages nested deeper than this are refused, as decoders do. */
const MAX_DEPTH = 100;

type Kind = 'scalar' | 'packed' | 'string' | 'bytes' | 'message' | 'map';

type FieldRule = {
  readonly name: string;
  /** How one value stands on the wire. */
  readonly wireType: number;
  readonly kind: Kind;
  readonly message: MessageRule | undefined;
};

/** What may stand in a message: its fields by number. */
type MessageRule = { readonly fields: (FieldRule | undefined)[] };

const WIRE_TYPES: Readonly<Partial<Record<ScalarType, number>>> = {
  [ScalarType.DOUBLE]: FIXED64,
  [ScalarType.FIXED64]: FIXED64,
  [ScalarType.SFIXED64]: FIXED64,
  [ScalarType.FLOAT]: FIXED32,
  [ScalarType.FIXED32]: FIXED32,
  [ScalarType.SFIXED32]: FIXED32,
  [ScalarType.STRING]: DELIMITED,
  [ScalarType.BYTES]: DELIMITED,
};

const scalarRule = (name: string, scalar: ScalarType | undefined, isList: boolean): FieldRule => {
  const wireType = scalar === undefined ? VARINT : (WIRE_TYPES[scalar] ?? VARINT);
  if (scalar === ScalarType.STRING) return { name, wireType, kind: 'string', message: undefined };
  if (scalar === ScalarType.BYTES) return { name, wireType, kind: 'bytes', message: undefined };
  return { name, wireType, kind: isList ? 'packed' : 'scalar', message: undefined };
};

const messageRule = (name: string, message: MessageRule, kind: 'message' | 'map' = 'message'): FieldRule => ({
  name,
  wireType: DELIMITED,
  kind,
  message,
});

const rules = new Map<DescMessage, MessageRule>();

const ruleOfField = (field: DescField): FieldRule => {
  if (field.fieldKind === 'map') {
    const value =
      field.mapKind === 'message'
        ? messageRule('value', ruleOf(field.message))
        : scalarRule('value', field.scalar, false);
    return messageRule(field.name, { fields: [undefined, scalarRule('key', field.mapKey, false), value] }, 'map');
  }
  if (field.message !== undefined) return messageRule(field.name, ruleOf(field.message));
  return scalarRule(field.name, field.scalar, field.fieldKind === 'list');
};

/** The rule of a message, made once; messages may contain themselves. */
const ruleOf = (schema: DescMessage): MessageRule => {
  const known = rules.get(schema);
  if (known !== undefined) return known;
  const rule: MessageRule = { fields: [] };
  rules.set(schema, rule);
  const last = Math.max(0, ...schema.fields.map(({ number }) => number));
  rule.fields.push(...Array.from({ length: last + 1 }, () => undefined));
  for (const field of schema.fields) rule.fields[field.number] = ruleOfField(field);
  return rule;
};

/** The fields on the way to where the check stands. */
type Check = Cursor & { readonly path: string[] };

const checkPacked = (check: Check, end: number, wireType: number): void => {
  while (check.pos < end) skipValue(check, end, wireType, 0);
};

const checkValue = (check: Check, rule: FieldRule, end: number, depth: number): void => {
  if (rule.wireType !== DELIMITED) {
    skipValue(check, end, rule.wireType, 0);
    return;
  }
  const valueEnd = readLength(check, end);
  // A map's entries count as part of the message that has the map.
  if (rule.message !== undefined) checkMessage(check, rule.message, valueEnd, rule.kind === 'map' ? depth : depth + 1);
  else if (rule.kind === 'string') checkText(check.bytes, check.pos, valueEnd);
  check.pos = valueEnd;
};

const checkField = (check: Check, rule: FieldRule, end: number, depth: number): void => {
  check.path.push(rule.name);
  checkValue(check, rule, end, depth);
  check.path.pop();
};

const checkMismatch = (check: Check, rule: FieldRule, wireType: number, end: number): void => {
  check.path.push(rule.name);
  if (rule.kind !== 'packed' || wireType !== DELIMITED) throw new Malformed('wrong wire type', check.pos);
  checkPacked(check, readLength(check, end), rule.wireType);
  check.path.pop();
};

const checkMessage = (check: Check, { fields }: MessageRule, end: number, depth: number): void => {
  if (depth > MAX_DEPTH) throw new Malformed(`nested more than ${MAX_DEPTH} deep`, check.pos);
  while (check.pos < end) {
    const tag = readTag(check, end);
    const rule = fields[tag >>> 3];
    if (rule === undefined) skipValue(check, end, tag, MAX_DEPTH - depth);
    else if (rule.wireType === (tag & 7)) checkField(check, rule, end, depth);
    else checkMismatch(check, rule, tag & 7, end);
  }
};

/**
 * Makes a check whether bytes are a message of a schema: lengths, wire types, UTF-8 and depth, all the way down,
 * without building anything. What passes can be decoded at any time.
 *
 * @returns a check that answers what is wrong and where; `undefined` for a good message.
 */
export const wireCheck = (schema: DescMessage, root: string): ((bytes: Uint8Array) => string | undefined) => {
  const rule = ruleOf(schema);
  return (bytes) => {
    const check: Check = { bytes, pos: 0, path: [root] };
    try {
      checkMessage(check, rule, bytes.length, 1);
      return undefined;
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return `${check.path.join('.')}: ${error.message} at byte ${error.at}`;
    }
  };
};
