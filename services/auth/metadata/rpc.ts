import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';

import {
  AuthMetadataService,
  OAuth2MetadataResponseSchema,
  PublicClientAuthConfigResponseSchema,
} from '../../../proto/gen/platformidl/service/auth_pb.js';
import { IdentityService, UserInfoResponseSchema } from '../../../proto/gen/platformidl/service/identity_pb.js';
import { type Call, type Route, route } from '../../kernel/rpc.js';

/** The metadata that clients need to get a token. */
export interface SignInMetadataSource {
  /** @throws {RpcError} UNAVAILABLE when the issuer must be asked and does not answer. */
  server(): Promise<MessageInitShape<typeof OAuth2MetadataResponseSchema>>;
  /** Settings with which command lines sign people in. */
  client(): MessageInitShape<typeof PublicClientAuthConfigResponseSchema>;
}

/**
 * The metadata where no issuer gives tokens: empty messages. Clients call these RPCs after UNAUTHENTICATED, and would
 * show an error of these calls in place of the original one.
 */
export const NO_SIGN_IN: SignInMetadataSource = { server: () => Promise.resolve({}), client: () => ({}) };

/** Claims with fields of their own in the answer, and those about the token itself. */
const KNOWN = [
  ...['sub', 'name', 'preferred_username', 'given_name', 'family_name', 'email', 'picture', 'user_info'],
  ...['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'azp', 'client_id', 'scope', 'scp', 'typ', 'auth_time', 'sid'],
];

type Claims = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const objectIn = (claims: Claims, claim: string): Claims => {
  const value = claims[claim];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : {};
};

/** Issuers for FlyteAdmin put what is about the person into the claim `user_info`; other claims win over it. */
const userInfo = ({ caller, principal }: Call): MessageInitShape<typeof UserInfoResponseSchema> => {
  const claims = caller?.identity.claims ?? {};
  const person = objectIn(claims, 'user_info');
  const text = (claim: string): string => textOf(claims[claim]) || textOf(person[claim]);
  const others = Object.entries(claims).filter(([claim]) => !KNOWN.includes(claim));
  const additional = { ...objectIn(person, 'additional_claims'), ...Object.fromEntries(others) };
  return {
    subject: principal,
    name: text('name'),
    preferredUsername: text('preferred_username'),
    givenName: text('given_name'),
    familyName: text('family_name'),
    email: text('email'),
    picture: text('picture'),
    ...(Object.keys(additional).length > 0 && { additionalClaims: additional as JsonObject }),
  };
};

/** The routes that say how to get a token, and what the token of the caller says. */
export const signInRoutes = (metadata: SignInMetadataSource): readonly Route[] => [
  route(AuthMetadataService.method.getOAuth2Metadata, async () =>
    create(OAuth2MetadataResponseSchema, await metadata.server()),
  ),
  route(AuthMetadataService.method.getPublicClientConfig, () =>
    Promise.resolve(create(PublicClientAuthConfigResponseSchema, metadata.client())),
  ),
  route(IdentityService.method.userInfo, (_request, call) =>
    Promise.resolve(create(UserInfoResponseSchema, userInfo(call))),
  ),
];
