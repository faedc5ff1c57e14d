import { copyOf, type JsonBytes, openJson, writeAscii, writeText } from '../../../kernel/encoding/json-bytes.js';
import { type CloudEventAttributes, jsonSchemaOf } from './cloud-event.js';
import type { Encoding, PublishedDataEncoder } from './encoding.js';

/** A buffer larger than this is not kept for the next event. */
const MAX_KEPT_BYTES = 1024 * 1024;

const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;

/** The attributes that are left out where they are absent. */
const OPTIONAL_ATTRIBUTES = [
  'commandid',
  'actor',
  'correlationid',
  'causationid',
  'traceparent',
  'project',
  'domain',
  'execution',
  'node',
  'attempt',
  'phase',
] as const;

const optionalMembers = ({ attributes }: CloudEventAttributes): string => {
  let text = '';
  for (const name of OPTIONAL_ATTRIBUTES) text += member(name, attributes[name]);
  return text;
};

/**
 * The attributes of an event as the start of a JSON object, without its closing brace. A template has a third of the
 * cost of `JSON.stringify`; the values that it quotes are ids, times and numbers, which need no escapes. The type does:
 * other programs can append events of any type to the log in an event store.
 */
const headOf = (described: CloudEventAttributes): string => {
  const { id, source, type, time, sequence, position } = described.attributes;
  const { entityJson, streamJson } = described.stream;
  return `{"specversion":"1.0","id":"${id}","source":"${source}","type":${JSON.stringify(type)},"subject":${entityJson},"time":"${time}","sequence":"${sequence}","stream":${streamJson},"position":"${position}","partitionkey":${entityJson}${optionalMembers(described)}`;
};

const finish = (json: JsonBytes): Buffer => {
  writeAscii(json, '}');
  return copyOf(json);
};

/** Makes the encoder for the JSON event format of CloudEvents. It reuses one buffer: encode one event at a time. */
export const inJson = (dataEncoder: PublishedDataEncoder): Encoding => {
  let buffer = openJson();
  const resetBuffer = (): JsonBytes => {
    if (buffer.bytes.length > MAX_KEPT_BYTES) buffer = openJson();
    buffer.length = 0;
    return buffer;
  };
  return {
    contentType: 'application/cloudevents+json; charset=UTF-8',
    whole: (event, described) => {
      const json = resetBuffer();
      const dataschema = jsonSchemaOf(event.type, described.metadata.schema);
      writeText(json, `${headOf(described)},"datacontenttype":"application/json","dataschema":"${dataschema}","data":`);
      const pending = dataEncoder.json(event, json);
      return pending ? pending.then(() => finish(json)) : finish(json);
    },
    referring: (described, dataref) => Buffer.from(`${headOf(described)}${member('dataref', dataref)}}`),
  };
};
