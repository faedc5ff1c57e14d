import { serverAddress } from './root.js';

const SIGN_IN = '/login';

/** The address that signs the person out, of the issuer too where it has such a page. */
export const signOutAddress = (): string => serverAddress('/logout').href;

/** True once the page has begun to leave for the sign-in or the sign-out. It still asks the server until it is gone. */
let isLeaving = false;

// A browser may show a page that was left again as it was.
window.addEventListener('pageshow', () => {
  isLeaving = false;
});

/**
 * Says that the page is being left to sign out. Its requests have no session from then on, and must not lead back to the
 * sign-in while the issuer is slow to answer.
 */
export const leavesToSignOut = (): void => {
  isLeaving = true;
};

/** Leaves the page to sign in, and comes back to it then. Many requests may find out at once; one of them leaves. */
export const leaveToSignIn = (): void => {
  if (isLeaving) return;
  isLeaving = true;
  const address = serverAddress(SIGN_IN);
  address.searchParams.set('redirect_url', `${window.location.pathname}${window.location.search}`);
  window.location.assign(address);
};
