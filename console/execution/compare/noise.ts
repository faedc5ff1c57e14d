/** Ids, times and addresses. A generated name is made of the ids of an attempt. */
const NOISE = /\/(?:id|executionId)\/|At$|[uU]ri$|\/(?:id|externalId|generatedName)$/u;

/** Parts of an execution whose fields people name. */
const NAMED_BY_PEOPLE = /^\/(?:inputs|spec\/(?:labels|annotations)|closure\/(?:outputData|(?:.+\/)?customInfo))\//u;

/** The address of data in an input or output. */
const ADDRESS_OF_DATA = /\/(?:scalar\/(?:blob|schema|structuredDataset)|offloadedMetadata)\/uri$/u;

/**
 * True for a field whose difference between two executions says nothing: an id, a time or an address. Of inputs, output
 * values, labels, annotations and custom information of tasks, only addresses of data are noise: an input may be named
 * `id`.
 */
export const isNoise = (path: string): boolean => (NAMED_BY_PEOPLE.test(path) ? ADDRESS_OF_DATA : NOISE).test(path);
