/** A browser without scripts: it follows redirects, keeps cookies by path for all hosts alike, and sends forms. */
export type Browser = {
  /** Opens an address and follows redirects, up to the first that leaves the origin. */
  open(url: string): Promise<Page>;
  /** Sends the form whose action ends with `action`: its prefilled fields, replaced or extended by `fields`. */
  submit(page: Page, action: string, fields?: Readonly<Record<string, string>>): Promise<Page>;
};

/** A page that the browser shows, and its address. */
export type Page = { readonly url: string; readonly status: number; readonly text: string; readonly headers: Headers };

const FORM = /<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gsu;
const FILLED = /<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"/gu;

/**
 * Opens a browser without cookies.
 *
 * @param stopAt a path to which redirects are not followed: the page is then the redirect, without a text.
 */
export const openBrowser = ({ stopAt }: { readonly stopAt?: string } = {}): Browser => {
  const cookies = new Map<string, { readonly path: string; readonly value: string }>();

  const keep = (headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/u.exec(line) ?? [];
      const [, path = '/'] = /;\s*path=([^;]*)/iu.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, { path, value });
    }
  };

  const cookiesFor = (url: string): string =>
    [...cookies]
      .filter(([, { path }]) => new URL(url).pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');

  const ask = async (url: string, init: RequestInit = {}): Promise<Page> => {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(init.headers as Readonly<Record<string, string>>), cookie: cookiesFor(url) },
    });
    keep(response.headers);
    const location = response.headers.get('location');
    if (location === null)
      return { url, status: response.status, text: await response.text(), headers: response.headers };
    const next = new URL(location, url).href;
    const { origin, pathname } = new URL(next);
    if (origin === new URL(url).origin && pathname !== stopAt) return ask(next);
    return { url: next, status: response.status, text: '', headers: response.headers };
  };

  return {
    open: (url) => ask(url, { headers: { accept: 'text/html' } }),
    submit: (page, action, fields = {}) => {
      const form = Array.from(page.text.matchAll(FORM)).find(([, to = '']) => to.endsWith(action));
      if (!form) throw new Error(`no form leads to ${action}: ${page.status} ${page.text}`);
      const filled = Array.from((form[2] ?? '').matchAll(FILLED), ([, name = '', value = '']) => [name, value]);
      const body = new URLSearchParams({ ...(Object.fromEntries(filled) as Record<string, string>), ...fields });
      const url = new URL(form[1] ?? '', page.url).href;
      return ask(url, { method: 'POST', body, headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' } });
    },
  };
};
