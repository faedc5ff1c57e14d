import { readFile } from 'node:fs/promises';

/** A static file for browsers. */
export type BrowserFile = { readonly mediaType: string; readonly read: () => Promise<Buffer> };

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>flightlog · interface</title>
<link rel="stylesheet" href="openapi/swagger-ui.css">
</head>
<body>
<div id="interface"></div>
<script src="openapi/swagger-ui-bundle.js"></script>
<script src="openapi/start.js"></script>
</body>
</html>
`;

// `defaultModelsExpandDepth: -1` hides the list of all message types, of which there are hundreds.
const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  docExpansion: 'list',
  displayOperationId: true,
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  syntaxHighlight: { activated: false },
});
`;

const text = (mediaType: string, content: string): BrowserFile => ({
  mediaType: `${mediaType}; charset=utf-8`,
  read: () => Promise.resolve(Buffer.from(content)),
});

/** A file of Swagger UI, which the build copies to `assets/`. */
const asset = (mediaType: string, name: string): BrowserFile => ({
  mediaType: `${mediaType}; charset=utf-8`,
  read: () => readFile(new URL(`assets/${name}`, import.meta.url)),
});

const html = text('text/html', HTML);

/** The files of the Swagger UI page for `/openapi.json`, by path. The page loads nothing from other servers. */
export const openApiPage: Readonly<Record<string, BrowserFile>> = {
  '/openapi': html,
  '/docs': html,
  '/openapi/start.js': text('text/javascript', START),
  '/openapi/swagger-ui-bundle.js': asset('text/javascript', 'swagger-ui-bundle.js'),
  '/openapi/swagger-ui.css': asset('text/css', 'swagger-ui.css'),
};
