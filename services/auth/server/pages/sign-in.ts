import { MEANINGS } from '../scopes.js';
import { html, htmlPage, problemNote } from './page.js';

/** The content of the login page. */
export type Login = {
  readonly client: string;
  /** The name of the upstream provider that signs people in as well. */
  readonly upstream?: string | undefined;
  /** The user name that was typed before. */
  readonly name?: string;
  readonly failure?: string | undefined;
};

/** The page that asks for a user name and password. `action` is the path below which its forms are sent. */
export const loginPage = (action: string, { client, upstream, name = '', failure }: Login): string =>
  htmlPage(
    'Sign in',
    html`${problemNote(failure)}
      <p>to go on to <strong>${client}</strong></p>
      ${upstream === undefined ? html`` : html`<p><a href="${action}/upstream">Sign in with ${upstream}</a></p>`}
      <form method="post" action="${action}/login">
        <label for="name">User name</label>
        <input
          id="name"
          name="name"
          value="${name}"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          required
        />
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required />
        <button type="submit">Sign in</button>
      </form>
      <form method="post" action="${action}/abort"><button type="submit">Cancel</button></form>`,
  );

/** The request of a client to a person. `target` says where the person is sent then; it may be empty. */
export type ConsentRequest = {
  readonly client: string;
  readonly user: string;
  readonly scopes: readonly string[];
  readonly target: string;
};

/** The page that asks whether a client may act for the signed-in person. `action` is as in {@link loginPage}. */
export const consentPage = (action: string, { client, user, scopes, target }: ConsentRequest): string => {
  const meanings = [...new Set(scopes.flatMap((scope) => MEANINGS[scope] ?? []))];
  return htmlPage(
    'Allow access?',
    html`<p>You are signed in as <strong>${user}</strong>. <strong>${client}</strong> asks to:</p>
      <ul>
        ${meanings.map((meaning) => html`<li>${meaning}</li>`)}
      </ul>
      <p>${target}</p>
      <form method="post" action="${action}/consent"><button type="submit">Allow</button></form>
      <form method="post" action="${action}/abort"><button type="submit">Refuse</button></form>`,
  );
};

/** The page for a person that has signed out here: it leads to the sign-out at the upstream provider. */
export const signOutUpstreamPage = (name: string, upstreamAddress: URL): string =>
  htmlPage(
    'Signed out',
    html`<p>You are signed out here. <a href="${upstreamAddress.href}">Sign out at ${name}</a>, too.</p>`,
  );

/** A page that says why signing in cannot go on. */
export const failurePage = (title: string, text: string): string => htmlPage(title, problemNote(text));
