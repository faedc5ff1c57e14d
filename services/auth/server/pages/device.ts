import { html, htmlPage, problemNote } from './page.js';

/** The path to which a form of the device flow is sent, and the token that protects it from requests of other sites. */
export type DeviceForm = { readonly action: string; readonly xsrf: string };

/** The page on which a person types the code that a device shows. */
export const userCodePage = ({ action, xsrf }: DeviceForm, code = '', failure?: string): string =>
  htmlPage(
    'Connect a device',
    html`${problemNote(failure)}
      <form method="post" action="${action}">
        <input type="hidden" name="xsrf" value="${xsrf}" />
        <label for="code">Code that the device shows</label>
        <input
          id="code"
          name="user_code"
          value="${code}"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          required
        />
        <button type="submit">Go on</button>
      </form>`,
  );

/** The page that shows the code again, so that no person connects the device of another. */
export const confirmDevicePage = ({ action, xsrf }: DeviceForm, client: string, code: string): string =>
  htmlPage(
    'Connect this device?',
    html`<p><strong>${client}</strong> wants to act for you. Its device must show this code:</p>
      <p class="code">${code}</p>
      <p>If you did not start this yourself, or the code differs, refuse.</p>
      <form method="post" action="${action}">
        <input type="hidden" name="xsrf" value="${xsrf}" />
        <input type="hidden" name="user_code" value="${code}" />
        <button type="submit" name="confirm" value="yes">Connect</button>
        <button type="submit" name="abort" value="yes">Refuse</button>
      </form>`,
  );

export const deviceConnectedPage = (): string =>
  htmlPage('Device connected', html`<p>You can close this page and go on at the device.</p>`);
