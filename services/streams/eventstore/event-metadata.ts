import type { RecordedEvent } from '../../kernel/event.js';

/** What the protocol has beside an event's data. */
export type Beside = {
  /** The writer's own metadata, whatever it is. */
  readonly custom: Uint8Array;
  readonly isJson: boolean;
  readonly recordedAtMs: number;
};

/** Metadata that is not of ours, kept inside metadata that is. */
type Wrapped = { readonly recordedAtMs: number; readonly $custom: string; readonly $isJson: boolean };

const parsed = (text: string): Partial<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

const isOurs = (text: string): boolean => {
  const value = parsed(text);
  return value !== undefined && typeof value['recordedAtMs'] === 'number' && !('$custom' in value);
};

/**
 * The metadata of the log for an event that came by the protocol. That of a control plane is kept as it is, byte for
 * byte; anything else is wrapped, because the log's metadata is JSON with a time.
 */
export const metadataFor = ({ custom, isJson, recordedAtMs }: Beside): string => {
  const text = isJson ? undefined : textOf(custom);
  if (text !== undefined && isOurs(text)) return text;
  const wrapped: Wrapped = { recordedAtMs, $custom: Buffer.from(custom).toString('base64'), $isJson: isJson };
  return JSON.stringify({ ...wrapped, actor: '', commandId: '', schema: 0 });
};

/** The other way round. */
export const besideOf = ({ metadata }: Pick<RecordedEvent, 'metadata'>): Beside => {
  const value = parsed(metadata) ?? {};
  const { recordedAtMs, $custom, $isJson } = value;
  return {
    custom: typeof $custom === 'string' ? Buffer.from($custom, 'base64') : Buffer.from(metadata),
    isJson: $isJson === true,
    recordedAtMs: typeof recordedAtMs === 'number' ? recordedAtMs : 0,
  };
};
