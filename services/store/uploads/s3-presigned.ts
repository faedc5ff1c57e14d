import type { S3Client } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../../kernel/fault.js';
import { errorText } from '../../kernel/error-text.js';

/** Input of the signer: the HTTP request that the SDK builds from a command. */
type Request = {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
};

type PresignOptions = { readonly expiresIn: number; readonly unhoistableHeaders: Set<string> };

/** The signer's method that the SDK's types do not declare. */
type Presigner = { presign(request: Request, options: PresignOptions): Promise<Request> };

/** Result of a {@link linking} client: the request that it did not send. */
type Kept = { readonly request: Request };

/** Headers that are not signed: the client that uses the link may send other values. */
const FREE = /^(?:content-type|user-agent|x-amz-user-agent)$/u;

const withoutFree = (request: Request): Request => ({
  ...request,
  headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !FREE.test(name))),
});

/** Turns a client into one for {@link presigned}: it returns every request instead of sending it. */
export const linking = (client: S3Client): S3Client => {
  client.middlewareStack.add(
    () => (args) => Promise.resolve({ response: {}, output: { $metadata: {}, request: Reflect.get(args, 'request') } }),
    { step: 'build', priority: 'low', name: 'keepInsteadOfSending' },
  );
  return client;
};

const urlOf = ({ protocol, hostname, port, path, query = {} }: Request): string => {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(each)}`),
  );
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}?${parameters.join('&')}`;
};

/**
 * Makes a link that does the same as a command, without credentials, until it expires. The MD5 and the metadata of the
 * command are signed headers, so the user of the link has to send the same.
 *
 * @param signing result of a {@link linking} client for the command.
 * @param expiresIn in seconds.
 * @throws {StoreUnavailable} when the link cannot be signed, such as without credentials.
 */
export const presigned = async (client: S3Client, signing: Promise<unknown>, expiresIn: number): Promise<string> => {
  try {
    const request = withoutFree(((await signing) as Kept).request);
    const signer: unknown = await client.config.signer();
    const unhoistableHeaders = new Set(Object.keys(request.headers).filter((name) => name.startsWith('x-amz-meta-')));
    return urlOf(await (signer as Presigner).presign(request, { expiresIn, unhoistableHeaders }));
  } catch (error) {
    const reason = errorText(error);
    throw new StoreUnavailable(`a link cannot be signed: ${reason}`, error);
  }
};
