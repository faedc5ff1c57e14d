import * as z from 'zod';
import { readStoreLocation } from '../../projections/store/mongo/location.js';
import { eventstoreAddress } from '../store/eventstore/address.js';
import { payloadLocation } from '../store/payloads/payload-location.js';
import { parseQuantity } from '../compiler/resources/quantity.js';
import { assertLabels } from '../kernel/values/labels.js';
import { MAX_TIMER_MS } from '../kernel/ports/timers.js';
import { RpcError } from '../kernel/rpc.js';
import {
  isProjectId,
  MAX_PROJECT_DESCRIPTION_BYTES,
  MAX_PROJECT_NAME_BYTES,
  PROJECT_ID_RULE,
} from '../project/rules.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The longest duration of protobuf, about 10,000 years, in milliseconds. */
const MAX_DURATION_MS = 315_576_000_000_000;

/** A duration such as `90s`, `10m` or `1h30m`; the parsed value is in milliseconds, rounded to a whole number. */
export const duration = z
  .string({ error: 'must be a duration such as 90s, 10m or 1h30m' })
  .transform((text, context) => {
    const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gu)];
    if (parts.length > 0 && parts.map(([part]) => part).join('') === text) {
      const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit as keyof typeof UNITS], 0);
      if (ms <= MAX_DURATION_MS) return Math.round(ms);
      context.addIssue({ code: 'custom', message: `must be at most ${MAX_DURATION_MS / 1_000}s` });
      return z.NEVER;
    }
    context.addIssue({
      code: 'custom',
      message: `must be a duration such as 90s, 10m or 1h30m, not ${JSON.stringify(text)}`,
    });
    return z.NEVER;
  });

/**
 * The longest time limit, 24 days: the whole days that a timer can wait for, because a longer timer fires at once. The
 * rest of a day is left for callers that add minutes to a time limit.
 */
const MAX_TIME_LIMIT_MS = Math.floor(MAX_TIMER_MS / UNITS.d) * UNITS.d;

/** A duration above 0 and of at most 24 days, which a timer can wait for. */
export const timeLimit = duration.refine(
  (ms) => ms > 0 && ms <= MAX_TIME_LIMIT_MS,
  'must be above 0, and at most 24 days',
);

export const integer = (max: number, error: string): z.ZodType<number> =>
  z
    .union([z.number(), z.string().regex(/^\d+$/u).transform(Number)], { error })
    .pipe(z.int({ error }).min(0, { error }).max(max, { error }));

export const port = integer(65_535, 'must be a port, 0 to 65535');
export const count = integer(Number.MAX_SAFE_INTEGER, 'must be a whole number, 0 or more');
export const oneOrMore = count.refine((value) => value > 0, { error: 'must be 1 or more' });
export const flag = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' });

/** A number, or the text of one; `limited` adds its limits. */
const numeric = (error: string, limited: (number: z.ZodNumber) => z.ZodNumber) =>
  z.preprocess(
    (value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value),
    limited(z.number({ error })),
  );

const SHARE = 'must be a number from 0 to 1';

/** A share: a number from 0 to 1. */
export const share = numeric(SHARE, (number) => number.min(0, { error: SHARE }).max(1, { error: SHARE }));

const WEIGHT = 'must be a number above 0';

export const weight = numeric(WEIGHT, (number) => number.positive({ error: WEIGHT }));

/** True for an HTTP URL. */
export const isHttpAddress = (text: string): boolean => URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);

/** An HTTP URL. */
export const httpAddress = z.string().refine(isHttpAddress, { error: 'must be an http or https address' });

/** An address to which an OAuth client gets its authorization codes. */
export const redirectAddress = httpAddress.refine((text) => !text.includes('#'), 'must have no fragment');

