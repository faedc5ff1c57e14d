import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as Phase,
  TaskExecution_Phase as TaskPhase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import {
  ArtifactType,
  type CreateUploadLocationRequestSchema,
  DataProxyService,
} from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureFolders, withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { nodeReport, taskReport } from '../../support/requests/reports.js';

const { method } = DataProxyService;

type Upload = Exclude<MessageInitShape<typeof CreateUploadLocationRequestSchema>, { $typeName: string }>;

const SCOPE = { project: 'flytesnacks', domain: 'development' };
/** The validity of a link by default. */
const HOUR_MS = 3_600_000;
const MAX_UPLOAD_BYTES = 3_000_000;
const ENV = { FLIGHTLOG_DATA_PROXY_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES) };

const md5 = (content: string | Uint8Array): Buffer => createHash('md5').update(content).digest();
const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const put = (url: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'PUT', body: Buffer.from(body), headers });

let plane: ControlPlane;
let uploads = 0;

const newFilename = (): string => `file-${(uploads += 1)}.bin`;

const uploadLocation = (request: Upload) => plane.grpc.call(method.createUploadLocation, { ...SCOPE, ...request });

/** Every file below the folder of uploads. */
const stored = (folder = join(plane.directory, 'files')): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

const pathOf = (nativeUrl: string): string => nativeUrl.replace('file://', '');

/** The execution that {@link reportRun} fills. */
const RUN = { ...SCOPE, name: 'with-data' };
const literalMap = (name: string, value: string) => ({ literals: { [name]: literal(value) } });

/**
 * Reports nodes with decks: that of `n0` is an upload; those of `n1` to `n3` are in a bucket, in another domain, and
 * missing. Reports two attempts of a task of `n0`.
 */
const reportRun = async (): Promise<void> => {
  const { call } = plane.grpc;
  await launchHello(plane.grpc, RUN.name);
  const deck = await uploadLocation({ contentMd5: md5('<p>deck</p>'), filename: 'deck.html' });
  await put(deck.signedUrl, '<p>deck</p>');
  const node = (nodeId: string, event: object) =>
    call(AdminService.method.createNodeEvent, nodeReport(RUN, nodeId, { phase: Phase.SUCCEEDED, ...event }));
  const data = {
    inputValue: { case: 'inputData', value: literalMap('x', 'node in') },
    outputResult: { case: 'outputData', value: literalMap('o0', 'node out') },
  };
  await node('n0', { ...data, deckUri: deck.nativeUrl });
  await node('n1', { deckUri: 's3://somebody-elses/deck.html' });
  const foreign = await uploadLocation({ domain: 'staging', contentMd5: md5('foreign'), filename: 'deck.html' });
  await put(foreign.signedUrl, 'foreign');
  await node('n2', { deckUri: foreign.nativeUrl });
  await node('n3', { deckUri: deck.nativeUrl.replace('deck.html', 'gone.html') });
  for (const attempt of [0, 1]) {
    await call(
      AdminService.method.createTaskEvent,
      taskReport(RUN, 'n0', {
        phase: TaskPhase.FAILED,
        retryAttempt: attempt,
        inputValue: { case: 'inputData', value: literalMap('x', `task in ${attempt}`) },
        outputResult: { case: 'outputData', value: literalMap('o0', `task out ${attempt}`) },
      }),
    );
  }
};

