import { toJson } from '@bufbuild/protobuf';
import { decode } from '@msgpack/msgpack';
import { StructSchema, timestampDate } from '@bufbuild/protobuf/wkt';

import type { Literal, Primitive, Scalar } from '../../proto/gen/platformidl/core/literals_pb.js';
import { textOfDuration } from './duration-text.js';

const ofPrimitive = ({ value }: Primitive): unknown => {
  switch (value.case) {
    case 'integer':
      return Number.isSafeInteger(Number(value.value)) ? Number(value.value) : String(value.value);
    case 'datetime':
      return timestampDate(value.value).toISOString();
    case 'duration':
      return textOfDuration(value.value);
    default:
      return value.value;
  }
};

const ofScalar = ({ value }: Scalar): unknown => {
  switch (value.case) {
    case 'primitive':
      return ofPrimitive(value.value);
    case 'generic':
      return toJson(StructSchema, value.value as never);
    case 'binary':
      return value.value.tag === 'msgpack'
        ? decode(value.value.value)
        : btoa(String.fromCodePoint(...value.value.value));
    case 'blob':
    case 'schema':
    case 'structuredDataset':
      return value.value.uri;
    case 'error':
      return value.value.message;
    case 'union':
      return value.value.value ? jsonOf(value.value.value) : null;
    default:
      return null;
  }
};

/** A literal as JSON, as a person would write it. */
export const jsonOf = ({ value }: Literal): unknown => {
  switch (value.case) {
    case 'scalar':
      return ofScalar(value.value);
    case 'collection':
      return value.value.literals.map(jsonOf);
    case 'map':
      return Object.fromEntries(Object.entries(value.value.literals).map(([key, each]) => [key, jsonOf(each)]));
    case 'offloadedMetadata':
      return value.value.uri;
    default:
      return null;
  }
};
