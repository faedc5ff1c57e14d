import type { S3Client } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../../kernel/fault.js';

/** What the signer takes: a request as the SDK makes it of a command. */
type Request = {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
};

type PresignOptions = { readonly expiresIn: number; readonly unhoistableHeaders: Set<string> };

/** The part of the client's signer that its types do not show. */
type Presigner = { presign(request: Request, options: PresignOptions): Promise<Request> };

/** What a linking client answers instead of sending. */
type Kept = { readonly request: Request };

/** Headers that a client need not send as they were when the link was made. */
const FREE = /^(?:content-type|user-agent|x-amz-user-agent)$/u;

const withoutFree = (request: Request): Request => ({
  ...request,
  headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !FREE.test(name))),
});

/** Makes a client one for {@link presigned}: it keeps every request and sends none. */
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
 * A link that does what a command would, without credentials, until it expires. Headers that the command has are part
 * of what is signed: whoever uses the link has to send the same.
 *
 * @param asked - what a {@link linking} client has answered to the command.
 * @throws {StoreUnavailable} when there are no credentials to sign with.
 */
export const presigned = async (client: S3Client, asked: Promise<unknown>, expiresIn: number): Promise<string> => {
  try {
    const request = withoutFree(((await asked) as Kept).request);
    const signer: unknown = await client.config.signer();
    const unhoistableHeaders = new Set(Object.keys(request.headers).filter((name) => name.startsWith('x-amz-meta-')));
    return urlOf(await (signer as Presigner).presign(request, { expiresIn, unhoistableHeaders }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`a link cannot be signed: ${why}`, error);
  }
};