beforeAll(async () => {
  plane = await startControlPlane(ENV);
  await register(plane.grpc, withNeeds('01-hello'));
  await reportRun();
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('CreateUploadLocation over %s', (way) => {
  const contentMd5 = md5('content');

  it.each<[string, Upload, string]>([
    ['no project', { project: '', contentMd5 }, 'project and domain are required'],
    ['no domain', { domain: '', contentMd5 }, 'project and domain are required'],
    ['neither an MD5 nor a filename_root', { filename: 'a' }, 'content_md5 or filename_root is a required parameter'],
    ['an MD5 of another length', { contentMd5: new Uint8Array(5) }, 'content_md5'],
    ['a negative expiry', { contentMd5, expiresIn: seconds(-1) }, 'expires_in [-1s] is invalid'],
    ['an expiry of zero', { contentMd5, expiresIn: seconds(0) }, 'expires_in [0s] is invalid'],
    [
      'an expiry of more than an hour',
      { contentMd5, expiresIn: seconds(3_601) },
      'cannot exceed max allowed expiration',
    ],
    ['a name that leads out of the folder', { contentMd5, filename: '../../log.db' }, 'filename'],
    ['a name with a part that leads out of the folder', { contentMd5, filename: 'a/../../b' }, 'filename'],
    ['an absolute path as name', { contentMd5, filename: '/etc/passwd' }, 'filename'],
    ['a name with a NUL character', { contentMd5, filename: 'a\u0000b' }, 'filename'],
    [
      'a name of 300 characters',
      { contentMd5, filename: 'a'.repeat(300) },
      'invalid value for filename: a part of a path has at most 255 bytes',
    ],
    [
      'a path of 501 parts',
      { contentMd5, filename: 'a/'.repeat(500) + 'a' },
      'invalid value for filename: a path has at most 32 parts',
    ],
    [
      'a path of 1,000 characters',
      { contentMd5, filename: `${'a'.repeat(199)}/`.repeat(4) + 'a'.repeat(200) },
      'invalid value for filename: a path has at most 800 bytes',
    ],
    ['a root that leads out of the folder', { filenameRoot: '..', filename: 'a' }, 'filename_root'],
    [
      'a root and name that are too long together',
      { filenameRoot: 'a'.repeat(250) + '/' + 'a'.repeat(250), filename: 'b'.repeat(250) + '/' + 'b'.repeat(250) },
      'filename',
    ],
    [
      'a root that is too long together with a random name',
      { filenameRoot: `${'a'.repeat(255)}/`.repeat(3) + 'a'.repeat(27) },
      'invalid value for filename_root',
    ],
    ['a project that leads out of the folder', { project: '..', contentMd5 }, 'project'],
    ['a project with a slash', { project: 'a/b', contentMd5 }, 'project'],
    ['a domain with a slash', { domain: 'a/b', contentMd5 }, 'domain'],
    ['an organisation that leads out of the folder', { org: '..', contentMd5 }, 'org'],
  ])('refuses %s', async (_, request, text) => {
    const answer = await plane[way].attempt(method.createUploadLocation, { ...SCOPE, ...request });
    expect(answer).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(text) as string });
  });

  it('gives a location by the MD5, the same each time', async () => {
    const request = { ...SCOPE, contentMd5, filename: 'script_mode.tar.gz', addContentMd5Metadata: true };
    const before = Date.now();
    const [one, two] = [
      await plane[way].call(method.createUploadLocation, request),
      await plane[way].call(method.createUploadLocation, request),
    ];
    // The 16 bytes of the MD5 in base 32 (RFC 4648), with padding.
    const path = '/uploads/flytesnacks/development/TIBWJOPJTO2IBXJF4HYCQTEFKU======/script_mode.tar.gz';
    expect(one.nativeUrl).toBe(`file://${plane.directory}/files${path}`);
    expect(two.nativeUrl).toBe(one.nativeUrl);
    expect(one.headers).toEqual({ 'Content-MD5': contentMd5.toString('base64') });
    const expires = Number(one.expiresAt!.seconds) * 1_000;
    expect(expires).toBeGreaterThanOrEqual(before + HOUR_MS - 1_000); // in whole seconds
    expect(expires).toBeLessThanOrEqual(Date.now() + HOUR_MS);
  });

  it('gives a file without a name one of 20 characters, and keeps organisations apart', async () => {
    const nameless = await plane[way].call(method.createUploadLocation, { ...SCOPE, contentMd5 });
    expect(nameless.nativeUrl).toMatch(/\/[a-z0-9]{20}$/u);
    const ours = await plane[way].call(method.createUploadLocation, {
      ...SCOPE,
      org: 'ours',
      contentMd5,
      filename: 'a',
    });
    expect(ours.nativeUrl).toMatch(/\/orgs\/ours\/flytesnacks\/development\/[^/]+\/a$/u);
  });

  it('gives a named location that has a file only for the same content', async () => {
    const request = { ...SCOPE, filenameRoot: `version-${way}`, filename: 'a/code.tar.gz' };
    const { signedUrl } = await plane[way].call(method.createUploadLocation, request);
    expect((await put(signedUrl, 'one')).status).toBe(200);
    const ask = (content?: string) =>
      plane[way].attempt(method.createUploadLocation, {
        ...request,
        ...(content !== undefined && { contentMd5: md5(content) }),
      });
    expect(await ask()).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('exists') as string });
    expect(await ask('two')).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await ask('one')).toMatchObject({ code: 'OK' });
  });

  it('accepts the recorded requests', async () => {
    const recorded = fixtureFolders().flatMap(({ entries }) =>
      entries.filter(({ kind }) => kind === 'upload_location'),
    );
    expect(recorded.length).toBeGreaterThan(0);
    for (const entry of recorded) {
      expect(await plane[way].send(entry.method, entry.bytes)).toMatchObject({ code: 'OK', message: '' });
    }
  });
});

