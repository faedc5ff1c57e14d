import { create } from '@bufbuild/protobuf';

import {
  AuthMetadataService,
  OAuth2MetadataResponseSchema,
  PublicClientAuthConfigResponseSchema,
} from '../../proto/gen/platformidl/service/auth_pb.js';
import { IdentityService, UserInfoResponseSchema } from '../../proto/gen/platformidl/service/identity_pb.js';
import { type Route, route } from '../kernel/rpc.js';

/**
 * What the services of authentication answer while there is none: OK, and nothing in it.
 *
 * Clients ask here after UNAUTHENTICATED, and show an error of these calls in place of the one they met.
 */
export const withoutAuthentication: readonly Route[] = [
  route(AuthMetadataService.method.getOAuth2Metadata, () => Promise.resolve(create(OAuth2MetadataResponseSchema))),
  route(AuthMetadataService.method.getPublicClientConfig, () =>
    Promise.resolve(create(PublicClientAuthConfigResponseSchema)),
  ),
  route(IdentityService.method.userInfo, () => Promise.resolve(create(UserInfoResponseSchema))),
];
