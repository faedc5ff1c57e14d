import { serverAddress } from './root.js';

const SIGN_IN = '/login';

/** The address that signs the person out, of the issuer too where it has such a page. */
export const signOutAddress = (): string => serverAddress('/logout').href;

let isLeaving = false;

/** Leaves the page to sign in, and comes back to it then. Many requests may find out at once; one of them leaves. */
export const leaveToSignIn = (): void => {
  if (isLeaving) return;
  isLeaving = true;
  const address = serverAddress(SIGN_IN);
  address.searchParams.set('redirect_url', `${window.location.pathname}${window.location.search}`);
  window.location.assign(address);
};