describe('a PUT to the link of an upload', () => {
  it('stores the file where its native URL says, and accepts the same content again', async () => {
    const content = Buffer.alloc(1_500_000, 'flightlog');
    const { signedUrl, nativeUrl, headers } = await uploadLocation({
      contentMd5: md5(content),
      filename: newFilename(),
    });
    for (let time = 0; time < 2; time += 1) {
      expect((await put(signedUrl, content, { ...headers })).status).toBe(200);
      expect(Buffer.compare(readFileSync(pathOf(nativeUrl)), content)).toBe(0);
    }
  });

  it('takes an empty file, and odd names', async () => {
    for (const filename of ['empty', 'a b%2F?#&=+é🛫.txt', '.hidden', 'sub/folder/file']) {
      const { signedUrl, nativeUrl } = await uploadLocation({
        contentMd5: md5(''),
        filename: `${newFilename()}/${filename}`,
      });
      expect((await put(signedUrl, '')).status).toBe(200);
      expect(statSync(pathOf(nativeUrl)).size).toBe(0);
    }
  });

  const changed = (url: string, change: (token: string) => string): string => {
    const link = new URL(url);
    link.searchParams.set('token', change(link.searchParams.get('token')!));
    return link.href;
  };
  const unsigned = (token: string): string => {
    const header = Buffer.from('{"alg":"none"}').toString('base64url');
    return `${header}.${token.split('.')[1]!}.`;
  };
  const forged = (token: string): string => {
    const [header, , signature] = token.split('.');
    const claims = { does: 'put', place: '../../log.db', aud: 'flightlog-file-link', exp: 9_999_999_999 };
    return `${header!}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature!}`;
  };

  it.each<[string, (url: string) => string]>([
    ['without its token', (url) => url.split('?')[0]!],
    ['with an empty token', (url) => changed(url, () => '')],
    ['with a token that is cut', (url) => changed(url, (token) => token.slice(0, -2))],
    [
      'with a token that was changed',
      (url) => changed(url, (token) => token.replace(/.$/u, (last) => (last === 'A' ? 'Q' : 'A'))),
    ],
    ['with other claims', (url) => changed(url, forged)],
    ['with a token without signature', (url) => changed(url, unsigned)],
    ['with a token of 30,000 characters', (url) => changed(url, () => 'a'.repeat(30_000))],
    ['for another file', (url) => url.replace('file-', 'elif-')],
    ['for the log', (url) => url.replace(/\/data\/.*\?/u, '/data/uploads/..%2f..%2flog.db?')],
  ])('is refused %s', async (_, change) => {
    const { signedUrl } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    const before = stored();
    const answer = await put(change(signedUrl), 'x');
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: 7 }); // PERMISSION_DENIED
    expect(stored()).toEqual(before);
  });

  it('is refused once the link has expired', async () => {
    const { signedUrl } = await uploadLocation({
      contentMd5: md5('x'),
      filename: newFilename(),
      expiresIn: seconds(1),
    });
    await expect.poll(async () => (await put(signedUrl, 'y')).status, { timeout: 10_000, interval: 200 }).toBe(403);
    expect((await put(signedUrl, 'x')).status).toBe(403);
  });

  it.each<[string, string, Record<string, string>, number]>([
    ['other content than was announced', 'other', {}, 400],
    ['a header with another MD5', 'x', { 'content-md5': md5('other').toString('base64') }, 400],
    ['more than may be uploaded', 'x'.repeat(MAX_UPLOAD_BYTES + 1), {}, 429],
  ])('is refused for %s, and leaves nothing', async (_, content, headers, status) => {
    const { signedUrl } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    const before = stored();
    expect((await put(signedUrl, content, headers)).status).toBe(status);
    expect(stored()).toEqual(before);
  });

  it('may have its MD5 twice, from a client that sets the header besides those of the answer', async () => {
    const { signedUrl, headers } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    const own = { 'content-md5': md5('x').toString('base64') };
    expect((await put(signedUrl, 'x', { ...headers, ...own })).status).toBe(200);
  });

  it('does not change a file that is there', async () => {
    const request = { filenameRoot: 'kept', filename: newFilename() };
    const [one, two] = [await uploadLocation(request), await uploadLocation(request)];
    expect((await put(one.signedUrl, 'first')).status).toBe(200);
    expect((await put(two.signedUrl, 'second')).status).toBe(409);
    expect(readFileSync(pathOf(one.nativeUrl), 'utf8')).toBe('first');
    const inside = await uploadLocation({ filenameRoot: `kept/${request.filename}`, filename: 'inside' });
    expect((await put(inside.signedUrl, 'x')).status).toBe(409);
    const above = await uploadLocation({ filenameRoot: 'kept', filename: newFilename() });
    const below = await uploadLocation({
      filenameRoot: `kept/${above.nativeUrl.split('/').at(-1)!}`,
      filename: 'below',
    });
    expect((await put(below.signedUrl, 'x')).status).toBe(200);
    expect((await put(above.signedUrl, 'x')).status).toBe(409);
  });

  it('leaves nothing of an upload that breaks off', async () => {
    const { signedUrl } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    const before = stored();
    let breakOff = (): void => undefined;
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.alloc(100_000));
        breakOff = () => controller.error(new Error('gone'));
      },
    });
    const sending = expect(fetch(signedUrl, { method: 'PUT', body, duplex: 'half' })).rejects.toThrow();
    await expect.poll(stored).not.toEqual(before);
    breakOff();
    await sending;
    await expect.poll(stored).toEqual(before);
  });

  it.each(['POST', 'DELETE', 'PATCH', 'OPTIONS'])('is the only way to upload: %s gets 501', async (verb) => {
    const { signedUrl } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    expect((await fetch(signedUrl, { method: verb })).status).toBe(501);
  });

  it('is all that the link is for: a GET gets 403', async () => {
    const { signedUrl } = await uploadLocation({ contentMd5: md5('x'), filename: newFilename() });
    await put(signedUrl, 'x');
    expect((await fetch(signedUrl)).status).toBe(403);
  });
});

