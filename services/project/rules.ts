/** The id becomes part of the names of Kubernetes objects. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u;

/** The rule for a project id, as a text for people. */
export const PROJECT_ID_RULE = "at most 63 lower-case letters, digits and '-', which neither begins nor ends it";

export const isProjectId = (id: string): boolean => DNS_LABEL.test(id);

export const MAX_PROJECT_NAME_BYTES = 64;
export const MAX_PROJECT_DESCRIPTION_BYTES = 300;
