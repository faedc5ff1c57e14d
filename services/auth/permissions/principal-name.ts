/** Rule of user names and client ids: they stand in tokens, logs and grants. */
export const NAME_RULE = '1 to 128 letters, digits or . _ @ + -, the first a letter or a digit';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/u;

/** True when a text can be a user name or a client id. */
export const isPrincipalName = (text: string): boolean => NAME.test(text);
