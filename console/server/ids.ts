/** A project and a domain of it. */
export type Scope = { readonly project: string; readonly domain: string };

/** A name in a project and domain, such as that of an execution. */
export type Named = Scope & { readonly name: string };

/** A version of a task, workflow or launch plan. */
export type Versioned = Named & { readonly version: string };
