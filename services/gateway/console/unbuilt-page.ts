/** The page of a server without a built console. */
export const unbuiltPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>flightlog · console</title>
</head>
<body>
<h1>The console is not built</h1>
<p>Run <code>npm run build:console</code> in the repository and load this page again. The published packages contain the built console.</p>
</body>
</html>
`;
