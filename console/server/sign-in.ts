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

// The browser shows the page that was left again as it was. After the first load, the event says nothing of that.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) stays();
});

const leaveTo = (address: URL | string): void => {
  window.location.assign(address); // reports the end of a navigation that it replaces, before it returns
  isLeaving = true;
};

/**
 * Leaves the page to sign out. Its requests have no session from then on, and do not lead back to the sign-in while the
 * issuer is slow to answer.
 */
export const leaveToSignOut = (): void => leaveTo(signOutAddress());

/** Leaves the page to sign in, and comes back to it then. Many requests may find out at once; one of them leaves. */
export const leaveToSignIn = (): void => {
  if (isLeaving) return;
  const address = serverAddress(SIGN_IN);
  address.searchParams.set('redirect_url', `${window.location.pathname}${window.location.search}`);
  leaveTo(address);
};
