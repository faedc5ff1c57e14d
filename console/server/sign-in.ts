import { serverAddress } from './root.js';

const SIGN_IN = '/login';

/** The address that signs the person out, of the issuer too where it has such a page. */
export const signOutAddress = (): string => serverAddress('/logout').href;

/** True once the page has begun to leave for the sign-in or the sign-out. It still asks the server until it is gone. */
let isLeaving = false;

const stays = (): void => {
  isLeaving = false;
};

// The person has stopped the browser, or the other page could not be reached. Older browsers do not say so.
if ('navigation' in window) window.navigation.addEventListener('navigateerror', stays);

// The browser came back and shows the page from its cache (`persisted`), with its state from before. A load has no such
// state.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) stays();
});

const leaveTo = (address: URL | string): void => {
  window.location.assign(address);
  // Only now: `assign` reports a navigation that it replaces as failed, before it returns.
  isLeaving = true;
};

/**
 * Leaves the page to sign out. Its requests have no session from then on, and do not lead back to the sign-in while the
 * issuer is slow to answer.
 */
export const leaveToSignOut = (): void => leaveTo(signOutAddress());

/**
 * Leaves the page to sign in, and comes back to it then. Many requests may lack a session at once; the first one
 * leaves.
 */
export const leaveToSignIn = (): void => {
  if (isLeaving) return;
  const address = serverAddress(SIGN_IN);
  address.searchParams.set('redirect_url', `${window.location.pathname}${window.location.search}`);
  leaveTo(address);
};