describe.each(['grpc', 'rest'] as const)('downloads over %s', (way) => {
  const uploaded = async (content: string) => {
    const location = await uploadLocation({ contentMd5: md5(content), filename: newFilename() });
    await put(location.signedUrl, content);
    return location;
  };

  it('are given by the native URL of an upload', async () => {
    const { nativeUrl } = await uploaded('to be read');
    const { signedUrl, expiresAt } = await plane[way].call(method.createDownloadLocation, { nativeUrl });
    expect(Number(expiresAt!.seconds)).toBeGreaterThan((Date.now() + HOUR_MS) / 1_000 - 10);
    expect(await (await fetch(signedUrl)).text()).toBe('to be read');
    expect((await put(signedUrl, 'written')).status).toBe(403);
    expect(await (await fetch(signedUrl)).text()).toBe('to be read');
  });

  it.each<[string, number]>([
    ['negative', -1],
    ['more than an hour', 3_601],
  ])('are refused for an expiry that is %s', async (_, count) => {
    const { nativeUrl } = await uploaded('x');
    const request = { nativeUrl, expiresIn: seconds(count) };
    expect(await plane[way].attempt(method.createDownloadLocation, request)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('error while validating request') as string,
    });
  });

  it.each<[string, () => string, string]>([
    ['what is no URL', () => 'nowhere', 'INVALID_ARGUMENT'],
    ['an empty URL', () => '', 'INVALID_ARGUMENT'],
    ['a file of the machine', () => 'file:///etc/passwd', 'NOT_FOUND'],
    ['the log', () => `file://${plane.directory}/log.db`, 'NOT_FOUND'],
    ['the key of links', () => `file://${plane.directory}/files/uploads/a/b/../../../../link.key`, 'NOT_FOUND'],
    ['an upload that does not exist', () => `file://${plane.directory}/files/uploads/a/b/c/d`, 'NOT_FOUND'],
    ['a folder', () => `file://${plane.directory}/files/uploads/flytesnacks/development/kept`, 'NOT_FOUND'],
    ['a bucket', () => 's3://bucket/object', 'NOT_FOUND'],
  ])('are refused for %s', async (_, url, code) => {
    expect((await plane[way].attempt(method.createDownloadLocation, { nativeUrl: url() })).code).toBe(code);
  });

  const deckOf = (nodeId: string, artifactType = ArtifactType.DECK) => ({
    artifactType,
    source: { case: 'nodeExecutionId' as const, value: { nodeId, executionId: RUN } },
  });

  it('are given for the deck of a node, in the new and the older fields of the response', async () => {
    const answer = await plane[way].call(method.createDownloadLink, deckOf('n0'));
    const { signedUrl, expiresAt } = answer.preSignedUrls!;
    expect(answer).toMatchObject({ signedUrl, expiresAt });
    const page = await fetch(signedUrl[0]!);
    expect(await page.text()).toBe('<p>deck</p>');
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('content-security-policy')).toContain('sandbox');
  });

  it.each<[string, () => object, string, string]>([
    ['no artifact type', () => deckOf('n0', ArtifactType.UNDEFINED), 'INVALID_ARGUMENT', 'artifact_type'],
    ['no source', () => ({ artifactType: ArtifactType.DECK }), 'INVALID_ARGUMENT', 'source'],
    ['a node that is not there', () => deckOf('n9'), 'INVALID_ARGUMENT', 'failed to find node execution'],
    ['a node without a name', () => deckOf(''), 'INVALID_ARGUMENT', 'node_id'],
    ['a deck in a bucket', () => deckOf('n1'), 'NOT_FOUND', 'object not found'],
    ['a deck of another domain', () => deckOf('n2'), 'NOT_FOUND', 'object not found'],
    ['a deck that is not there', () => deckOf('n3'), 'NOT_FOUND', 'object not found'],
    ['a negative expiry', () => ({ ...deckOf('n0'), expiresIn: seconds(-5) }), 'INVALID_ARGUMENT', 'expires_in'],
  ])('of decks are refused for %s', async (_, request, code, text) => {
    const answer = await plane[way].attempt(method.createDownloadLink, request());
    expect(answer).toMatchObject({ code, message: expect.stringContaining(text) as string });
  });
});

