import { create } from '@bufbuild/protobuf';

import {
  AuthMetadataService,
  OAuth2MetadataResponseSchema,
  PublicClientAuthConfigResponseSchema,
} from '../../proto/gen/platformidl/service/auth_pb.js';
import { IdentityService, UserInfoResponseSchema } from '../../proto/gen/platformidl/service/identity_pb.js';
import { type Route, route } from '../kernel/rpc.js';

/**
 * Routes of the authentication services while there is no authentication: they answer OK with an empty message.
 *
 * Clients call them after UNAUTHENTICATED, and would show an error of these calls in place of the original one.
 */
export const withoutAuthentication: readonly Route[] = [
  route(AuthMetadataService.method.getOAuth2Metadata, () => Promise.resolve(create(OAuth2MetadataResponseSchema))),
  route(AuthMetadataService.method.getPublicClientConfig, () =>
    Promise.resolve(create(PublicClientAuthConfigResponseSchema)),
  ),
  route(IdentityService.method.userInfo, () => Promise.resolve(create(UserInfoResponseSchema))),
];
