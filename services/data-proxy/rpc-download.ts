import { create } from '@bufbuild/protobuf';
import { type Duration, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { NodeExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  ArtifactType,
  type CreateDownloadLinkRequest,
  type CreateDownloadLinkResponse,
  CreateDownloadLinkResponseSchema,
  type CreateDownloadLocationRequest,
  type CreateDownloadLocationResponse,
  CreateDownloadLocationResponseSchema,
  type PreSignedURLs,
  PreSignedURLsSchema,
} from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { assertPermitted } from '../kernel/permitted.js';
import { type Call, RpcError } from '../kernel/rpc.js';
import type { UploadKey } from '../kernel/ports/uploads.js';
import { expirySeconds } from './expiry.js';
import type { DataProxyServices } from './ports.js';

const SECOND_MS = 1_000;

/** Characters of a value that an error message quotes. */
const SHOWN = 200;

const refuse = (reason: string): RpcError =>
  new RpcError('INVALID_ARGUMENT', `error while validating request: ${reason}`);

/**
 * The one error for an object that does not exist, one of another store, and a deck of another project or domain than
 * its node. So it does not reveal which objects exist.
 */
const absent = (): RpcError => new RpcError('NOT_FOUND', 'object not found');

const tooLarge = (): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', 'message larger than max: the file is larger than may be uploaded');

const validSeconds = (expiresIn: Duration | undefined): number => {
  const seconds = expirySeconds(expiresIn);
  if (typeof seconds === 'string') throw refuse(seconds);
  return seconds;
};

const linkTo = async (
  { uploads, now }: DataProxyServices,
  key: UploadKey | undefined,
  seconds: number,
): Promise<PreSignedURLs> => {
  const found = key && (await uploads.find(key));
  if (key === undefined || found === undefined) throw absent();
  if (found.isTooLarge) throw tooLarge();
  const expiresAt = timestampFromMs(now() + seconds * SECOND_MS);
  return create(PreSignedURLsSchema, { signedUrl: [await uploads.linkToGet(key, seconds)], expiresAt });
};

/** Makes a link to download an upload, given its native URL. */
export const createDownloadLocation = async (
  services: DataProxyServices,
  { nativeUrl, expiresIn }: CreateDownloadLocationRequest,
  call: Call,
): Promise<CreateDownloadLocationResponse> => {
  const seconds = validSeconds(expiresIn);
  if (!URL.canParse(nativeUrl))
    throw refuse(`invalid value for native_url: '${nativeUrl.slice(0, SHOWN)}' is not a URL`);
  const key = services.uploads.keyOf(nativeUrl);
  if (key) assertPermitted(call, 'read', key);
  const { signedUrl, expiresAt } = await linkTo(services, key, seconds);
  return create(CreateDownloadLocationResponseSchema, {
    signedUrl: signedUrl[0] ?? '',
    ...(expiresAt && { expiresAt }),
  });
};

/** The key, when it belongs to the node: the upload must be in the project and domain of the node's execution. */
const ofNode = (key: UploadKey | undefined, { executionId }: NodeExecutionIdentifier): UploadKey | undefined =>
  key?.project === executionId?.project && key?.domain === executionId?.domain ? key : undefined;

/**
 * Makes a link to the deck (report) of a node.
 *
 * @throws {RpcError} NOT_FOUND when there is no such node, it has no deck, or the deck is no upload of its project and
 * domain; RESOURCE_EXHAUSTED when the deck is larger than may be uploaded.
 */
export const deckLink = async (
  services: DataProxyServices,
  id: NodeExecutionIdentifier,
  { seconds, call }: { readonly seconds: number; readonly call: Call },
): Promise<PreSignedURLs> => {
  const { closure } = await services.runs.node(id, call);
  const deckUri = closure?.deckUri ?? '';
  if (!deckUri) throw new RpcError('NOT_FOUND', `no deckUrl found for request: node ${id.nodeId} has no deck`);
  return linkTo(services, ofNode(services.uploads.keyOf(deckUri), id), seconds);
};

/** Turns NOT_FOUND of a node into INVALID_ARGUMENT, which this call returns for it. */
const orInvalid = (error: unknown): never => {
  if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND' || !error.message.startsWith('missing entity'))
    throw error;
  throw new RpcError('INVALID_ARGUMENT', `failed to find node execution: ${error.message}`);
};

/** Makes a link to an artifact of a node; only decks are supported. */
export const createDownloadLink = async (
  services: DataProxyServices,
  { artifactType, source, expiresIn }: CreateDownloadLinkRequest,
  call: Call,
): Promise<CreateDownloadLinkResponse> => {
  const seconds = validSeconds(expiresIn);
  if (artifactType !== ArtifactType.DECK)
    throw refuse(`invalid value for artifact_type: ${String(artifactType)} is not ARTIFACT_TYPE_DECK`);
  if (source.case !== 'nodeExecutionId') throw refuse('missing source: node_execution_id');
  const preSignedUrls = await deckLink(services, source.value, { seconds, call }).catch(orInvalid);
  const { signedUrl, expiresAt } = preSignedUrls;
  // oxlint-disable-next-line typescript/no-deprecated -- clients read the link there too
  return create(CreateDownloadLinkResponseSchema, { signedUrl, ...(expiresAt && { expiresAt }), preSignedUrls });
};