describe.each(['grpc', 'rest'] as const)('GetData over %s', (way) => {
  const base = `flyte://v1/${RUN.project}/${RUN.domain}/${RUN.name}/n0`;
  const get = async (flyteUrl: string) => (await plane[way].call(method.getData, { flyteUrl })).data;

  it.each([
    ['i', 'x', 'node in'],
    ['o', 'o0', 'node out'],
    ['0/i', 'x', 'task in 0'],
    ['1/i', 'x', 'task in 1'],
    ['0/o', 'o0', 'task out 0'],
    ['1/o', 'o0', 'task out 1'],
  ])('gives the literal map at …/%s, and a literal in it by name', async (path, name, value) => {
    expect(await get(`${base}/${path}`)).toMatchObject({
      case: 'literalMap',
      value: { literals: { [name]: literal(value) } },
    });
    expect(await get(`${base}/${path}/${name}`)).toMatchObject({ case: 'literal', value: literal(value) });
  });

  it('gives a link to the deck', async () => {
    const data = await get(`${base}/d`);
    if (data.case !== 'preSignedUrls') throw new Error(`${data.case}`);
    expect(await (await fetch(data.value.signedUrl[0]!)).text()).toBe('<p>deck</p>');
  });

  it('resolves the URLs that GetNodeExecutionData answers', async () => {
    const request = { id: { nodeId: 'n0', executionId: RUN } };
    const { flyteUrls } = await plane[way].call(AdminService.method.getNodeExecutionData, request);
    expect([await get(flyteUrls!.inputs), await get(flyteUrls!.outputs), await get(flyteUrls!.deck)]).toMatchObject([
      { case: 'literalMap' },
      { case: 'literalMap' },
      { case: 'preSignedUrls' },
    ]);
  });

  it.each([
    ['an empty URL', '', 'INVALID_ARGUMENT', 'failed to validate resolve artifact request'],
    ['another scheme', 'http://v1/a/b/c/d/i', 'INVALID_ARGUMENT', 'failed to validate'],
    ['another version', 'flyte://v2/a/b/c/d/i', 'INVALID_ARGUMENT', 'failed to validate'],
    ['too few parts', 'flyte://v1/a/b/c/i', 'INVALID_ARGUMENT', 'failed to parse artifact url'],
    ['too many parts', `${base}/0/0/i`, 'INVALID_ARGUMENT', 'failed to parse'],
    ['an unknown kind of data', `${base}/x`, 'INVALID_ARGUMENT', 'failed to parse'],
    ['a name in a deck', `${base}/d/x`, 'INVALID_ARGUMENT', 'failed to parse'],
    ['a node id of dots', 'flyte://v1/a/b/c/../i', 'INVALID_ARGUMENT', 'failed to parse'],
    [
      'a URL of more than 50,000 characters',
      `flyte://v1/a/b/c/${'d'.repeat(50_000)}/i`,
      'INVALID_ARGUMENT',
      'failed to parse',
    ],
    ['an attempt number that is too large', `${base}/99999999999999999999/i`, 'INVALID_ARGUMENT', 'no such attempt'],
    ['a deck of an attempt', `${base}/0/d`, 'INVALID_ARGUMENT', 'deck type cannot be specified'],
    ['an attempt that does not exist', `${base}/7/i`, 'INVALID_ARGUMENT', 'no task executions were listed'],
    ['a name that is not there', `${base}/i/y`, 'INVALID_ARGUMENT', 'name [y] not found in node execution'],
    ['a name that is not there in a task', `${base}/1/o/y`, 'INVALID_ARGUMENT', 'name [y] not found in task execution'],
    ['a node that is not there', base.replace('n0', 'n9') + '/i', 'NOT_FOUND', 'node execution'],
    ['inputs that were never sent', base.replace('n0', 'n1') + '/i', 'NOT_FOUND', 'no inputs are recorded'],
  ])('refuses %s', async (_, flyteUrl, code, text) => {
    const answer = await plane[way].attempt(method.getData, { flyteUrl });
    expect(answer).toMatchObject({ code, message: expect.stringContaining(text) as string });
  });
});

describe('the key of links', () => {
  it('can be read by the owner of the data only', () => {
    expect(statSync(join(plane.directory, 'link.key')).mode & 0o777).toBe(0o600);
  });

  it('outlives the process; a process that is killed between upload and response keeps the whole file', async () => {
    const first = await startControlPlane({ FLIGHTLOG_FAIL_POINT: 'after-upload:1' });
    const request = { ...SCOPE, contentMd5: md5('whole'), filename: 'file.bin' };
    const { signedUrl, nativeUrl } = await first.grpc.call(method.createUploadLocation, request);
    await expect(put(signedUrl, 'whole')).rejects.toThrow();
    await first.kill();
    const second = await startControlPlane({}, first.directory);
    expect(readFileSync(pathOf(nativeUrl), 'utf8')).toBe('whole');
    const { pathname, search } = new URL(signedUrl);
    expect((await put(`${second.server().ready.http}${pathname}${search}`, 'whole')).status).toBe(200);
    await second.close();
  });
});