/** An HTTP URL without a query, or the empty string; slashes at its end are removed. */
export const publicUrl = z
  .string()
  .refine((text) => text === '' || (URL.canParse(text) && /^https?:\/\/[^?#]+$/u.test(text)), {
    error: 'must be an http or https address without a query',
  })
  .transform((text) => text.replace(/\/+$/u, ''));

/** The value of `event_store` for the embedded log in the data directory. */
export const EMBEDDED = 'embedded:';

/** The location of the log. */
export const eventStore = z.string({ error: 'must be esdb://HOST:PORT or embedded:' }).superRefine((text, context) => {
  if (text === EMBEDDED) return;
  const address = eventstoreAddress(text);
  if (typeof address === 'string') context.addIssue({ code: 'custom', message: address });
});

/** The location of the payloads. */
export const payloads = z.string({ error: 'must be file: or s3://BUCKET/PREFIX' }).transform((text, context) => {
  const location = payloadLocation(text);
  if (typeof location !== 'string') return location;
  context.addIssue({ code: 'custom', message: location });
  return z.NEVER;
});

/** The location of a bucket. */
export const bucket = z.string({ error: 'must be s3://BUCKET/PREFIX' }).transform((text, context) => {
  const location = payloadLocation(text);
  if (typeof location !== 'string' && location.kind === 's3') return location;
  context.addIssue({ code: 'custom', message: typeof location === 'string' ? location : 'must be s3://BUCKET/PREFIX' });
  return z.NEVER;
});

/** The location of the views. */
export const readStore = z
  .string({ error: 'must be sqlite: or mongodb://HOST:PORT/DATABASE' })
  .transform((text, context) => {
    const location = readStoreLocation(text);
    if (typeof location !== 'string') return location;
    context.addIssue({ code: 'custom', message: location });
    return z.NEVER;
  });

export const id = z.string().min(1);

/** Makes the test that no two elements have the same text under a key. */
export const distinctBy =
  <Key extends string>(key: Key) =>
  (elements: readonly Readonly<Record<Key, string>>[]): boolean =>
    new Set(elements.map((element) => element[key])).size === elements.length;

/** A mapping with an `id`, or the id alone; `keys` are the keys of the mapping, for the error text. */
const withId = <Shape extends z.ZodRawShape>(shape: Shape, keys: string) => {
  const error: z.core.$ZodErrorMap = ({ code }) =>
    code === 'invalid_type' ? `must be an id, or a mapping of ${keys}` : undefined;
  return z.preprocess((value) => (typeof value === 'string' ? { id: value } : value), z.strictObject(shape, { error }));
};

const domain = withId({ id, name: id.optional() }, 'id and name').transform(({ id: givenId, name = givenId }) => ({
  id: givenId,
  name,
}));

/** The domains, each once. */
export const domains = z.array(domain).min(1).refine(distinctBy('id'), { error: 'must not have one domain twice' });

const projectId = z.string().refine(isProjectId, { error: `must be ${PROJECT_ID_RULE}` });

const atMost = (max: number): z.ZodString =>
  z.string().refine((text) => Buffer.byteLength(text) <= max, { error: `must have at most ${max} bytes` });

const project = withId(
  {
    id: projectId,
    name: atMost(MAX_PROJECT_NAME_BYTES).min(1).optional(),
    description: atMost(MAX_PROJECT_DESCRIPTION_BYTES).optional(),
  },
  'id, name and description',
).transform(({ id: givenId, name = givenId, description = `${givenId} description` }) => ({
  id: givenId,
  name,
  description,
}));

/** The projects, each once. */
export const projects = z.array(project).refine(distinctBy('id'), { error: 'must not have one project twice' });

const isAmount = (text: string): boolean => {
  const quantity = parseQuantity(text);
  return quantity !== undefined && quantity.numerator >= 0n;
};

const quantity = z.coerce.string().refine(isAmount, { error: 'must be a quantity such as 500m or 1Gi' }).optional();

export const resources = z.strictObject({
  cpu: quantity,
  memory: quantity,
  gpu: quantity,
  storage: quantity,
  ephemeral_storage: quantity,
});

/**
 * A project and a domain; an empty one stands for any. For task types, an empty project stands for any domain, too, as
 * in FlyteAdmin.
 */
export const scope = z.strictObject({ project: z.string().default(''), domain: z.string().default('') });

/** A mapping of free names to texts; a number or a boolean of YAML counts as its text. */
export const texts = z.record(
  z.string().min(1),
  z.union([z.string(), z.number(), z.boolean()], { error: 'must be text' }).transform(String),
);

/** Labels, checked by the rules of Kubernetes labels. */
export const labels = texts.superRefine((values, context) => {
  try {
    assertLabels({ values });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

const TIERS = ['HIGH', 'MEDIUM', 'LOW'] as const;

/** A tier of the quality of service. */
export const tier = z.enum(TIERS, { error: `must be one of ${TIERS.join(', ')}` });

/** A duration for each tier. */
export const budgets = z.strictObject({
  HIGH: duration.prefault('1m'),
  MEDIUM: duration.prefault('10m'),
  LOW: duration.prefault('1h'),
});

const origin = z.string().refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), {
  error: 'must be an origin such as https://console.example.com, or "*"',
});

/** The name of an HTTP header. */
export const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/u, { error: 'must be the name of a header' });

/** The settings of CORS: origins that may call REST from a browser. */
export const cors = z.strictObject({
  allowed_origins: z
    .array(origin)
    .default([])
    .describe('origins of web pages that may call REST; `"*"` allows all, without credentials'),
  allowed_headers: z.array(headerName).default([]).describe('headers that those pages may send besides the known ones'),
});

/** The files of TLS, in PEM. */
export const tls = z
  .strictObject({
    cert_file: z
      .string()
      .default('')
      .describe('certificate chain of all ports but `bridge.metrics_port`, in PEM; without it there is no TLS'),
    key_file: z.string().default('').describe('private key of the certificate, in PEM'),
    client_ca_file: z
      .string()
      .default('')
      .describe('authority whose certificates callers must have, in PEM; without it callers need none'),
  })
  .refine(({ cert_file: cert, key_file: key }) => cert === '' || key !== '', {
    path: ['key_file'],
    error: 'must be given with tls.cert_file',
  })
  .refine(({ cert_file: cert, key_file: key, client_ca_file: ca }) => cert !== '' || (key === '' && ca === ''), {
    path: ['cert_file'],
    error: 'must be given where tls.key_file or tls.client_ca_file is given',
  });

const isZone = (name: string): boolean => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
};

/** A time zone that `Intl` knows. */
export const timezone = z.string().refine(isZone, 'must be a time zone, such as Europe/Berlin');
