/** Location of a payload store. */
export type PayloadLocation =
  | { readonly kind: 'file' }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      /** Empty, or ends with a slash. */
      readonly prefix: string;
      /** Address of an S3-compatible server other than Amazon's. */
      readonly endpoint?: string;
      readonly region?: string;
    };

/** The folders of payloads and of uploads, below the prefix of the location. */
const FOLDERS: readonly string[] = ['payloads/', 'uploads/', 'orgs/'];

/** The folders of a backup, below its prefix. */
const BACKUP_FOLDERS: readonly string[] = ['payloads/', 'files/', 'log/'];

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/u;
const PARAMETERS: readonly string[] = ['endpoint', 'region'];

const parse = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

const NO_CREDENTIALS = 'must not have credentials in it; they come from the environment';

const hasCredentials = ({ username, password }: URL): boolean => username !== '' || password !== '';

const endpointProblem = (endpoint: string): string | undefined => {
  const url = parse(endpoint);
  if (url && hasCredentials(url)) return NO_CREDENTIALS; // messages name the endpoint
  if (/^https?:$/u.test(url?.protocol ?? '')) return undefined;
  return `has an endpoint that is no http or https address: ${JSON.stringify(endpoint)}`;
};

const urlProblem = (url: URL): string | undefined => {
  if (!BUCKET.test(url.hostname)) return 'has no valid bucket: s3://BUCKET/PREFIX';
  if (hasCredentials(url)) return NO_CREDENTIALS;
  if (url.port !== '') return `has port ${url.port} after its bucket: name a server with ?endpoint=http://HOST:PORT`;
  if (url.hash !== '')
    return 'has a #, which ends its prefix: leave it out with what follows, or write %23 where it is part of the prefix';
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    return `has an unknown parameter ${JSON.stringify(unknown)}; there are endpoint and region`;
  const endpoint = url.searchParams.get('endpoint');
  return endpoint === null ? undefined : endpointProblem(endpoint);
};

const prefixOf = ({ pathname }: URL): string | undefined => {
  try {
    const parts = decodeURIComponent(pathname).split('/').filter(Boolean);
    return parts.length === 0 ? '' : `${parts.join('/')}/`;
  } catch {
    return undefined;
  }
};

/**
 * Parses a payload location: `file:` for the data directory, or `s3://bucket/prefix?endpoint=…&region=…`.
 *
 * @returns the location, or a text that says what is wrong.
 */
export const payloadLocation = (text: string): PayloadLocation | string => {
  if (text === 'file:') return { kind: 'file' };
  const url = parse(text);
  if (url?.protocol !== 's3:') return 'must be file: or s3://BUCKET/PREFIX?endpoint=URL&region=NAME';
  const wrong = urlProblem(url);
  if (wrong !== undefined) return wrong;
  const prefix = prefixOf(url);
  if (prefix === undefined) return 'has a percent-encoding that cannot be decoded';
  const [endpoint, region] = [url.searchParams.get('endpoint'), url.searchParams.get('region')];
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix,
    ...(endpoint !== null && { endpoint }),
    ...(region !== null && region !== '' && { region }),
  };
};

/** Addresses that differ only in how they are written, such as by a slash at the end, are the same. */
const isSameEndpoint = (one?: string, other?: string): boolean =>
  one === other || (one !== undefined && other !== undefined && new URL(one).href === new URL(other).href);

/** The prefixes of keys below some folders of a location. */
type Area = { readonly location: PayloadLocation; readonly folders: readonly string[] };

/** True when a key can be in both. */
const overlap = ({ location: one, folders }: Area, { location: other, folders: others }: Area): boolean =>
  one.kind === 's3' &&
  other.kind === 's3' &&
  one.bucket === other.bucket &&
  isSameEndpoint(one.endpoint, other.endpoint) &&
  folders
    .map((folder) => `${one.prefix}${folder}`)
    .some((key) =>
      others
        .map((folder) => `${other.prefix}${folder}`)
        .some((otherKey) => key.startsWith(otherKey) || otherKey.startsWith(key)),
    );

/** True when objects below the location `other` can be payloads or uploads of the payload store at `payloads`. */
export const sharesKeys = (payloads: PayloadLocation, other: PayloadLocation): boolean =>
  overlap({ location: payloads, folders: FOLDERS }, { location: other, folders: [''] });

/** True when objects of a backup at `backup` can be payloads or uploads of the payload store at `payloads`. */
export const isMixedWithBackup = (payloads: PayloadLocation, backup: PayloadLocation): boolean =>
  overlap({ location: payloads, folders: FOLDERS }, { location: backup, folders: BACKUP_FOLDERS });
