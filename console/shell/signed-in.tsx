import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { IdentityService } from '../../proto/gen/platformidl/service/identity_pb.js';
import { rpcQuery } from '../server/queries.js';
import { leaveToSignOut, signOutAddress } from '../server/sign-in.js';

/** The person that is signed in, and the way out; nothing where the server has no authentication. */
export const SignedIn = (): ReactNode => {
  const { data } = useQuery({ ...rpcQuery(IdentityService.method.userInfo, {}), staleTime: Infinity });
  if (data === undefined || data.subject === '') return null;
  return (
    <>
      <span className="person" title={data.subject}>
        <span className="visually-hidden">Signed in as </span>
        {data.name || data.preferredUsername || data.subject}
      </span>
      <a
        className="button"
        href={signOutAddress()}
        onClick={(click) => {
          if (click.altKey || click.ctrlKey || click.metaKey || click.shiftKey) return; // opens a tab, or saves the address
          click.preventDefault();
          leaveToSignOut(); // unlike the link: requests that fail meanwhile do not open the sign-in
        }}
      >
        Sign out
      </a>
    </>
  );
};
