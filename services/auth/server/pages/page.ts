import { createHash } from 'node:crypto';

/** HTML that needs no escaping, as {@link html} makes it. It is an object, so that text cannot be taken for it. */
export type Html = { readonly html: string };

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/gu, (character) => ESCAPES[character] ?? '');

type Filling = string | Html | readonly Html[];

const rendered = (filling: Filling): string => {
  if (typeof filling === 'string') return escaped(filling);
  return 'html' in filling ? filling.html : filling.map((each) => each.html).join('');
};

/** A template of HTML: texts are escaped, other templates are not. */
export const html = (parts: TemplateStringsArray, ...fillings: readonly Filling[]): Html => ({
  html: parts.map((part, index) => part + (index < fillings.length ? rendered(fillings[index] ?? '') : '')).join(''),
});

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 10vh auto; max-width: 24rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
label { display: block; margin-top: 1rem; }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; }
button { margin: 1.5rem .5rem 0 0; padding: .5rem 1.25rem; font: inherit; cursor: pointer; }
.problem { border-left: .25rem solid #c62828; padding-left: .75rem; }
.code { font: 1.4rem/2 ui-monospace, monospace; letter-spacing: .1em; }
:focus-visible { outline: .2rem solid #1565c0; outline-offset: .1rem; }
`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/**
 * The headers of every page: no script, no other origin, in no frame, kept nowhere.
 *
 * @param redirects origins or schemes to which a form may lead in the end: browsers check the redirects of a form, too.
 */
export const pageHeaders = (redirects: readonly string[] = []): Readonly<Record<string, string>> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    `form-action ${["'self'", ...redirects].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
});

/** A whole page. The title is its heading too. */
export const htmlPage = (title: string, content: Html): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · flightlog</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${content.html}
</main>
</body>
</html>
`;

/** A message about a failure, for screen readers too; nothing when there is no problem. */
export const problemNote = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="problem" role="alert">${text}</p>`;
