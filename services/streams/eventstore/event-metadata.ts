import { LAST_MS, type RecordedEvent } from '../../kernel/event.js';

/** The properties of an event besides its data, as the protocol has them. */
export type EventProperties = {
  /** The metadata of the writer, in any format. */
  readonly custom: Uint8Array;
  /** True when the data of the event is JSON, by its content type. */
  readonly isJson: boolean;
  /** Milliseconds since 1970; 0 when the metadata has no time from 1970 to the end of 9999. */
  readonly recordedAtMs: number;
};

/** Log metadata that contains metadata of a client: `$custom` is base64. */
type Wrapped = { readonly recordedAtMs: number; readonly $custom: string; readonly $isJson: boolean };

const parsed = (text: string): Partial<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Keeps a byte order mark, with which a text is not JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

/** Any number can be in the metadata of another writer, also one that clients cannot read as a time. */
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= LAST_MS;

const timeIn = (value: unknown): number => (isTime(value) ? value : 0);

const isOfControlPlane = (text: string): boolean => {
  const value = parsed(text);
  return value !== undefined && isTime(value['recordedAtMs']) && !('$custom' in value) && !('$isJson' in value);
};

/**
 * Builds the log metadata of an event that was written by the protocol. Metadata of a control plane, whose events are
 * not JSON, is kept byte for byte; all other is wrapped, because log metadata is JSON with a time.
 */
export const metadataFor = ({ custom, isJson, recordedAtMs }: EventProperties): string => {
  const text = isJson ? undefined : textOf(custom);
  if (text !== undefined && isOfControlPlane(text)) return text;
  const wrapped: Wrapped = { recordedAtMs, $custom: Buffer.from(custom).toString('base64'), $isJson: isJson };
  return JSON.stringify({ ...wrapped, actor: '', commandId: '', schema: 0 });
};

/** Matches wrapped metadata, and all with a `\u` escape, in which its keys could be hidden. */
const WRAPPED = /\$custom|\$isJson|\\u/u;
const RECORDED_AT = /"recordedAtMs":(?<ms>\d{1,15})[,}]/u;

/** Reverses {@link metadataFor}. Metadata of a control plane is not parsed as JSON, which takes most of the time. */
export const propertiesOf = ({ metadata }: Pick<RecordedEvent, 'metadata'>): EventProperties => {
  const ms = WRAPPED.test(metadata) ? undefined : RECORDED_AT.exec(metadata)?.groups?.['ms'];
  if (ms !== undefined) return { custom: Buffer.from(metadata), isJson: false, recordedAtMs: timeIn(Number(ms)) };
  const value = parsed(metadata) ?? {};
  const { recordedAtMs, $custom, $isJson } = value;
  return {
    custom: typeof $custom === 'string' ? Buffer.from($custom, 'base64') : Buffer.from(metadata),
    isJson: $isJson === true,
    recordedAtMs: timeIn(recordedAtMs),
  };
};
